"""Buggy programs with tests, read from the files of HumanEvalFix and QuixBugs.

    {"task_id": "Python/0", "prompt": "def ...", "buggy_solution": "...", "test": "...", ...}
    {"name": "bitcount", "buggy": "def bitcount(n): ...", "tests": [[[127], 7], ...], ...}

QuixBugs tests become `assert` statements. As in QuixBugs's own tests, generators become lists, the
pairs of `hanoi` are compared as lists and `sqrt` within its epsilon, and one test each of
`knapsack` and `levenshtein` is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from spsbench.results import parse_json_lines

_SLOW_TESTS = {"knapsack": 6404180, "levenshtein": "amanaplanacanalpanama"}
"""The first arguments of the tests that are left out."""


@dataclass(frozen=True, slots=True)
class RepairProblem:
    """A buggy program and its tests."""

    name: str
    code: str
    tests: str
    """Python code that raises nothing if the program is right."""
    entry_point: str
    """The function that is tested."""
    correct: str
    """A right program; used only by the scripted model, never shown."""


def parse_repair_problems(lines: Iterable[str]) -> Iterator[RepairProblem]:
    """Read a data set; `InputError` names a line that has neither format."""

    def parse(number: int, row: dict[str, Any]) -> RepairProblem:
        return _read_humanevalfix(row) if "task_id" in row else _read_quixbugs(row)

    expected = "of neither HumanEvalFix nor QuixBugs"
    return parse_json_lines(lines, parse, expected)


def _read_humanevalfix(row: dict[str, Any]) -> RepairProblem:
    source, _, number = row["task_id"].rpartition("/")
    data = "humanevalfix" if source in ("", "Python") else source.lower()
    return RepairProblem(
        f"{data}/{number}",
        row["prompt"] + row["buggy_solution"],
        row["test"].strip() + "\n",
        row["entry_point"],
        row["prompt"] + row["canonical_solution"],
    )


def _read_quixbugs(row: dict[str, Any]) -> RepairProblem:
    name, code = row["name"], row["buggy"].strip("\n") + "\n"
    tests = [
        _format_quixbugs_test(name, code, arguments, result)
        for arguments, result in row["tests"]
        if _SLOW_TESTS.get(name) not in arguments[:1]
    ]
    correct = row["correct"].strip("\n") + "\n"
    return RepairProblem(f"quixbugs/{name}", code, "\n".join(tests) + "\n", name, correct)


def _format_quixbugs_test(name: str, code: str, arguments: Sequence[Any], result: Any) -> str:
    call = f"{name}({', '.join(map(repr, arguments))})"
    if name == "sqrt":
        return f"assert abs({call} - {result!r}) <= {arguments[1]!r}"
    if name == "hanoi":
        return f"assert [list(move) for move in {call}] == {result!r}"
    return f"assert {f'list({call})' if 'yield' in code else call} == {result!r}"
