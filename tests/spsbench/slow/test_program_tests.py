"""Tests of a program in a process of its own: verdicts, steps of the failed statement, limits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from njc.measure.execution_trace import LineStep
from spsbench.repair.testing import FailedTests, PassedTests, run_tests

TOTAL = (
    "def total(prices):\n    spent = 0\n    for p in prices:\n        spent = p\n    return spent\n"
)


def test_tests_that_raise_nothing_pass() -> None:
    assert run_tests(TOTAL, "assert total([]) == 0\nassert total([3]) == 3") == PassedTests()


def test_a_failure_has_its_statement_its_values_and_its_steps_alone() -> None:
    outcome = run_tests(
        TOTAL,
        "def check(f):\n    assert f([7]) == 7\n    assert f(\n        [1, 2]\n    ) == 3\ncheck(total)",
        traces=True,
    )
    assert isinstance(outcome, FailedTests)
    assert outcome.test == "assert f([1, 2]) == 3"
    assert outcome.problem == "`f([1, 2])` is 2, but should be 3"
    assert outcome.trace.steps[0] == LineStep(1, "prices = [1, 2]")
    assert outcome.trace.steps[-1] == LineStep(5, "returns 2")


MARK = "marked.txt"
PROBLEMS = {
    "assert": ("", "assert 1 + 1 == 3", "assert 1 + 1 == 3", "`1 + 1` is 2, but should be 3"),
    "other comparison": ("x = 4", "assert x < 2", "assert x < 2", "`x` is 4"),
    "message": ("", "assert False, 'so'", "assert False, 'so'", "so"),
    "loop": ("", "for i in range(3):\n    1 / (1 - i)", "1 / (1 - i)", "ZeroDivisionError"),
    "syntax": ("def f(:", "f()", "", "SyntaxError"),
    "program raises": ("import nothing_like_this", "", "", "ModuleNotFoundError"),
    "endless": ("def f():\n    while True: pass", "f()", "f()", "did not end within"),
    "endless import": ("while True: pass", "", "", "did not end within"),
    "swallowed": (
        "def f():\n    while True:\n        try:\n            while True:\n                len([])\n"
        "        except BaseException:\n            continue",
        "f()",
        "",
        "did not end within",
    ),
    "exit": ("import sys\nsys.exit(0)", "", "", "SystemExit"),
    "hard exit": ("import os\nos._exit(0)", "", "", "ended early"),
    "memory": ("x = bytearray(3 << 30)", "", "", "MemoryError"),
    "deep": ("def f(): return f()", "f()", "f()", "RecursionError"),
    "file": (f"open('{MARK}', 'w')", "", "", "PermissionError"),
    "file by os": (f"import os\nos.open('{MARK}', os.O_CREAT | os.O_WRONLY)", "", "", "Permission"),
    "process": (f"import os\nos.system('touch {MARK}')", "", "", "PermissionError"),
    "subprocess": (f"import subprocess\nsubprocess.run(['touch', '{MARK}'])", "", "", "Permission"),
    "network": ("import socket\nsocket.socket().connect(('127.0.0.1', 9))", "", "", "Permission"),
}


def test_failures_are_reported_and_accidents_prevented(tmp_path: Path) -> None:
    def run(case: tuple[str, str, str, str]) -> object:
        code = case[0].replace(MARK, str(tmp_path / MARK))
        seconds = 1.0 if "while" in code else 5.0
        return run_tests(code, case[1], seconds, startup_seconds=4.0 if "except" in code else 20.0)

    with ThreadPoolExecutor(2) as pool:
        outcomes = dict(zip(PROBLEMS, pool.map(run, PROBLEMS.values()), strict=True))
    for name, (_, _, test, problem) in PROBLEMS.items():
        outcome = outcomes[name]
        assert isinstance(outcome, FailedTests), name
        assert outcome.test == test, name
        assert problem in outcome.problem, name
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", ["def f(n):\n    return [n] * 3", "f = lambda n: n"])
def test_a_program_that_fails_only_sometimes_has_no_steps_of_another_failure(code: str) -> None:
    outcome = run_tests(code, "import os\nassert f(1) == os.getpid()", traces=True)
    assert isinstance(outcome, FailedTests)
    assert outcome.test == "assert f(1) == os.getpid()"
