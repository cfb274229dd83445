"""`njrt.approve`: a person at a terminal decides."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from njrt.data.decisions import PendingEffect
from njrt.effects import BindOutputs, Effect, Run
from njrt.guests.approval.question import describe_question
from njrt.guests.approval.terminal import PROMPT as PROMPT_TEXT
from processes import run_python

PROGRAM = '''
import sys
import njrt
from njrt.testing import Scripted, run

def add(total):
    njrt.run("""natural
    Add to <total>, giving <:total>.
    """, lambda: (total,), writes="total", at="add.njpy:1", effects="direct")
    return total

def reply(request):
    words = str(request.messages[-1])
    return run("total = total + 50" if "be quick" in words else "total = total + 1", done=True)

total = 0
with njrt.using(model=Scripted(reply), intercept=njrt.approve(**OPTIONS), **SETTINGS):
    for _ in range(3):
        total = add(total)
print("total", total)
'''
PROMPT = "[p]ause [?] "
SECONDS = 90.0
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": ":".join(sys.path),
    "PYTHON_COLORS": "0",
}


class Person:
    """Runs the program on a pseudo-terminal and types answers, each after its prompt."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen = ""
        self.output = ""

    def run(
        self,
        *answers: str,
        options: str = "",
        settings: str = "",
        source: str = PROGRAM,
        **environment: str,
    ) -> int:
        """Run the program; gives its exit code. An answer may be `PROMPT text` pairs split at `|`."""
        source = source.replace("OPTIONS", f"dict({options})").replace(
            "SETTINGS", f"dict({settings})"
        )
        (self.folder / "program.py").write_text(source)
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "program.py"],
            cwd=self.folder,
            stdin=slave,
            stderr=slave,
            stdout=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT | {"NJC_POLICY": "guarded", "TERM": "xterm"} | environment,
        )
        os.close(slave)
        self.seen, start = "", 0
        try:
            for answer in answers:
                prompt, _, typed = answer.rpartition("|")
                start = self._read_until(master, prompt or PROMPT, start)
                os.write(master, b"\x04" if typed == "EOF" else typed.encode() + b"\n")
            self._read_until(master, None, start)
            self.output = process.communicate(timeout=SECONDS)[0]
        finally:
            process.kill()
            process.wait()
            os.close(master)
        return process.returncode

    def _read_until(self, master: int, expected: str | None, start: int) -> int:
        """Read until the text has been shown, or to the end; gives where it ends."""
        deadline = time.monotonic() + SECONDS
        while expected is None or expected not in self.seen[start:]:
            assert time.monotonic() < deadline, f"not shown: {expected}; but: {self.seen}"
            if not select.select([master], [], [], 1)[0]:
                continue
            try:
                read = os.read(master, 65536)
            except OSError:  # how Linux reports that the other side is closed
                read = b""
            if not read:
                assert expected is None, f"not shown: {expected}; but: {self.seen}"
                break
            self.seen += read.decode(errors="replace")
        return 0 if expected is None else self.seen.index(expected, start) + len(expected)


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_a_person_accepts_and_rejects(person: Person) -> None:
    code = person.run("y", "n", "model? |be quick", "y", "?", "y", PYTHONWARNINGS="error")
    assert (code, person.output) == (0, "total 52\n"), person.seen
    assert "add.njpy:1  Run, effect 1 of this run" in person.seen
    assert "Add to <total>, giving <:total>." in person.seen
    assert "\r\n  total: int = 0\r\n" in person.seen
    assert "and ends the block" in person.seen
    assert "end the block with an error" in person.seen


EDITS = {
    "code": (PROGRAM, "s/1/700/", ("y", "e", "y"), "total 702\n"),
    "a call": ("CALLS", "s/: 4/: 40/", ("y", "e", "y"), "paid 3 1\npaid 40 1\npaid 5 1\n"),
    "changes": ("CHANGES", 's/: "me"/: "eve"/', ("e", "y", "y"), "paid {'id': 3, 'to': 'eve'}\n"),
}


@pytest.mark.parametrize("what", EDITS)
def test_a_person_edits(what: str, person: Person, tmp_path: Path) -> None:
    source, change, answers, printed = EDITS[what]
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\nsed -i '{change}' \"$1\"\n")
    editor.chmod(0o755)
    code = person.run(*answers, source=globals().get(source, source), EDITOR=str(editor))
    assert code == 0, person.seen
    assert person.output.startswith(printed), person.seen


@pytest.mark.parametrize(
    ("editor", "words"),
    [("/no/such/editor", "No such file"), ("false", "exit status 1"), ("vi 'a", "No closing")],
)
def test_a_failing_editor_is_told(editor: str, words: str, person: Person) -> None:
    assert person.run("e", "a", EDITOR=editor) == 1
    assert "not edited: " in person.seen
    assert words in person.seen


def test_a_person_ends_the_block(person: Person) -> None:
    assert person.run("a") == 1
    assert "PolicyError: add.njpy:1: aborted by the interceptor `approve`" in person.seen


def test_a_pause_continues_in_the_next_process(person: Person) -> None:
    settings = "record='all:run.jsonl'"
    assert person.run("y", "p", settings=settings) == 1
    assert "Paused: add.njpy:1: paused by the interceptor `approve`" in person.seen
    assert person.run("y", "y", settings=settings) == 0, person.seen
    assert person.output == "total 3\n"
    assert "total: int = 0" not in person.seen


