"""Warnings of blocks that have done nothing."""

from __future__ import annotations

import io
import json
import math
import warnings
from collections import deque
from pathlib import Path
from typing import Any

import pytest

import njrt
from njrt.testing import run
from processes import run_python


def warned(prompt: str, code: str | dict[str, Any], writes: str = "", reads: str = "") -> list[str]:
    """Run a block on some variables; return its warnings."""
    mail, praise, tasks, out = (
        "Thank you for " + "the quick and friendly help. " * 3,
        [1],
        [{"done": False, "title": "Praise"}],
        "",
    )

    reply = run(code, done=True) if isinstance(code, str) else code
    options: dict[str, Any] = {"effects": "answer"} if isinstance(code, dict) else {}
    model = njrt.Scripted([reply], protocol="text")
    with warnings.catch_warnings(record=True) as caught, njrt.using(model=model):
        warnings.simplefilter("always")
        njrt.run(
            f"natural\n{prompt}",
            lambda: (mail, praise, tasks, out),
            writes=writes,
            reads=reads,
            at="mail.njpy:7",
            **options,
        )
    # Python may warn of something of another test meanwhile, as of a file that nobody has closed.
    ours = [each for each in caught if each.category is njrt.BlockWarning]
    assert all((each.filename, each.lineno) == ("mail.njpy", 7) for each in ours)
    assert not any(each.filename == "mail.njpy" for each in caught if each not in ours)
    return [str(each.message) for each in ours]


NOTHING = ["the block has changed nothing"]
UNCHANGED = [
    "pass",
    "done = True",
    "for task in tasks: task.get('done')",
    "sorted(praise)",
    "copy = praise[:]\ncopy.reverse()",
    "done = list(tasks)\ndone.append(1)",
    'if "no such word" in mail: praise.append(mail)',
    'if any("rude" in each["title"] for each in tasks): praise.clear()',
    "tasks[0]['done'] = False",
    "praise.sort()",
    "praise.append(2)\npraise.pop()",
    "max(len(each) for each in tasks)",
]
CHANGED_OR_UNKNOWN = [
    "tasks[0]['done'] = True",
    "praise.append(2)",
    "praise[:] = []",
    "del tasks[0]['title']",
    "tasks[0]['title'] += '!'",
    "print(mail)",
    "if ask('praise?', bool) if False else True: praise.append(mail)",
    "import math",
    "def tell(): pass\ntell()",
    "[str][0](1)",
]


@pytest.mark.parametrize("code", UNCHANGED)
@pytest.mark.parametrize("prompt", ["Mark <tasks> as done.", "If <mail> is rude, clear <praise>."])
def test_nothing_has_changed(prompt: str, code: str) -> None:
    """Whatever the words of the prompt, and whatever the words in the code."""
    assert warned(prompt, code) == NOTHING


@pytest.mark.parametrize("code", CHANGED_OR_UNKNOWN)
def test_something_has_changed_or_may_have(code: str) -> None:
    assert warned("Mark <tasks> as done.", code) == []


def test_blocks_with_an_output_or_a_jump_may_change_nothing() -> None:
    assert warned("Count <tasks> into <:out>.", "out = 'one'", "out") == []
    tasks = [1]
    model = njrt.Scripted([run("pass", done=True)])
    with warnings.catch_warnings(), njrt.using(model=model):
        warnings.simplefilter("error")
        njrt.run("natural\nbreak if <tasks> is empty.", lambda: (tasks,), labels="break", at="a:1")


def send(message: object) -> None:
    """Act elsewhere."""


class Client:
    """An object whose methods are named like those of data, and act elsewhere."""

    def update(self, value: object) -> None:
        send(value)


class Item:
    """Data of the program."""

    def __init__(self) -> None:
        self.tags: list[str] = []


