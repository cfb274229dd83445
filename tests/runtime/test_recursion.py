"""Blocks that call each other recursively: as deep as the program's own frames allow."""

from __future__ import annotations

import sys
import threading

import pytest

import njrt
from njrt.models.scripted import run
from njrt.session.run_block import FRAMES, STRIDE, RecursionRoom


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


def call_in_thread(function: object, *arguments: object) -> object:
    found: list[object] = []

    def call() -> None:
        try:
            found.append(function(*arguments))  # type: ignore[operator]
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join(120)
    return found[0]


def test_four_hundred_levels_of_blocks_run_under_the_usual_limit(scripted: njrt.Scripted) -> None:
    def go() -> int:
        with njrt.using(model=scripted, cache=False, max_code_seconds=100):
            return descend(400)

    before = sys.getrecursionlimit()
    assert before == 1000
    assert call_in_thread(go) == 401  # a thread begins with few frames, as a program does
    assert sys.getrecursionlimit() == before


def test_an_endless_recursion_ends_as_in_python_and_the_limit_is_as_before(
    scripted: njrt.Scripted,
) -> None:
    def go() -> int:
        with njrt.using(model=scripted, cache=False, max_code_seconds=100):
            return descend(1_000_000)

    before = sys.getrecursionlimit()
    assert isinstance(call_in_thread(go), RecursionError)
    assert sys.getrecursionlimit() == before
    with njrt.using(model=scripted, cache=False):
        assert descend(20) == 21
    assert sys.getrecursionlimit() == before


def test_a_limit_that_the_program_sets_inside_stays() -> None:
    room, before = RecursionRoom(), sys.getrecursionlimit()
    try:
        for _ in range(STRIDE):
            room.__enter__()
        assert sys.getrecursionlimit() == before + FRAMES * STRIDE
        sys.setrecursionlimit(5000)
        for _ in range(STRIDE):
            room.__enter__()
        assert sys.getrecursionlimit() == 5000 + FRAMES * 2 * STRIDE
        for _ in range(2 * STRIDE):
            room.__exit__(None, None, None)
        assert sys.getrecursionlimit() == 5000
    finally:
        sys.setrecursionlimit(before)


def test_threads_share_the_room_of_the_deepest() -> None:
    room, before = RecursionRoom(), sys.getrecursionlimit()
    for _ in range(STRIDE):
        room.__enter__()

    def enter_and_leave() -> None:
        for _ in range(2 * STRIDE):
            room.__enter__()
        assert sys.getrecursionlimit() == before + FRAMES * 2 * STRIDE
        for _ in range(2 * STRIDE):
            room.__exit__(None, None, None)

    assert call_in_thread(enter_and_leave) is None
    assert sys.getrecursionlimit() == before + FRAMES * STRIDE
    for _ in range(STRIDE):
        room.__exit__(None, None, None)
    assert sys.getrecursionlimit() == before
