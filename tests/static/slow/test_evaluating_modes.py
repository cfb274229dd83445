"""`njc eval --modes`: a program's cases in each mode, with the code that its lock has."""

from __future__ import annotations

import pytest
from studio import Studio

HELPER = """\
def count(text: str) -> int:
    \"""natural
    Bind <:words: int> to how many words <text> has.
    \"""
    return words
"""
PROGRAM = "from {helper} import count\n\n\ndef double(text):\n    return 2 * count(text)\n"
CASES = """\
{"inputs": {"text": "one"}, "expect": 2}
{"inputs": {"text": "one two"}, "expect": 4}
"""
CODE = "```python\nwords = len(text.split())\n```"


@pytest.fixture
def helper(studio: Studio) -> str:
    """A program with a module that has the block; the name is new, as Python keeps modules."""
    name = f"helper_{studio.folder.name}"
    program = PROGRAM.replace("{helper}", name)
    studio.write({f"{name}.njpy": HELPER, "program.py": program, "cases.jsonl": CASES})
    return name


def test_each_mode_runs_with_modules_of_its_own(studio: Studio, helper: str) -> None:
    studio.njc("build", f"{helper}.njpy", "--mode", "static", replies=[CODE])
    (studio.folder / f"{helper}.py").unlink()
    call = ("eval", "program.py:double", "cases.jsonl", "--modes", "static,live")
    result = studio.njc(*call, replies=[{"words": 1}, {"words": 1}])
    lines = [line.split("  ") for line in result.stdout.split("\n") if " of 2" in line]
    passed = {line[0]: next(cell for cell in line if " of 2" in cell) for line in lines}
    assert passed == {"live, scripted": "1 of 2", "static, no model": "2 of 2"}
    assert "line 2, live, scripted: expected 4, got 2" in result.stdout


@pytest.mark.parametrize(
    ("modes", "code", "words"),
    [
        ("fast", 2, "no mode `fast`; the modes are live, static, reviewed"),
        ("live,static", 1, "NJ402"),
    ],
)
def test_a_mode_without_code_is_an_error(
    studio: Studio, helper: str, modes: str, code: int, words: str
) -> None:
    result = studio.njc("eval", "program.py:double", "cases.jsonl", "--modes", modes, code=code)
    assert words in result.output
    assert studio.asked == [], "no live block ran before the code was looked for"