@pytest.mark.parametrize(
    ("held", "code", "expected"),
    [
        (send, "pass", []),
        (math, "pass", []),
        (Item, "pass", []),
        (Item(), "pass", NOTHING),
        (Item(), "held.tags", NOTHING),
        (Item(), "held.tags.append('x')", []),
        ([Item()], "held[0].tags = []", []),
        ([send], "held[0](1)", []),
        ([send], "list(map(lambda each: each(1), held))", []),
        (Client(), "held.update(1)", []),
        (Client(), "pass", NOTHING),
        (deque([1]), "held.rotate()", NOTHING),
        (deque([1, 2]), "held.rotate()", []),
        (iter([1]), "pass", []),
        (io.StringIO("a"), "pass", []),
        (list(range(3_000)), "pass", []),
        ([[n] for n in range(1_500)], "pass", []),
    ],
)
def test_only_data_of_the_program_is_compared(held: Any, code: str, expected: list[str]) -> None:
    model = njrt.Scripted([run(code, done=True)])
    with warnings.catch_warnings(record=True) as caught, njrt.using(model=model):
        warnings.simplefilter("always")
        njrt.run("natural\nMark <held>.", lambda: (held,), at="mail.njpy:7", policy="open")
    assert [str(each.message) for each in caught] == expected


def test_a_refused_attempt_is_no_warning() -> None:
    mail, praise = "Great!", [1]
    replies = [run('"praise" in mail and mail = 3'), run("praise.append(mail)", done=True)]
    with warnings.catch_warnings(), njrt.using(model=njrt.Scripted(replies)):
        warnings.simplefilter("error")
        njrt.run(
            "natural\nKeep <mail> in <praise> when it is praise.",
            lambda: (mail, praise),
            at="a.njpy:1",
        )
    assert praise == [1, "Great!"]


def test_the_trace_has_them(tmp_path: Path) -> None:
    tasks, trace = [1], tmp_path / "trace.jsonl"
    with (
        warnings.catch_warnings(),
        njrt.using(model=njrt.Scripted([run("pass", done=True)]), trace=trace),
    ):
        warnings.simplefilter("ignore")
        njrt.run("natural\nReverse <tasks>.", lambda: (tasks,), at="a.njpy:1")
    ended = json.loads(trace.read_text().splitlines()[-1])
    assert ended["warnings"] == ["the block has changed nothing"]
    shown = run_python("-m", "njc", "trace", str(trace), check=True)
    assert "warning: the block has changed nothing" in shown.stdout


def test_as_an_error() -> None:
    tasks = [1]
    with warnings.catch_warnings(), njrt.using(model=njrt.Scripted([run("pass", done=True)])):
        warnings.simplefilter("error", njrt.BlockWarning)
        with pytest.raises(njrt.BlockWarning, match="changed nothing"):
            njrt.run("natural\nReverse <tasks>.", lambda: (tasks,), at="a.njpy:1")


@pytest.mark.parametrize(
    ("code", "warns"), [("print('sent')\n1 / 0", False), ("tasks.sort()\n1 / 0", True)]
)
def test_code_may_have_had_effects_before_it_failed(code: str, warns: bool) -> None:
    tasks = [1]
    model = njrt.Scripted([run(code), run("pass", done=True)])
    with warnings.catch_warnings(record=True) as caught, njrt.using(model=model):
        warnings.simplefilter("always")
        njrt.run("natural\nSort <tasks>.", lambda: (tasks,), at="mail.njpy:7")
    assert [str(each.message) for each in caught] == warns * ["the block has changed nothing"]


@pytest.mark.parametrize(
    "code",
    [
        "    tasks[0]['done'] = 'x'\n    tasks",
        "tasks[0]['done'] = 'x'" + " + 'x'" * 60,
        "tasks[0]['done'] = str('x' in mail" + ".strip()" * 30 + ")",
        "\ttasks[0]['done'] = 'é'\r\n",
    ],
)
def test_any_code_that_runs_is_looked_at_without_an_error(code: str) -> None:
    assert warned("Mark <tasks> as done.", code) == []
