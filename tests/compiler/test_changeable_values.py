"""Programs that are made by combining types and ways to bind a variable, run to see whether the variable leads to
something that can be changed: where it does, the compiler must not have a block that reads it answer with data."""

from __future__ import annotations

import enum
import itertools
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

from compiling import compile_text

HEAD = """\
import dataclasses, enum
import attrs
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final, Literal, NamedTuple, Optional, TypeAlias, Union

Kind = Literal["a", "b"]
Numbers = list[int]
Labels: TypeAlias = "tuple[str, ...]"

class Color(enum.Enum):
    RED = 1
    BLUE = (2, "deep")

class Bag(enum.Enum):
    FULL = [1]

class Level(enum.Enum):
    LOW = 1

    def __init__(self, number):
        self.seen = []

class Point(NamedTuple):
    x: int

class Nest(NamedTuple):
    items: list[int]

@dataclasses.dataclass(frozen=True)
class Frozen:
    name: str

@dataclasses.dataclass(frozen=True)
class Holder:
    items: list[int]

@dataclasses.dataclass(frozen=True)
class Wide(Holder):
    name: str = ""

@dataclasses.dataclass(frozen=True)
class Shared:
    name: str
    seen: ClassVar[list[int]] = []

@dataclasses.dataclass(frozen=True)
class Sneaky:
    name: str

    def __post_init__(self):
        object.__setattr__(self, "seen", [])

@attrs.frozen
class Bike:
    brand: str
    bells: list[int]

@dataclasses.dataclass
class Order:
    dish: str

class Plain:
    def __init__(self, name: str):
        self.name = name

class Renamed:
    def __init__(self, name: str):
        self.name = name

    def rename(self):
        self.name = [self.name]
"""

LEAVES = (
    *(("int", "3"), ("str", "'a'"), ("Kind", "'a'"), ("Color", "Color.BLUE"), ("bool", "True")),
    *(("Bag", "Bag.FULL"), ("Level", "Level.LOW"), ("Literal[Bag.FULL]", "Bag.FULL")),
    *(("Point", "Point(1)"), ("Nest", "Nest([1])"), ("Frozen", "Frozen('a')")),
    *(("Holder", "Holder([1])"), ("Wide", "Wide([1])"), ("Shared", "Shared('a')")),
    *(("Sneaky", "Sneaky('a')"), ("Bike", "Bike('a', [1])"), ("Order", "Order('a')")),
    *(("Plain", "Plain('a')"), ("Numbers", "[1]"), ("Labels", "('a',)"), ("list[int]", "[1]")),
    *(("dict[str, int]", "{'k': 1}"), ("set[int]", "{1}"), ("tuple", "([1],)")),
)  # fmt: skip
CONTAINERS = (
    *(("tuple[{}, ...]", "({},)"), ("tuple[int, {}]", "(1, {})"), ("Sequence[{}]", "({},)")),
    *(("Mapping[str, {}]", "MappingProxyType({{'k': {}}})"), ("list[{}]", "[{}]")),
    *(("Optional[{}]", "{}"), ("Union[int, {}]", "{}"), ("dict[str, {}]", "{{'k': {}}}")),
)
FORMS = {
    "parameter": "def f(x: {type}):\n    {block}\nf({value})",
    "module": "x: {type} = {value}\n{block}",
    "value": "x = {value}\n{block}",
    "name": "y: {type} = {value}\nx = y\n{block}",
    "element": "ys: tuple[{type}, ...] = ({value},)\nx = ys[0]\n{block}",
    "element in a function": "def f(ys: Sequence[{type}]):\n    x = ys[0]\n    {block}\nf(({value},))",
    "item": "ys: Mapping[str, {type}] = {{'k': {value}}}\nx = ys['k']\n{block}",
    "loop": "ys: list[{type}] = [{value}]\nfor x in ys:\n    {block}",
    "sum": "y: {type} = {value}\nx = y + y\n{block}",
    "union": "y: {type} = {value}\nx = y | y\n{block}",
    "result": "def make() -> {type}:\n    return {value}\nx = make()\n{block}",
    "tuple": "y: {type} = {value}\nx = (1, y)\n{block}",
    "rebound": "x: {type} = {value}\ndef g():\n    global x\n    x = {value}\n{block}",
    "class attribute": "class x:\n    y = {value}\n{block}",
    "class variable": "class x:\n    y: ClassVar[{type}] = {value}\n{block}",
    "member": "class x(enum.Enum):\n    ONE = {value}\n{block}",
    "hidden": "class int:\n    y = {value}\nx: int = int()\n{block}",
    "hidden in a function": "def f(x: str):\n    class str:\n        y = {value}\n    x: str = str()\n    {block}\nf('a')",
    "frozen": "@dataclasses.dataclass(frozen=True)\nclass Own:\n    y: {type}\nx = Own({value})\n{block}",
    "own copy": "def tuple(ys):\n    return [*ys]\nys: list[{type}] = [{value}]\nx = tuple(ys)\n{block}",
}
PATHS = {
    "class attribute": ("x", "x.y"),
    "class variable": ("x", "x.y"),
    "member": ("x", "x.ONE"),
    "frozen": ("x", "x.y"),
}
"""The paths by which a block reads what a form has bound; `x` alone where none are named."""


