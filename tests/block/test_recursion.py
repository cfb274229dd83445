"""Blocks that call each other recursively: as deep as Python's limit, which stays as the program sets it."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import njrt
from njrt.block.session.session import RECURSION_NOTE
from njrt.testing import run
from waiting import run_threads

DEPTHS = {"guarded": 130, "auto": 75}
"""Levels of two frames of the program each that docs/reference/runtime.md names for the usual limit."""


def descend(depth: int) -> int:
    """Run a block on each level; its code calls the program, which runs the next block."""
    n: int = 0

    def go_on() -> int:
        return descend(depth - 1) if depth else 0

    njrt.run(
        "natural: Put <go_on>() + 1 into <:n>.",
        lambda: (n, go_on),
        writes="n",
        types=lambda: {"n": int},
        at="deep.njpy:1",
        effects="direct",
    )
    return n


@pytest.fixture
def scripted() -> njrt.Scripted:
    return njrt.Scripted(lambda request: run("n = go_on() + 1", done=True))


def descend_in_thread(depth: int, scripted: njrt.Scripted, policy: Any = "guarded") -> object:
    """Descend in a thread, which begins with few frames, as a program does."""
    found: list[object] = []

    def go() -> None:
        try:
            with njrt.using(model=scripted, cache=False, max_code_seconds=100, policy=policy):
                found.append(descend(depth))
        except BaseException as error:
            found.append(error)

    run_threads(go)
    return found[0]


@pytest.mark.parametrize("policy", DEPTHS)
def test_the_documented_depth_under_the_usual_limit(policy: str, scripted: njrt.Scripted) -> None:
    assert sys.getrecursionlimit() == 1000
    assert descend_in_thread(DEPTHS[policy] - 1, scripted, policy) == DEPTHS[policy]
    assert sys.getrecursionlimit() == 1000


def test_an_endless_recursion_ends_as_in_python_and_names_the_limit(
    scripted: njrt.Scripted,
) -> None:
    before = sys.getrecursionlimit()
    error = descend_in_thread(1_000_000, scripted)
    assert isinstance(error, RecursionError)
    assert [note for note in error.__notes__ if "sys.setrecursionlimit" in note] == [RECURSION_NOTE]
    with njrt.using(model=scripted, cache=False):
        assert descend(20) == 21
    assert sys.getrecursionlimit() == before


def test_a_higher_limit_of_the_program_allows_more_levels(scripted: njrt.Scripted) -> None:
    before = sys.getrecursionlimit()
    depth = 2 * DEPTHS["guarded"]
    sys.setrecursionlimit(3000)
    try:
        assert descend_in_thread(depth, scripted) == depth + 1
        assert sys.getrecursionlimit() == 3000
    finally:
        sys.setrecursionlimit(before)
