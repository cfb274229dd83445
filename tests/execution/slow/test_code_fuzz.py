"""Whatever a model writes: it is refused, it fails or it runs, and the program is never corrupted."""

from __future__ import annotations

import keyword
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from njrt.effects import Refusal
from njrt.execution.execute import Failed, Jumped, Ran, Snippet, execute, prepare
from njrt.execution.scope.opening import make_scope

untouched = [1, 2, 3]
TOKENS = [
    *keyword.kwlist, *keyword.softkwlist, *"()[]{}:,.;=+-*/%@~<>&|^\\\"'#!",
    "x", "y", "untouched", "tmp", "__class__", "_", "print", "len", "super", "self", "f'{x}'", "'s'", "0", "1.5",
    "\n", "\n    ", "\n        ", " ", ":=", "->", "**", "...", "x = ", "y = ", "untouched = ", "def f():\n    ",
    "class A:\n    ", "global x\n", "nonlocal y\n", "lambda: ", "raise KeyError\n", "except* E:\n", "\ud800", "\0", "é",
]  # fmt: skip
RELAXED = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)  # fmt: skip


def check(source: str, **arguments: Any) -> None:
    def program(x: Any) -> tuple[Any, Any]:
        y: int = 5
        scope = make_scope(lambda: (x, y), writes="y", at="fuzz.njpy:1", **arguments)
        prepared = prepare(source, scope, labels=("break", "continue", "return"))
        assert isinstance(prepared, Snippet | Refusal)
        if isinstance(prepared, Snippet):
            assert isinstance(execute(prepared, seconds=5), Ran | Jumped | Failed)
        scope.close()
        return x, untouched

    names, inside = set(globals()), object()
    x, kept = program(inside)
    assert x is inside
    assert kept == [1, 2, 3]
    assert set(globals()) == names


@RELAXED
@given(st.lists(st.sampled_from(TOKENS), max_size=25).map("".join))
def test_soups_of_tokens(source: str) -> None:
    check(source)


@RELAXED
@given(st.text(max_size=60))
def test_soups_of_characters(source: str) -> None:
    check(source)


@RELAXED
@given(st.lists(st.sampled_from(TOKENS), max_size=12).map(" ".join))
def test_soups_of_tokens_in_a_class_body(source: str) -> None:
    check(source, ns={"a": 1}, own="a", cls="Box")
