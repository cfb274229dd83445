"""Play a task and evaluate its checks.

    check_task(task, program)   ->  (CheckResult("words", "the average is 2.0", True), ...)

Every check counts in every run: a check that raises has failed, and if a case raises, all of its checks have.
Credit is partial, as in the paper: a task's score is the share of its checks that hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

from spsbench.task import Case, Check, Observed, Task


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Whether one check held, and the exception, if any."""

    case: str
    check: str
    passed: bool
    error: str | None = None


def check_task(task: Task, program: ModuleType) -> tuple[CheckResult, ...]:
    """Play all cases of a task in order, and check them."""
    return tuple(result for case in task.cases for result in check_case(case, program))


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
