"""No answer changes an object of the program: objects of many kinds before and after hostile replies.

A new kind of object is one line of `KINDS`: what makes it, and what is compared before and after.
"""

from __future__ import annotations

import array
import collections
import contextvars
import functools
import io
import itertools
import logging
import queue
import random
import re
import sqlite3
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from programs import PlainProgram
from pydantic import BaseModel

import njrt
from njrt.testing import run


@dataclass
class Order:
    dish: str = "soup"
    extras: list[str] = field(default_factory=lambda: ["salt"])


class Slotted:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = [1]


class Watched:
    """Notes each change of an attribute."""

    def __init__(self) -> None:
        vars(self)["changes"] = []

    def __setattr__(self, name: str, value: Any) -> None:
        self.changes.append(name)

    def __delattr__(self, name: str) -> None:
        self.changes.append(name)


class Described:
    """Notes each call of a setter and of a method."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    @property
    def size(self) -> int:
        return 1

    @size.setter
    def size(self, value: int) -> None:
        self.calls.append("size")

    def __call__(self, *arguments: Any) -> None:
        self.calls.append("call")

    def close(self) -> None:
        self.calls.append("close")


class Row(NamedTuple):
    items: list[int]


class Model(BaseModel):
    tags: list[str] = ["a"]


def function(value: int = 1) -> int:
    return value


def make_generator() -> Any:
    yield 1
    yield 2


VARIABLE = contextvars.ContextVar("VARIABLE", default=0)
Snapshot = Callable[[Any], Any]
KINDS: dict[str, tuple[Callable[[], Any], Snapshot]] = {
    "list": (lambda: [1, [2]], repr),
    "dict": (lambda: {"a": {"b": 1}}, repr),
    "set": (lambda: {1, 2}, repr),
    "deque": (lambda: collections.deque([1], 3), repr),
    "bytearray": (lambda: bytearray(b"ab"), bytes),
    "memoryview": (lambda: memoryview(bytearray(b"ab")), bytes),
    "array": (lambda: array.array("i", [1]), repr),
    "counter": (lambda: collections.Counter("aab"), repr),
    "defaultdict": (lambda: collections.defaultdict(list, {"a": [1]}), repr),
    "ordered": (lambda: collections.OrderedDict(a=1, b=2), repr),
    "chained": (lambda: collections.ChainMap({"a": 1}, {"b": 2}), repr),
    "proxy": (lambda: types.MappingProxyType({"a": [1]}), repr),
    "dataclass": (Order, repr),
    "slotted": (Slotted, lambda made: made.value[:]),
    "watched": (Watched, lambda made: made.changes[:]),
    "described": (Described, lambda made: made.calls[:]),
    "row": (lambda: Row([1]), repr),
    "model": (Model, repr),
    "namespace": (lambda: types.SimpleNamespace(a=[1]), repr),
    "module": (lambda: types.ModuleType("made"), lambda made: {**vars(made)}),
    "function": (lambda: function, lambda made: (made.__defaults__, {**vars(made)})),
    "partial": (lambda: functools.partial(function, 2), repr),
    "method": (lambda: [3].append, lambda made: made.__self__[:]),
    "class": (lambda: type("Made", (), {"a": [1]}), lambda made: {**vars(made)}),
    "error": (lambda: ValueError([1]), lambda made: (made.args, {**vars(made)})),
    "generator": (make_generator, lambda made: made.gi_frame.f_lasti),
    "iterator": (lambda: iter([1, 2]), lambda made: made.__length_hint__()),
    "count": (itertools.count, repr),
    "text file": (lambda: io.StringIO("ab\ncd"), lambda made: (made.tell(), made.getvalue())),
    "bytes file": (lambda: io.BytesIO(b"ab"), lambda made: (made.tell(), made.getvalue())),
    "lock": (threading.Lock, lambda made: made.locked()),
    "event": (threading.Event, lambda made: made.is_set()),
    "queue": (lambda: queue.Queue(3), lambda made: made.qsize()),
    "random": (lambda: random.Random(1), lambda made: made.getstate()),
    "database": (lambda: sqlite3.connect(":memory:"), lambda made: made.total_changes),
    "logger": (lambda: logging.Logger("made"), lambda made: (made.level, made.handlers[:])),
    "match": (lambda: re.match("a", "a"), lambda made: made.span()),
    "variable": (lambda: VARIABLE, lambda made: made.get()),
    "nested": (lambda: [{"a": [Order()]}], repr),
    "self": (lambda: (loop := []).append(loop) or loop, repr),
}  # fmt: skip
UNSHOWN = (
    *("memoryview", "generator", "iterator", "text file", "bytes file", "lock", "event", "queue"),
    *("database", "logger", "match", "variable"),
)
"""Kinds of objects that cannot be shown whole, so that no model is asked for data."""
SHOWN = {kind: made for kind, made in KINDS.items() if kind not in UNSHOWN}
NAMES = [f"a{number}" for number in range(len(SHOWN))]

PROGRAM = PlainProgram(f'''
    from typing import NamedTuple

    class Target(NamedTuple):
        name: str
        parts: tuple[str, ...] = ()

    KEPT = Target("kept")

    def judge({", ".join(NAMES)}):
        """natural(effects="answer")
        Put into <:y: Target> what {", ".join(f"<{name}>" for name in NAMES)} and <KEPT> have in common.
        """
        return y
''')
GOOD = {"y": {"name": "x"}}
HOSTILE = [
    *({name: [] for name in NAMES}, {**GOOD, "a0": []}, {"a0": [], "a1": {}}, {"KEPT": {"name": "x"}}),
    *({"y": {"name": "x", "__class__": "Order"}}, {"y": {"__class__": "Order", "__dict__": {}}}),
    *({"y": {"name": {"$ref": "#/a0"}}}, {"y": {"type": "Ref", "addr": 0}}, {"y": "a0"}, {"y": "KEPT"}),
    *({"assign": {"var": "a0", "val": 1}}, {"name": "assign", "arguments": {"var": "a0", "val": 1}}),
    *({"setref": {"addr": 0, "val": 1}}, {"y.name": "x"}, {"KEPT.name": "x"}, {"a0[0]": 1}, {"del": "a0"}),
    *({"raise": "a24"}, {"raise": "a23"}, {"raise": "Order"}, {"raise": "KEPT"}, {"raise": "a0.clear"}),
    *("```python\na0.clear()\n```", "a0.clear()", '{"y": a0.clear()}', '{"y": {"name": "x"}}; a0.clear()'),
    *(run("a0.clear()", done=True), run("KEPT.name = 'x'", done=True)),
    *('{"y": ' + '{"parts": ' * 500 + "1" + "}" * 501, '{"y": {"name": "x", "parts": ["\\ud800"]}}'),
]  # fmt: skip


@pytest.mark.parametrize("reply", HOSTILE, ids=lambda reply: str(reply)[:40])
def test_no_answer_changes_an_object_of_the_program(reply: Any) -> None:
    things = [make() for make, _ in SHOWN.values()]
    held = [snapshot(thing) for (_, snapshot), thing in zip(SHOWN.values(), things, strict=True)]
    made = PROGRAM.call("judge", *things, says=[reply, GOOD])
    assert (made.name, made.parts) == ("x", ())
    assert not any(made is thing for thing in things)
    for (kind, (_, snapshot)), thing, before in zip(SHOWN.items(), things, held, strict=True):
        assert snapshot(thing) == before, kind
    assert "KEPT" not in str(made)


@pytest.mark.parametrize("kind", UNSHOWN)
def test_no_model_is_asked_about_an_object_that_is_not_shown(kind: str) -> None:
    make, snapshot = KINDS[kind]
    things = [make(), *(1 for _ in NAMES[1:])]
    before = snapshot(things[0])
    with pytest.raises(njrt.PolicyError, match="`a0`"):
        PROGRAM.call("judge", *things, says=[], authority="strict")
    assert snapshot(things[0]) == before


def test_a_model_that_asks_for_code_under_strict_authority_gets_none() -> None:
    things = [make() for make, _ in SHOWN.values()]
    with pytest.raises(njrt.PolicyError, match=r"a0\.clear"):
        PROGRAM.call("judge", *things, says=[{"needs_code": "a0.clear()"}], authority="strict")
