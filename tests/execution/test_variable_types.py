"""The type of an output that is a variable: it holds a type; text is data, and is not read as one."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import njrt
from njrt.data.options import CodePolicy
from njrt.errors import OutputTypeError, PolicyError
from njrt.execution.scope.declared_types import resolve_types
from njrt.testing import Scripted, run

CALLED: list[int] = []
GLOBAL_TEXT = "CALLED.append(1)"
Text: typing.TypeAlias = "list[int]"
NOTE = "in euros"


def bind(kind: Any, policy: CodePolicy | typing.Literal["auto"]) -> Any:
    """Run a block with the output `<:x: kind>`, whose model answers 3."""
    x = None
    with njrt.using(model=Scripted([run("x = 3", done=True)])):
        njrt.run(
            "natural\nPut 3 into <:x: kind>.",
            lambda: (x,),
            writes="x",
            types=lambda: {"x": kind},
            at="case.njpy:1",
            policy=policy,
        )
    return x


@pytest.mark.parametrize("policy", ["guarded", "auto", "contained"])
@pytest.mark.parametrize("text", ["int", "CALLED.append(1)", "no_such_name", "Callable", ""])
def test_text_in_a_variable_is_refused(policy: Any, text: str) -> None:
    with pytest.raises(OutputTypeError, match=r"case.njpy:1: .*`kind`, a variable that holds text"):
        bind(text, policy)
    assert not CALLED


@pytest.mark.parametrize("policy", ["guarded", "auto", "contained"])
def test_a_type_in_a_variable_is_that_type(policy: Any) -> None:
    assert bind(int, policy) == 3
    assert bind(typing.Optional[int], policy) == 3  # noqa: UP045


@pytest.mark.parametrize("policy", ["auto", "contained"])
@pytest.mark.parametrize("kind", [Callable, Callable[[int], int], Iterator[int], type])
def test_no_value_decides_where_code_runs(policy: Any, kind: Any) -> None:
    with pytest.raises(PolicyError, match="`kind`"):
        bind(kind, policy)


def declare_in_class() -> Any:
    class Body:
        kind = "int"
        declare = lambda kind=kind: {"x": kind}  # noqa: E731

    return Body.declare


def declare_local(kind: Any) -> Any:
    return lambda: {"x": list[kind]}


REFUSED = {
    "in the module": lambda: {"x": GLOBAL_TEXT},
    "in another type": declare_local("int"),
    "in a union": lambda: {"x": typing.Optional[GLOBAL_TEXT]},  # noqa: UP045
    "in a class": declare_in_class(),
}


@pytest.mark.parametrize("declare", REFUSED.values(), ids=REFUSED)
def test_text_of_any_variable_is_refused(declare: Any) -> None:
    with pytest.raises(OutputTypeError, match="holds text"):
        resolve_types(declare, globals())
    assert not CALLED


READ = {
    "an alias of quoted text": (lambda: {"x": Text}, {"x": list[int]}),
    "quoted in the declaration": (lambda: {"x": "list[int]"}, {"x": list[int]}),
    "a note": (
        lambda: {"x": typing.Annotated[int, NOTE]},
        {"x": typing.Annotated[int, "in euros"]},
    ),
    "quoted in a type": (declare_local(list["int"]), {"x": list[list[int]]}),
    "a call in a type of a variable": (
        declare_local(types.GenericAlias(list, ("CALLED.append(1)",))),
        {},
    ),
    "a walrus in a type of a variable": (
        declare_local(types.GenericAlias(list, ("(int := str)",))),
        {},
    ),
}


@pytest.mark.parametrize(("declare", "expected"), READ.values(), ids=READ)
def test_text_that_is_read_as_a_type(declare: Any, expected: Any) -> None:
    assert resolve_types(declare, globals()) == expected
    assert not CALLED


def test_an_output_with_the_name_of_its_type_may_hold_text() -> None:
    date: Any = "2026-03-02"
    assert resolve_types(lambda: {"date": date}, {"date": int}, None, {"date"}) == {"date": int}
