"""From what a trial's process left behind to its `TrialResult`.

    TrialOutput(report, traces, exit code)   ─build_trial_result─>   TrialResult(ending="timeout", checks={...}, ...)

A trial that died has reported the cases that it had played; the checks of all others are false.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from spsbench.failures import classify_failure
from spsbench.methods import METHODS, Method
from spsbench.results import Failure, Trial, TrialEnding, TrialResult
from spsbench.suite import digest_program
from spsbench.tally import TraceCounts
from spsbench.task import Task
from spsbench.trials.report import BuildFailed, TrialReport

MAX_MESSAGE_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class TrialOutput:
    """What is left when the process of a trial has ended."""

    started: str
    seconds: float
    """From the start of the process to its end."""
    was_killed: bool
    """By the runner, because its time was up."""
    exit_code: int
    last_line: str
    """The last line of its output."""
    report: TrialReport
    building: TraceCounts
    cases: Sequence[TraceCounts]
    """One for each case of the task, in order."""


def build_trial_result(trial: Trial, task: Task, output: TrialOutput) -> TrialResult:
    """Put together the result of a trial."""
    played = output.report.cases
    checks = {
        f"{case.name}: {check.text}": case.name in played
        and played[case.name].checks.get(check.text, False)
        for case in task.cases
        for check in case.checks
    }
    ending = find_trial_ending(output)
    build_seconds = output.report.built.seconds if output.report.built else output.seconds
    run_seconds = (
        output.seconds - build_seconds
        if ending in ("timeout", "crashed")
        else sum(case.seconds for case in played.values())
    )
    running = sum(output.cases, TraceCounts())
    together = output.building + running
    result = TrialResult(
        **asdict(trial),
        ending=ending,
        checks=checks,
        build_seconds=round(build_seconds, 3),
        run_seconds=round(run_seconds, 3),
        blocks=running.blocks,
        effects=running.effects,
        calls=running.calls,
        build_calls=output.building.calls,
        usage=running.usage,
        build_usage=output.building.usage,
        cost=together.cost,
        failure=None,
        started=output.started,
        digest=digest_program(trial.program, METHODS[trial.method].file),
        reused_calls=together.reused,
        effect_errors=running.errors,
    )
    return replace(result, failure=find_failure(result, task, output))


def find_trial_ending(output: TrialOutput) -> TrialEnding:
    """Return how the process ended: as it reported, or else as seen from outside."""
    if output.report.ending:
        return output.report.ending
    if isinstance(output.report.built, BuildFailed):
        return "not built"
    return "timeout" if output.was_killed else "crashed"


def find_failure(result: TrialResult, task: Task, output: TrialOutput) -> Failure | None:
    """Why not all checks hold: how the trial ended, or else what went wrong in its first case that failed."""
    method, built = METHODS[result.method], output.report.built
    match result.ending:
        case "cost limit":
            return Failure("limit", "the limit on cost was reached")
        case "timeout":
            return Failure("timeout", f"killed after {output.seconds:.0f} seconds")
        case "crashed":
            message = (
                f"the process ended with {_format_exit_code(output.exit_code)}; {output.last_line}"
            )
            return Failure("crash", truncate_first_line(message.rstrip("; ")))
        case "not built":
            message = built.message if isinstance(built, BuildFailed) else ""
            category = classify_failure(message)
            known = category in ("server", "rejected", "limit", "no answer", "unclassified")
            return Failure(category if known else "not built", truncate_first_line(message))
    if not all(result.checks.values()):
        # The program may have caught the error and gone on without an answer.
        for error in sum(output.cases, output.building).unanswered:
            if classify_failure(error) == "server":
                return Failure("server", truncate_first_line(error))
    for case, counts in zip(task.cases, output.cases, strict=True):
        played = output.report.cases[case.name]
        failed = [check for check in case.checks if not played.checks.get(check.text, False)]
        if failed:
            is_operation = any(check.is_operation for check in failed)
            check = f"{case.name}: {failed[0].text}"
            return _make_case_failure(check, played.error, counts, method, is_operation)
    return None


def _make_case_failure(
    check: str, error: str | None, counts: TraceCounts, method: Method, is_operation: bool
) -> Failure:
    category = classify_failure(
        error,
        raised=counts.raised,
        gave_up=counts.has_given_up,
        is_code=method.is_static and counts.calls == 0,
        is_operation=is_operation,
    )
    return Failure(category, truncate_first_line(error or f"check failed: {check}"))


def _format_exit_code(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def truncate_first_line(text: str) -> str:
    """Return the first line of a text, cut where it is long."""
    line = text.strip().split("\n")[0]
    return line if len(line) <= MAX_MESSAGE_CHARACTERS else f"{line[:MAX_MESSAGE_CHARACTERS]}..."
