"""`njc debug --predicted`: commands are answered by a predictor, and checked by running."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from njc.commands import njc as main
from predicted_oracle import ORACLE, PROGRAM


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "fact.py").write_text(PROGRAM)
    (tmp_path / "oracle.py").write_text(ORACLE)
    (tmp_path / "calls").write_text("fact(2)\nfact(3)")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def debug(*commands: str, call: str = "fact(2)", predicted: str = "oracle:calls") -> Result:
    flags = ["debug", "--predicted", predicted, "--call", call, "fact.py"]
    return CliRunner().invoke(main, flags, input="\n".join([*commands, "q"]) + "\n")


def list_answers(result: Result) -> list[str]:
    """Return the first line after each command."""
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    return [lines[place + 1] for place, line in enumerate(lines[:-1]) if line.startswith("(njc)")]


def test_steps_forward_and_back(folder: Path) -> None:
    assert list_answers(debug("n", "n", "n", "r", "N", "R", "b 3", "c", "p")) == [
        "> fact.py:2 line, depth 0",
        "> fact.py:4 line, depth 0",
        "> fact.py:5 line, depth 0",
        "> fact.py:5 return 2, depth 0",
        "> fact.py:5 line, depth 0",
        "> fact.py:1 call, depth 0",
        "`c` continues until line 3",
        "> fact.py:3 line, depth 1",
        "> fact.py:3 line, depth 1",
    ]


def test_changed_variables_are_marked_and_outer_functions_shown(folder: Path) -> None:
    output = debug("b 5", "c", "R", "b 3", "c", "p").output
    assert "      * k = 1\n" in output
    assert "  in line 4, 1 further out: n = 2\n" in output


def test_answers_are_checked_by_running(folder: Path) -> None:
    assert list_answers(debug("r", "check", "n", "check")) == [
        "> fact.py:5 return 2, depth 0",
        "right: running the program leads to this state",
        "the program ends",
        "right: running the program leads to this state",
    ]


def test_a_wrong_answer_is_replaced_by_the_executed_state(folder: Path) -> None:
    result = debug("s", "check", "n", "check")
    wrong = "wrong: running the program leads to this state; the next step starts here"
    assert f"{wrong}\n> fact.py:2 line, depth 0\n" in result.output
    assert list_answers(result) == [
        "> fact.py:1 call, depth 0",
        wrong,
        "> fact.py:4 line, depth 0",
        "right: running the program leads to this state",
    ]


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("S", "no answer: the answer is not a state"),
        ("c", "choose a line first: b LINE"),
        ("x", "s n r         step into, over, to the return of this function"),
    ],
)
def test_commands_that_have_no_answer(folder: Path, command: str, answer: str) -> None:
    assert list_answers(debug(command)) == [answer]


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("fact()", "fact() missing 1 required positional argument: 'n'"),
        ("fact(2, 3)", "takes 1 positional argument but 2 were given"),
        ("fact(m=2)", "got an unexpected keyword argument 'm'"),
        ("fact(n=2, n=3)", "keyword argument repeated: n"),
        ("fact(len)", "len is not a literal"),
        ("other(1)", "is not a call of a function of the program"),
        ("fact(", "cannot be read"),
        ("fact(*[1])", "*[1] is not a literal"),
        ("fact(2, n=2)", "multiple values for argument 'n'"),
    ],
)
def test_calls_that_cannot_be_the_begin(folder: Path, call: str, reason: str) -> None:
    result = debug(call=call)
    assert result.exit_code != 0
    assert reason in result.output


@pytest.mark.parametrize("name", ["oracle", "nothing_here:calls", "oracle:missing", "json:calls"])
def test_predictors_that_are_missing(folder: Path, name: str) -> None:
    result = debug(predicted=name)
    assert result.exit_code != 0
    assert "--predicted" in result.output


MORE = """\
import functools


@functools.lru_cache
def twice(text):
    return text + text


def place(n, /, m=2):
    return n + m


def numbers(n):
    yield n


def count(n):
    total = 0
    for number in range(n):
        total += number
    return total


def part(n, *, k=2, m):
    return n + k + m


def spread(*n, **m):
    return n, m
"""


@pytest.mark.parametrize(
    ("call", "commands", "answers"),
    [
        ("twice('a')", ["check"], ["right"]),
        ("place(1, m=3)", ["check"], ["right"]),
        ("part(1, m=3)", ["check"], ["right"]),
        ("spread(1, 2, k=3)", ["check"], ["right"]),
        ("numbers(1)", ["check"], ["no answer: the program did not run numbers(1): none of its"]),
        ("count(9000)", ["r", "check"], ["the program ends", "no answer: the run was stopped"]),
    ],
)
def test_starts_and_ends_of_other_functions(
    folder: Path, call: str, commands: list[str], answers: list[str]
) -> None:
    (folder / "fact.py").write_text(MORE)
    (folder / "calls").write_text("count(2)")
    (folder / "oracle.py").write_text(
        ORACLE.replace("for call in self.debugger:", "for call in ():")
    )
    found = list_answers(debug(*commands, call=call))
    assert len(found) == len(answers)
    assert all(map(str.startswith, found, answers)), found


def test_parameters_by_place_have_no_names(folder: Path) -> None:
    (folder / "fact.py").write_text(MORE)
    assert "missing 1 required positional argument: 'n'" in debug(call="place(m=1)").output
    assert "takes 1 positional argument but 3" in debug(call="part(1, 2, 3)").output
    assert "missing 1 required keyword-only argument: 'm'" in debug(call="part(1)").output


def test_a_program_is_read_in_its_encoding(folder: Path) -> None:
    text = f"# -*- coding: latin-1 -*-\nNAME = 'é'\n{PROGRAM}"
    (folder / "fact.py").write_bytes(text.encode("latin-1"))
    assert list_answers(debug("check")) == ["right: running the program leads to this state"]
