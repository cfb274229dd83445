"""Code that begins with an `if` on the whole value of an input: the branches that cannot run are removed."""

from __future__ import annotations

from typing import Any

import pytest

import njrt
from njrt.testing import Scripted, run

THANKS = 'Thanks, "that" is all.'

KEPT: dict[str, tuple[str, str]] = {
    "if and else": (f"if query == {THANKS!r}:\n    x = 1\nelse:\n    break", "1"),
    "if and elif": (f"if query == {THANKS!r}:\n    x = 1\nelif other == 2:\n    x = no", "1"),
    "elif": (f"if query == 'Hello':\n    x = no\nelif query == {THANKS!r}:\n    x = 2\nelse:\n    break", "2"),
    "on one line": (f"if query == {THANKS!r}: x = 1\nelse: break", "1"),
    "several lines": (f"if query == {THANKS!r}:\n    x = '''a\n  b'''\n\nelse:\n    break\nx += 'c'", "a\n  bc"),
    "after imports": (f"import math\nif query == {THANKS!r}:\n    x = 1\nelse:\n    break", "1"),
    "after the restated input": (
        f"query = {THANKS!r}\nif query == {THANKS!r}:\n    x = 1\nelse:\n    break",
        "1",
    ),
    "an exception in the branch": (f"if query == {THANKS!r}:\n    raise ValueError('é')\nelse:\n    break", "é"),
}  # fmt: skip

REFUSED: dict[str, str] = {
    "another value": "if query == 'Thanks':\n    x = 1\nelse:\n    break",
    "another test first": f"if count == 2:\n    x = 1\nelif query == {THANKS!r}:\n    x = 2\nelse:\n    break",
    "another comparison": f"if query != {THANKS!r}:\n    break\nelse:\n    x = 1",
    "after a call": f"change()\nif query == {THANKS!r}:\n    x = 1\nelse:\n    break",
    "of an output": "if x == 'old':\n    x = 1\nelse:\n    break",
    "in a function": f"def f():\n    if query == {THANKS!r}:\n        return 1\n    else:\n        return no\nx = f()",
    "nested": f"if query == 'Hello':\n    x = 1\nelse:\n    if query == {THANKS!r}:\n        x = 1\n    else:\n        break",
}


def play(code: str) -> tuple[str, int]:
    """Run a block whose model answers `code`; return its output or exception as text, and the number of replies."""
    query, count, x = THANKS, 1, "old"

    def change() -> None:
        nonlocal query
        query = "changed"

    model = Scripted([run(code, done=True), run("x = 'repaired'", done=True)])
    try:
        with njrt.using(model=model):
            njrt.run(
                "natural\nAnswer <query>, <count>, <change> as <:x>.",
                lambda: (query, count, change, x),
                writes="x",
                reads="x",
                at="a.njpy:1",
            )
    except ValueError as error:
        x = str(error)
    return str(x), len(model.requests)


@pytest.mark.parametrize(("code", "expected"), KEPT.values(), ids=KEPT)
def test_a_branch_that_cannot_run_is_removed(code: str, expected: Any) -> None:
    assert play(code) == (expected, 1)


@pytest.mark.parametrize("code", REFUSED.values(), ids=REFUSED)
def test_a_branch_that_may_run_is_checked(code: str) -> None:
    assert play(code) == ("repaired", 2)
