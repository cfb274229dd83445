"""A benchmark task: a program is run on inputs, and its state is checked afterwards.

    Task("average_of_three", (
        Case("words", lambda program: program.average_of_three("one", "two", "three"), (
            Check("the average is 2.0", lambda average: average == 2.0),
        )),
    ))

    check_case(case, program)     (CheckResult("words", "the average is 2.0", True), ...)

A case makes new inputs each time it is played, and returns the objects to check: a result, an
object that the program should change, or an exception. Checks concern state, never wording. Every
check counts in every run: a check that raises an exception fails, and if a case raises, all its
checks fail. Credit is partial, as in the paper: a task's score is the share of its checks that
hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

ProgramFile = Literal["natural.njpy", "rewritten.njpy", "manual.py"]
"""The programs of a task; only some tasks have a rewritten one."""

Observed = Any
"""The values made or changed by the program that a case's checks inspect."""


@dataclass(frozen=True, slots=True)
class Check:
    """One condition on the state after a case; the text states it."""

    text: str
    holds: Callable[[Observed], bool]
    is_operation: bool = False
    """Whether the check is about the state operation (kind and identity of objects), not values."""


@dataclass(frozen=True, slots=True)
class Case:
    """One way to run a program, and the checks of the state afterwards."""

    name: str
    play: Callable[[ModuleType], Observed]
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """One of the suite's 25 tasks; its natural and manual programs have the same interface."""

    name: str
    cases: tuple[Case, ...]
    needs_python: bool = False
    """Whether the prompt needs closures, classes, generators or method calls: not in table 5."""


def catch_exception_name(action: Callable[[], object]) -> str | None:
    """Return the name of the exception that `action` raises, or None."""
    try:
        action()
    except Exception as error:
        return type(error).__name__
    return None


# ── playing and checking ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Whether one check held, and the exception, if any."""

    case: str
    check: str
    passed: bool
    error: str | None = None


def check_case(case: Case, program: ModuleType) -> tuple[CheckResult, ...]:
    """Play one case and check its state."""
    try:
        observed = case.play(program)
    except Exception as error:
        raised = _format_error(error)
        return tuple(CheckResult(case.name, check.text, False, raised) for check in case.checks)
    return tuple(_run_check(case, check, observed) for check in case.checks)


def _run_check(case: Case, check: Check, observed: Observed) -> CheckResult:
    try:
        return CheckResult(case.name, check.text, check.holds(observed) is True)
    except Exception as error:
        return CheckResult(case.name, check.text, False, _format_error(error))


def _format_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