def list_types(form: str) -> Iterator[tuple[str, str]]:
    """Yield each leaf, and every seventh container of a leaf, not the same ones for each form."""
    yield from LEAVES
    for number, pair in enumerate(itertools.product(CONTAINERS, LEAVES)):
        (outer, made), (inner, value) = pair
        if number % 7 == list(FORMS).index(form) % 7:
            yield outer.format(inner), made.format(value)


def leads_to_change(value: Any) -> bool:
    """Return whether something that can be changed is reached from a value; functions and settings of classes are not."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return False
    if isinstance(value, enum.Enum):
        own = [part for name, part in vars(value).items() if not name.startswith("_")]
        return any(map(leads_to_change, [value.value, *own]))
    if isinstance(value, type) and issubclass(value, enum.Enum):
        return any(map(leads_to_change, value))
    if isinstance(value, type):
        own = [part for name, part in vars(value).items() if not name.startswith("__")]
        return any(leads_to_change(part) for part in own if not callable(part))
    if isinstance(value, tuple | frozenset):
        return any(map(leads_to_change, value))
    if isinstance(value, types.MappingProxyType):
        return any(map(leads_to_change, value.values()))
    parameters = getattr(value, "__dataclass_params__", None)
    if parameters is not None and parameters.frozen:
        class_variables = [getattr(value, name) for name in ("seen",) if hasattr(value, name)]
        return any(map(leads_to_change, [*vars(value).values(), *class_variables]))
    return True


MODULE = types.ModuleType("module_of_changeable_values")
sys.modules[MODULE.__name__] = MODULE
exec(compile(HEAD, "head.py", "exec", dont_inherit=True), vars(MODULE))


def run(text: str, path: str) -> bool | None:
    """Return whether what the program reads leads to a change; None if the program fails."""
    seen: list[Any] = []
    names = {**vars(MODULE), "see": seen.append}
    try:
        exec(text.replace("{block}", f"see({path})"), names)
    except (TypeError, NameError):
        return None
    return any(map(leads_to_change, seen))


def has_answer(text: str, path: str) -> bool:
    indent = next(line for line in text.splitlines() if "{block}" in line).partition("{")[0]
    block = f'"""natural\n{indent}Use <{path}> for <:n: float>.\n{indent}"""'
    compilation = compile_text(HEAD + text.replace("{block}", block) + "\n")
    assert compilation.output is not None, compilation.diagnostics
    return compilation.authorities[-1].effects == "answer"


@pytest.mark.parametrize("form", FORMS)
def test_no_block_answers_that_reads_what_can_be_changed(form: str) -> None:
    fixed = answered = 0
    for declared, value in list_types(form):
        text = FORMS[form].format(type=declared, value=value, block="{block}")
        for path in PATHS.get(form, ("x",)):
            truth = run(text, path)
            if truth is None:
                continue
            answers = has_answer(text, path)
            assert not (truth and answers), (path, text)
            fixed += not truth
            answered += answers
    assert answered >= LEAST_SHARE.get(form, 0.95) * fixed, (answered, fixed)


LEAST_SHARE = {
    "value": 0.7,
    "sum": 0.05,
    "union": 0.3,
    "class attribute": 0.4,
    "class variable": 0.4,
    "member": 0.7,
    "rebound": 0.0,
}
"""The share of the programs without anything that can be changed in which the block must answer."""


RECURSIVE = {
    "A = Union[str, list['A'], dict[str, 'A']]": "direct",
    "A = list['B']; B = list['A']": "direct",
    "A = 'B'; B = 'A'": "direct",
    "A = tuple['A', ...]": "answer",
    "A = Mapping[str, Union[None, 'A']]": "answer",
    "A = Sequence['B']; B = Mapping[str, 'A']": "answer",
    "A = Sequence['B']; B = Mapping[str, Union['A', list[str]]]": "direct",
    "@dataclass(frozen=True)\nclass A:\n x: 'B'\nB = Sequence['A']": "answer",
    "@dataclass(frozen=True)\nclass A:\n x: 'B'\nB = Sequence[Union[list[int], 'A']]": "direct",
    "@dataclass(frozen=True)\nclass A14:\n x: int\n"
    + "".join(
        f"@dataclass(frozen=True)\nclass A{'' if n == 0 else n}:\n"
        + "".join(f" {name}: 'A{n + 1}'\n" for name in "xyz")
        for n in range(14)
    ): "answer",
}
"""Types that refer to themselves or to others often, and the effects of a block that reads one."""


@pytest.mark.parametrize("declared", RECURSIVE)
def test_types_that_refer_to_themselves_are_looked_at_once(declared: str) -> None:
    program = f'''
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Union
{declared}
def f(k: A) -> int:
    """natural
    Put into <:n: int> the depth of <k>.
    """
    """natural
    Put into <:other: A> a value such as <n>.
    """
    return other
'''
    compilation = compile_text(program)
    first, second = compilation.authorities
    assert first.effects == RECURSIVE[declared]
    assert all(each.reason and each.remedy is not None for each in (first, second))


def test_the_forms_find_both_kinds_of_values() -> None:
    text = FORMS["module"]
    kinds = {run(text.format(type=t, value=v, block="{block}"), "x") for t, v in LEAVES}
    assert kinds == {True, False}