def test_a_person_may_think_longer_than_the_limits_allow(person: Person) -> None:
    source = PROGRAM.replace(
        "total = 0\n",
        """
def outer():
    done = None
    njrt.run("natural\\nCall <step> for <:done>.", lambda: (step, done), writes="done", at="o.njpy:1", effects="direct")
    return done

def step():
    return add(0)

def reply(request):
    opening = request.messages[0].text
    return run("done = step()" if "step" in opening else "total = total + 1", done=True)

import threading, time
total = 0
""",
    ).replace("total = add(total)", "total += outer()")
    source = source.replace("range(3)", "range(1)")
    source = source.replace("import sys\n", "import sys, time\n")
    slow = "import os, time, njrt.guests.approval.terminal as t\nask = t.Terminal.ask\ndef wait(self, prompt):\n    from njrt.data.timeouts import _here\n    for watch in _here.get():\n        watch.clock = lambda: time.monotonic() + 1000\n    return ask(self, prompt)\nt.Terminal.ask = wait\n"
    settings = "max_code_seconds=60, max_seconds=60"
    assert person.run("y", "y", settings=settings, source=slow + source) == 0, person.seen
    assert person.output == "total 1\n"


def test_the_end_of_input_is_an_error(person: Person) -> None:
    assert person.run("EOF") == 1
    ended = (
        "an effect needs approval, but the input has ended (Ctrl-D): type a letter, or decide by"
    )
    assert ended in " ".join(person.seen.split())


# ── what is shown ────────────────────────────────────────────────────────────


def make_pending(effect: Effect, **changes: Any) -> PendingEffect:
    pending = PendingEffect(
        "r", None, "a.njpy:3", 1, 1, effect, "direct", "Do <x>.", False,
        lambda: {"x": "x: int = 3\n    more", "box": "box: Box"},
    )  # fmt: skip
    return replace(pending, **changes)


def test_what_is_named_is_shown() -> None:
    shown = describe_question(make_pending(Run("y = box.count(x)\nbreak", True)))
    assert shown.split("\n") == [
        "a.njpy:3  Run, effect 1 of this run",
        *("  Do <x>.", "    1  y = box.count(x)", "    2  break"),
        *("  x: int = 3", "  box: Box", "  and ends the block"),
    ]


@pytest.mark.parametrize(
    "text",
    ["\x1b[2J", "a\rb", "\u202e)(", "\x9b2J", "\u2066x", "\x00", "\x08\x08", "\x85", "\u2028"],
)
def test_code_cannot_steer_the_terminal(text: str) -> None:
    pending = make_pending(Run(f"x = '{text}'\n# {text}", True), instruction=f"Do {text}")
    bound = replace(pending, effect=BindOutputs({"x": text}), render_variables=lambda: {"x": text})
    for it in (pending, bound):
        assert all(line.isprintable() for line in describe_question(it).split("\n"))


def test_the_question_of_the_document_is_what_is_shown() -> None:
    document = (Path(__file__).parents[3] / "docs" / "reference" / "approval.md").read_text()
    variables = {"prices": "prices: list[int], 2 items = [1, 2]", "total": "total: int = 0"}
    pending = make_pending(
        Run("total = sum(prices)", True),
        place="shop.njpy:3",
        instruction="Add up <prices> in <:total>.",
        render_variables=lambda: variables,
    )
    assert f"{describe_question(pending)}\n{PROMPT_TEXT.strip()}" in document


CALLS = """
import njrt
from njrt.testing import Scripted, run

@njrt.gated
def pay(order, cents=1):
    print("paid", order, cents)

orders = [3, 4, 5]
code = "for order in orders:\\n    try:\\n        pay(order)\\n    except PermissionError as error:\\n        print(error)"
with njrt.using(model=Scripted([run(code, done=True)]), intercept=njrt.approve(calls=True, **OPTIONS), **SETTINGS):
    njrt.run("natural\\nPay <orders> by <pay>.", lambda: (orders, pay), at="shop.njpy:1")
"""


def test_a_person_decides_about_calls_alone(person: Person) -> None:
    code = person.run("y", "n", "model? |not this one", "y", source=CALLS)
    assert code == 0, person.seen
    assert person.output.splitlines() == ["paid 3 1", "not this one", "paid 5 1"], person.seen
    assert "shop.njpy:1  Touch, call 1 of this run" in person.seen
    assert "for order in orders" not in person.seen


CHANGES = """
import njrt
from njrt.testing import Scripted, run

def pay(order):
    print("paid", order)

orders = [{"id": 3, "to": "ada"}, {"id": 4, "to": "bob"}]
codes = [run("for order in orders:\\n    order['to'] = 'me'\\n    pay(order)"), run("orders.clear()", done=True)]
with njrt.using(model=Scripted(codes), intercept=njrt.approve(changes=True, **OPTIONS), **SETTINGS):
    njrt.run("natural\\nPay <orders> by <pay>.", lambda: (orders, pay), at="shop.njpy:1", policy="contained")
print(orders)
"""


def test_a_person_decides_about_changes_alone(person: Person) -> None:
    code = person.run("y", "n", "model? |not bob", "y", source=CHANGES)
    assert code == 0, person.seen
    assert person.output.splitlines() == ["paid {'id': 3, 'to': 'me'}", "[]"], person.seen
    assert "\"orders[0]['to']\": {'was': 'ada', 'now': 'me'}," in person.seen
    assert "for order in orders" not in person.seen


def test_without_a_terminal_nothing_is_changed(tmp_path: Path) -> None:
    source = CHANGES.replace("OPTIONS", "{}").replace("SETTINGS", "{}")
    program = f"try:\n{textwrap.indent(source, ' ')}\nfinally: print(orders)"
    done = run_python("-c", program, cwd=tmp_path, input="", env=ENVIRONMENT, timeout=SECONDS)
    assert "ConfigurationError: shop.njpy:1: an effect needs approval, but there is" in done.stderr
    assert done.stdout == "[{'id': 3, 'to': 'ada'}, {'id': 4, 'to': 'bob'}]\n"
