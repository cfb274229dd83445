"""Running the tests of a program in a process with limits.

    run_tests("def total(prices): return 0", "assert total([3]) == 3", seconds=5.0)
        ->  FailedTests("assert total([3]) == 3", "`total([3])` is 0, but should be 3", ExecutionTrace(...))

The tests run once without recording; a failed one is run again for its steps, because recording is slow. The
process inherits no keys, and works in an empty temporary directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from njc.evaluation.execution_trace import ExecutionTrace
from njc.worker import open_worker

STARTUP_SECONDS = 20.0
DEFAULT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class PassedTests:
    """The tests raised nothing."""


@dataclass(frozen=True, slots=True)
class FailedTests:
    """The first statement of the tests that failed."""

    test: str
    """Empty where the program itself could not be run."""
    problem: str
    """Such as "`total([3])` is 0, but should be 3"."""
    trace: ExecutionTrace = field(default_factory=ExecutionTrace)
    """The steps of the program in this statement."""

    @property
    def is_unended(self) -> bool:
        """Whether the tests reached their limit of time."""
        return self.problem.startswith("it did not end within")


TestOutcome = PassedTests | FailedTests


def run_tests(
    code: str,
    tests: str,
    seconds: float = DEFAULT_SECONDS,
    *,
    traces: bool = False,
    startup_seconds: float = STARTUP_SECONDS,
) -> TestOutcome:
    """Run the tests of a program, at most `seconds` long; with `traces`, a failure has its steps.

    A process that does not stop itself is killed after `startup_seconds` more.
    """
    outcome = _run_once(code, tests, seconds, startup_seconds, traces=False)
    if not traces or isinstance(outcome, PassedTests):
        return outcome
    traced = _run_once(code, tests, seconds, startup_seconds, traces=True)
    # A failure that depends on time or chance may be another one, or none, the second time.
    is_same = isinstance(traced, FailedTests) and traced.test == outcome.test
    return replace(outcome, trace=traced.trace) if is_same else outcome  # type: ignore[union-attr]


def _run_once(
    code: str, tests: str, seconds: float, startup_seconds: float, *, traces: bool
) -> TestOutcome:
    task = {"code": code, "tests": tests, "seconds": seconds, "traces": traces}
    with open_worker("njc.evaluation.repair.tests_worker") as worker:
        worker.send(task)
        try:
            verdict = worker.receive(seconds + startup_seconds)
        except TimeoutError:
            return FailedTests("", f"it did not end within {seconds:g} seconds")
    if verdict is None:
        return FailedTests(
            "", "its process ended early: it crashed, exited or used too much memory"
        )
    return _read_verdict(verdict)


def _read_verdict(verdict: Mapping[str, Any]) -> TestOutcome:
    if verdict["passed"]:
        return PassedTests()
    return FailedTests(
        verdict["test"], verdict["problem"], ExecutionTrace.from_json(verdict["trace"])
    )
