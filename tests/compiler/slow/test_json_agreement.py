"""What the compiler says of JSON holds at run time: each type that it lets a block answer has a form, and unions of
two of them tell the values of both apart.

A new kind of type is one line of `KINDS`: its annotation, a value as the model writes it, and the Python value.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import combinations, permutations
from types import ModuleType
from typing import Any

import pytest

from compiling import compile_text
from njrt.data.options import Options
from njrt.values.json_forms import make_json_form

HEAD = '''\
import datetime, decimal, enum, uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, InitVar, KW_ONLY
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, NewType, Optional, TypedDict, Union
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import NotRequired, Required

class Color(enum.Enum):
    RED = 1
    BLUE = 2
    CRIMSON = 1

class Shade(enum.StrEnum):
    DARK = "RED"
    RED = "light"

class Perm(enum.Flag):
    READ = 1
    WRITE = 2

UserId = NewType("UserId", int)

@dataclass
class Cat:
    name: str

@dataclass
class Dog:
    name: str

@dataclass
class Puppy(Dog):
    age: int = 1

@dataclass
class Painted:
    color: Color
    size: int

@dataclass
class Shaded:
    color: Shade
    weight: int

@dataclass(frozen=True, slots=True)
class Slotted:
    x: int
    y: int = field(init=False, default=5)

@dataclass
class Named:
    a: int
    _: KW_ONLY
    b: InitVar[int] = 2

    def __post_init__(self, b: int) -> None:
        self.sum = self.a + b

class Point(NamedTuple):
    x: int
    y: int = 0

class Movie(TypedDict):
    title: Required[str]
    year: NotRequired[int]

class Rating(BaseModel):
    model_config = ConfigDict(frozen=True)
    stars: int = Field(ge=1, le=5, alias="howMany")

class Left(BaseModel):
    kind: Literal["left"] = "left"
    value: int

class Right(BaseModel):
    kind: Literal["right"] = "right"
    value: int

@dataclass
class Number:
    kind: Literal["number"]
    value: float

@dataclass
class Sum:
    kind: Literal["sum"]
    left: "Formula"
    right: "Formula"

Formula = Union[Number, Sum]

@dataclass
class Tree:
    name: str
    parts: "list[Tree]"

class Tint(enum.Enum):
    RED = 5

@dataclass
class Node:
    value: int
    next: "Node | None"

@dataclass
class Twin:
    value: int
    next: "Node | None"

@dataclass
class Tinted:
    color: Literal["RED", "BLUE"]
    size: int

@dataclass
class Made:
    name: str

    def __init__(self, name: str) -> None:
        self.name = name.strip()

@dataclass(init=False)
class Adopted(Made):
    age: int

@dataclass
class Allocated:
    name: str

    def __new__(cls, *given: object, **named: object) -> "Allocated":
        return super().__new__(cls)

@dataclass
class Renewed(Made):
    age: int
'''  # fmt: skip

MODULE = ModuleType("module_of_answers")
sys.modules[MODULE.__name__] = MODULE
exec(compile(HEAD, "module_of_answers.py", "exec", dont_inherit=True), vars(MODULE))


def evaluate(text: str) -> Any:
    return eval(text, vars(MODULE))


KINDS: dict[str, tuple[Any, str]] = {
    "None": (None, "None"),
    "bool": (True, "True"),
    "int": (3, "3"),
    "float": (1.5, "1.5"),
    "str": ("some text", "'some text'"),
    "Path": ("a/b", "Path('a/b')"),
    "bytes": ("ab", "b'ab'"),
    "decimal.Decimal": ("1.10", "decimal.Decimal('1.10')"),
    "datetime.date": ("2024-02-29", "datetime.date(2024, 2, 29)"),
    "datetime.datetime": ("2024-02-29T10:30:00", "datetime.datetime(2024, 2, 29, 10, 30)"),
    "datetime.timedelta": ("PT1H", "datetime.timedelta(hours=1)"),
    "uuid.UUID": ("00000000-0000-0000-0000-000000000007", "uuid.UUID(int=7)"),
    'Literal["a", "b"]': ("b", "'b'"),
    "Literal[1, 2]": (2, "2"),
    "Literal[Color.BLUE]": ("BLUE", "Color.BLUE"),
    "Color": ("CRIMSON", "Color.RED"),
    "Shade": ("RED", "Shade.RED"),
    "UserId": (7, "7"),
    "list[int]": ([1, 2], "[1, 2]"),
    "tuple[int, str]": ([1, "a"], "(1, 'a')"),
    "tuple[int, ...]": ([1], "(1,)"),
    "set[int]": ([1], "{1}"),
    "frozenset[Color]": (["BLUE"], "frozenset({Color.BLUE})"),
    "Sequence[datetime.date]": (["2024-02-29"], "[datetime.date(2024, 2, 29)]"),
    "dict[str, int]": ({"k": 1}, "{'k': 1}"),
    "dict[int, Color]": ({"1": "RED"}, "{1: Color.RED}"),
    "dict[Color, bool]": ({"RED": True}, "{Color.RED: True}"),
    "dict[datetime.date, str]": ({"2024-02-29": "a"}, "{datetime.date(2024, 2, 29): 'a'}"),
    "Cat": ({"name": "a"}, "Cat('a')"),
    "Dog": ({"name": "a"}, "Dog('a')"),
    "Puppy": ({"name": "a", "age": 2}, "Puppy('a', 2)"),
    "Painted": ({"color": "RED", "size": 1}, "Painted(Color.RED, 1)"),
    "Shaded": ({"color": "RED", "weight": 1}, "Shaded(Shade.RED, 1)"),
    "Slotted": ({"x": 1}, "Slotted(1)"),
    "Named": ({"a": 1, "b": 3}, "Named(1, b=3)"),
    "Point": ({"x": 1, "y": 2}, "Point(1, 2)"),
    "Movie": ({"title": "M"}, "{'title': 'M'}"),
    "Rating": ({"howMany": 3}, "Rating(howMany=3)"),
    "Left": ({"kind": "left", "value": 1}, "Left(value=1)"),
    "Right": ({"kind": "right", "value": 1}, "Right(value=1)"),
    "Formula": ({"kind": "number", "value": 1.5}, "Number('number', 1.5)"),
    "Tree": ({"name": "a", "parts": [{"name": "b", "parts": []}]}, "Tree('a', [Tree('b', [])])"),
}


def decide(declared: list[str]) -> list[bool]:
    """Return whether the compiler lets blocks whose output has each of these types answer."""
    blocks = (
        f'"""natural\nMake <:y{number}: {text}>.\n"""\n' for number, text in enumerate(declared)
    )
    compilation = compile_text(HEAD + "".join(blocks), Options())
    assert compilation.output is not None, compilation.diagnostics
    return [authority.effects == "answer" for authority in compilation.authorities]


def check_value(declared: str, kind: str) -> None:
    """Check how a JSON value is read. The object keeps the type out of caches, for which unions in any order are equal."""
    written, expected = KINDS[kind]
    decoded = make_json_form(evaluate(f"Annotated[{declared}, object()]")).decode(written)
    value = evaluate(expected)
    assert (type(decoded), decoded) == (type(value), value), f"{kind} in {declared}"


def test_each_kind_is_read_back() -> None:
    assert all(decide(list(KINDS)))
    for kind in KINDS:
        check_value(kind, kind)


def list_unions() -> Iterator[tuple[str, str]]:
    """Yield each pair of kinds in both orders, but pairs with one schema: they are one kind."""
    same = ({"int", "UserId"}, {"list[int]", "tuple[int, ...]"})
    yield from (pair for pair in permutations(KINDS, 2) if {*pair} not in same)


def has_form(declared: str) -> bool:
    try:
        make_json_form(evaluate(declared))
    except TypeError:
        return False
    return True


def test_a_union_that_a_block_may_answer_tells_the_values_of_its_parts_apart() -> None:
    pairs = list(list_unions())
    unions = [f"Union[{one}, {other}]" for one, other in pairs]
    answers = decide(unions)
    assert 0.5 < sum(answers) / len(answers) < 1
    for union, pair, is_answer in zip(unions, pairs, answers, strict=True):
        if is_answer:
            for kind in pair:
                check_value(union, kind)
        else:
            assert not has_form(union), union


INNER = (
    *("Color", "Shade", "Tint", "Literal[Color.RED]", "Literal[Tint.RED]", 'Literal["RED"]', "str"),
    *("Node", "Twin", "Painted", "Tinted", "Point", "dict[Color, int]", "dict[Tint, int]"),
)
KEYS = ("str", "int", "float", "decimal.Decimal", "Color", 'Literal["a"]', "Literal[Color.RED]")


def test_parts_of_types_are_told_apart_as_at_run_time() -> None:
    unions = [f"Union[list[{one}], list[{other}]]" for one, other in combinations(INNER, 2)]
    dicts = [f"dict[Union[{one}, {other}], int]" for one, other in combinations(KEYS, 2)]
    declared = [*unions, *dicts]
    assert dict(zip(declared, decide(declared), strict=True)) == {
        text: has_form(text) for text in declared
    }
    form = make_json_form(evaluate("dict[Literal[Color.BLUE], bool]"))
    assert form.decode({"BLUE": True}) == evaluate("{Color.BLUE: True}")


@pytest.mark.parametrize(
    "declared",
    [
        *("Perm", "dict[tuple[int, int], str]", "dict[int | str, int]", "dict[Optional[str], int]"),
        *("Literal[b'x']", "dict[Literal[1, 2], str]", "dict[Point, int]"),
        *("list[Cat | Dog]", "dict[str, Path | str]", "list[int] | set[int]", "str | bytes"),
    ],
)
def test_what_cannot_be_told_is_no_answer(declared: str) -> None:
    assert decide([declared]) == [False]


def test_a_dataclass_that_code_of_its_own_makes_is_no_data() -> None:
    kinds = ["Made", "Adopted", "Allocated", "list[Made]", "Renewed"]
    assert [has_form(kind) for kind in kinds] == decide(kinds) == [False] * 4 + [True]
