"""NJ216 is reported for the attributes that Python refuses to set, and for no other."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile

PROGRAM = """from __future__ import annotations
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum
from functools import cached_property
from typing import NamedTuple, TypedDict

class Point(NamedTuple):
    x: int

class Named(Point):
    note = ""

@dataclass(frozen=True)
class Order:
    size: int
    kind = ""

@dataclass(frozen=True)
class Large(Order):
    extra: int = 1

@dataclass
class Plain:
    size: int
    point: Point

class Mood(Enum):
    GOOD = 1

class Kind(IntEnum):
    ONE = 1
    size: int

class Box:
    @property
    def size(self): return 1

    @property
    def width(self): return 1

    @width.setter
    def width(self, value): pass

    @cached_property
    def depth(self): return 1

class Crate(Box):
    size = 2

class Odd:
    __slots__ = ("a",)
    def __setattr__(self, name, value): pass

class Entry(TypedDict):
    x: int

entry: Entry = {"x": 1}
made = Point(1)
point: Point = Point(1)
named: Named = Named(1)
order: Order = Order(1)
large: Large = Large(1)
plain: Plain = Plain(1, point)
mood: Mood = Mood.GOOD
kind: Kind = Kind.ONE
box: Box = Box()
crate: Crate = Crate()
odd: Odd = Odd()
text: str = ""
number: int | None = None
rows: list[str] = []
pair: tuple[int, str] = (1, "")
either: Point | Plain = plain
maker = Box()
"""
PATHS = """
point.x named.x named.note named.other order.size large.size large.extra plain.size plain.point plain.point.x plain.other
mood.value mood.name mood.note Mood.GOOD Mood.note kind.value kind.size Kind.ONE Kind.size box.size box.width box.depth
box.other Box.size crate.size crate.width
entry.x made.x odd.a odd.b text.x number.x rows.x pair.x either.size maker.size maker.other
"""


@pytest.mark.parametrize("path", PATHS.split())
def test_python_refuses_to_set_what_is_reported(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = f'{PROGRAM}"""natural\nPut 1 into <:{path}>.\n"""\n'
    found = compile_source(SourceFile("p.njpy", program.encode())).diagnostics
    module = ModuleType("p")
    monkeypatch.setitem(sys.modules, "p", module)  # dataclasses look there for their types
    namespace = vars(module)
    exec(PROGRAM, namespace)
    try:
        exec(f"{path} = 1", namespace)
    except AttributeError:
        assert [each.code for each in found] == ["NJ216"]
    else:
        assert found == ()
