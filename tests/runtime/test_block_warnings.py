"""Warnings of blocks that seem to have done nothing of what their text asks for, and no false alarms."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import njrt
from njrt.agent.block_warnings import find_word_tests, read_state
from njrt.execution.syntax import parse_python
from njrt.models.scripted import run


def warned(prompt: str, code: str | dict[str, Any], writes: str = "", reads: str = "") -> list[str]:
    """Run a block on some variables; return its warnings."""
    mail, praise, tasks, out = (
        "Thank you for " + "the quick and friendly help. " * 3,
        [1],
        [{"done": False, "title": "Praise"}],
        "",
    )

    def tell(_: object = None) -> None:
        """A function of the program."""

    reply = run(code, done=True) if isinstance(code, str) else code
    options = {"effects": "answer"} if isinstance(code, dict) else {}
    model = njrt.Scripted([reply], protocol="text")
    with warnings.catch_warnings(record=True) as caught, njrt.using(model=model):
        warnings.simplefilter("always")
        njrt.run(
            f"natural\n{prompt}",
            lambda: (mail, praise, tasks, tell, out),
            writes=writes,
            reads=reads,
            at="mail.njpy:7",
            **options,
        )  # type: ignore[arg-type]
    # Python may warn of something of another test meanwhile, as of a file that nobody has closed.
    ours = [each for each in caught if each.category is njrt.BlockWarning]
    assert all((each.filename, each.lineno) == ("mail.njpy", 7) for each in ours)
    assert not any(each.filename == "mail.njpy" for each in caught if each not in ours)
    return [str(each.message) for each in ours]


WORD = "the code looks for 'praise', a word of the prompt, in `{}`"
LOUD = [
    ("Keep <mail> in <praise> when it is praise.", 'if "praise" in mail: praise.append(mail)', WORD.format("mail")),
    ("Keep <mail> in <praise> when it is praise.", 'if "praise" in mail.lower(): praise.append(mail)', WORD.format("mail.lower()")),
    ("Keep <mail> in <praise> when it is praise.", 'if mail.find("praise") >= 0: praise.append(mail)', WORD.format("mail")),
    ("Keep <mail> in <praise> when it is praise.", 'if mail.startswith("praise"): praise.append(mail)', WORD.format("mail")),
    ("Keep <mail> in <praise> when it is praise.", 'import re\nif re.search("praise", mail): praise.append(mail)', WORD.format("mail")),
    ("Keep <mail> in <praise> when it is praise.", 'import re\nif re.search(r"\\bpraise\\b", mail, re.I): praise.append(mail)', WORD.format("mail")),
    ("Keep <mail> in <praise> when it is praise.", 'if "praise" in mail.lower().split(): praise.append(mail)', WORD.format("mail.lower().split()")),
    ("Keep <mail> in <praise> when it is praise.", 'praise.extend(filter(lambda m: "praise" in m.lower(), [mail]))', WORD.format("m.lower()")),
    ("Keep <mail> in <praise> when it is praise.", 'def good(m):\n    return "praise" in m.lower()\nif good(mail): praise.append(mail)', WORD.format("m.lower()")),
    ("Keep <mail> in <praise> when it is praise.", 'if any(w in mail for w in ["praise", "great"]): praise.append(mail)', WORD.format("mail")),
    ("Mark the <tasks> about praises as done.", 'for t in tasks:\n    if "praise" in t["title"] if "title" in t else False: t["done"] = True', WORD.format("t['title']")),
    ("Mark <tasks> as done.", "pass", "the block has changed nothing"),
    ("Mark <tasks> as done.", "done = True", "the block has changed nothing"),
    ("Mark <tasks> as done.", "for task in tasks: task.get('done')", "the block has changed nothing"),
    ("Sort <praise>.", "sorted(praise)", "the block has changed nothing"),
]  # fmt: skip
QUIET = [
    ("Mark as done those of the <tasks> that, by the <mail>, are completed.", "pass"),
    ("Mark as done those of the <tasks> completed by the <mail>.", "pass"),
    ("Count praise in <tasks>.", "if 'praise' in tasks: tasks.clear()\ntasks.append(1)"),
    ("Count praise in <tasks>.", "counts = {}\nif 'praise' not in counts: counts['praise'] = 1\ntasks.append(counts)"),
    ("Count praise in <tasks>.", "counts = dict()\nif 'praise' not in counts: counts['praise'] = 1\ntasks.append(counts)"),
    ("Keep <mail> in <praise> if it contains praise.", 'if "praise" in mail: praise.append(mail)'),
    ('Keep <mail> in <praise> when it is about "praise".', 'if "praise" in mail: praise.append(mail)'),
    ("Keep <mail> in <praise> when it is praise.", "if ask('praise?', bool) if False else True: praise.append(mail)"),
    ("Keep <mail> in <praise> when it is praise.", 'if "Thank" in mail: praise.append(mail)'),
    ("Keep <mail> in <praise> when it is praise.", 'if mail == "praise": praise.append(mail)'),
    ("Keep <mail> in <praise> when it is praise.", 'if "praise" in dir(): praise.append(mail)'),
    ("Mark <tasks> as done.", "tasks[0]['done'] = True"),
    ("Mark <tasks> as done if there are any.", "pass"),
    ("Mark all of <tasks> which are urgent.", "pass"),
    ("Call <tell>.", "tell()"),
    ("Print <mail>.", "print(mail)"),
    ("Sort <praise>.", "praise.sort()\npraise.append(2)"),
]  # fmt: skip


KEEP = "Keep <mail> in <praise> when it is praise."
LOUD += [
    ("Set done to true in each of <tasks>.", "pass", "the block has changed nothing"),
    ("Mark all <tasks> as done.", "pass", "the block has changed nothing"),
    ("Mark every one of <tasks> as done.", "done = list(tasks)\ndone.append(1)", "the block has changed nothing"),
    ("Reverse all <praise>.", "copy = praise[:]\ncopy.reverse()", "the block has changed nothing"),
    (KEEP, 'import re\nif re.search(r"\\b(?:praise|great)\\b", mail): praise.append(mail)', WORD.format("mail")),
    (KEEP, 'KEY = "praise"\nif KEY in mail: praise.append(mail)', WORD.format("mail")),
    (KEEP, 'words = ["praise", "great"]\nif any(w in mail for w in words): praise.append(mail)', WORD.format("mail")),
    ("Clear <praise> when a task of <tasks> is praise.", 'if any("praise" in t["title"] for t in tasks): praise.clear()', WORD.format("t['title']")),
]  # fmt: skip
QUIET += [
    ("Count praise in <tasks>.", "if 'praise' in tasks[0]: tasks.clear()\ntasks.append(1)"),
    ("Count praise in <tasks>.", "if any('praise' in each for each in tasks): tasks.clear()\ntasks.append(1)"),
    ("Count praise in <tasks>.", "for i, t in enumerate(tasks):\n    if 'praise' in t.get('unknown', t): tasks.clear()\ntasks.append(1)"),
    ("Find the price of <mail> for <praise>.", 'import re\nre.search(r"price: (\\d+)", mail)\npraise.append(1)'),
    ("Set done to false in <tasks>.", 'tasks[0]["done"] = False'),
    ("Sort <praise>.", "praise.sort()"),
    ("Remove the empty ones from <praise>.", "praise[:] = [each for each in praise if each]"),
    ("Remove the zeros from <praise>.", "for each in list(praise):\n    if not each: praise.remove(each)"),
    ("Remove the rude ones from <praise>.", "pass"),
    ("Correct the typos in all of <tasks>.", "pass"),
    ("Mark the <tasks> that are urgent.", "pass"),
]  # fmt: skip


@pytest.mark.parametrize(("prompt", "code", "warning"), LOUD)
def test_a_warning(prompt: str, code: str, warning: str) -> None:
    assert warning in warned(prompt, code)


@pytest.mark.parametrize(("prompt", "code"), QUIET)
def test_no_warning(prompt: str, code: str) -> None:
    assert warned(prompt, code) == []


def test_an_output_that_repeats_an_input() -> None:
    mail = "Thank you for " + "the quick and friendly help. " * 3
    warning = "`out` only repeats `mail`"
    assert warned("Summarize <mail> in <:out>.", {"out": mail.strip()}, "out") == [warning]
    assert warned("Summarize <mail> in <:out>.", {"out": "Thanks."}, "out") == []
    itself = "Summarize <mail> into <:mail>."
    repeated = warned(itself, {"mail": mail.strip()}, "mail", reads="mail")
    assert repeated == ["`mail` only repeats its value from before"]
    assert warned(itself, {"mail": "Thanks for " + "the help. " * 9}, "mail", reads="mail") == []
    assert warned("Fix <mail> into <:mail>.", {"mail": mail}, "mail", reads="mail") == []
    assert warned("Correct the spelling of <mail> in <:out>.", {"out": mail}, "out") == []


@pytest.mark.parametrize(
    "prompt",
    [
        "Remove all phone numbers from <mail>, and put the result into <:out>.",
        "Shorten <mail> to at most 200 characters as <:out>.",
        "Censor rude words in <mail> in <:out>.",
        "Put <mail> in English into <:out>.",
        "Put <mail> without greetings into <:out>.",
        "Rewrite <mail> as <:out> if it is rude.",
        "Put <mail> into <:out>, in capital letters where a name is.",
        "Expand the abbreviations of <mail> in <:out>.",
    ],
)
def test_an_output_may_be_an_input_with_nothing_to_change(prompt: str) -> None:
    mail = "Thank you for " + "the quick and friendly help. " * 3
    assert warned(prompt, {"out": mail}, "out") == []


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
    shown = subprocess.run(
        [sys.executable, "-m", "njc", "trace", str(trace)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "warning: the block has changed nothing" in shown.stdout


def test_as_an_error() -> None:
    tasks = [1]
    with warnings.catch_warnings(), njrt.using(model=njrt.Scripted([run("pass", done=True)])):
        warnings.simplefilter("error", njrt.BlockWarning)
        with pytest.raises(njrt.BlockWarning, match="changed nothing"):
            njrt.run("natural\nReverse <tasks>.", lambda: (tasks,), at="a.njpy:1")


def test_large_objects_are_not_compared() -> None:
    assert read_state([list(range(3000))]) is None
    assert read_state([[[n] for n in range(500)]]) is None
    state = read_state([{"a": [1]}])
    assert state is not None
    assert state == state


class Box:
    """An object with attributes and slots."""

    __slots__ = ("__dict__", "inner")


def test_changes_of_any_depth_are_seen() -> None:
    box = Box()
    box.inner, box.other = {"a": [{1}]}, (1, [2])  # type: ignore[attr-defined]
    before = read_state([box])
    assert read_state([box]) == before
    box.inner["a"][0].add(2)
    assert read_state([box]) != before


@pytest.mark.parametrize(
    ("code", "warns"), [("tell()\n1 / 0", False), ("tasks.sort()\n1 / 0", True)]
)
def test_code_may_have_had_effects_before_it_failed(code: str, warns: bool) -> None:
    sent: list[int] = []
    tasks = [1]

    def tell() -> None:
        sent.append(1)

    model = njrt.Scripted([run(code), run("pass", done=True)])
    with warnings.catch_warnings(record=True) as caught, njrt.using(model=model):
        warnings.simplefilter("always")
        njrt.run("natural\nCall <tell> for all <tasks>.", lambda: (tasks, tell), at="mail.njpy:7")
    assert [str(each.message) for each in caught] == warns * ["the block has changed nothing"]


@pytest.mark.parametrize("empty", [[], {}, set(), Box()])
def test_an_empty_object_that_is_filled_has_changed(empty: Any) -> None:
    before = read_state([empty])
    fill = getattr(empty, "append", getattr(empty, "add", None))
    if isinstance(empty, dict):
        empty["a"] = 1
    elif fill is not None:
        fill(1)
    else:
        empty.inner = 1
    after = read_state([empty])
    assert before
    assert after
    assert not {*before} <= {*after}


def test_words_are_found_in_code_only() -> None:
    tree = parse_python('x = "praise"\nprint("praise")', "<code>")
    assert list(find_word_tests(tree, "Find praise in <mail>.")) == []


class Loud(list[int]):
    """A list that notices when its code runs."""

    def __iter__(self) -> Any:
        raise AssertionError("code of the program runs")

    __len__ = __getitem__ = __iter__  # type: ignore[assignment]


def test_reading_the_state_runs_no_code_of_the_program() -> None:
    loud = Loud([1, 2])
    before = read_state([loud])
    list.append(loud, 3)
    assert read_state([loud]) != before


def test_reading_the_state_of_much_takes_no_copy() -> None:
    class Many(dict[int, int]):
        pass

    assert read_state([Many.fromkeys(range(100_000), 1)]) is None


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
    assert warned("Mark <tasks> as done, by <mail>.", code) == []
