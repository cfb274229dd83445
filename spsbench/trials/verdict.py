"""From what a trial left behind to its `Result`.

    Remains(report lines, traces, exit)   ─result_of─>   Result(ending="timeout", checks={...}, ...)

A trial that died has told of the cases that it had played; the checks of all others are false.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spsbench.failures import classify_failure
from spsbench.methods import METHODS, Method
from spsbench.results import Failure, Trial, TrialEnding, TrialResult
from spsbench.tally import TraceCounts
from spsbench.task import Task

MAX_MESSAGE_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class TrialOutput:
    """What is there when the process of a trial is gone."""

    started: str
    seconds: float
    """From the start of the process to its end."""
    was_killed: bool
    """By the runner, for its time was up."""
    exit_code: int
    last_words: str
    """The last line of its output."""
    report: Sequence[Mapping[str, Any]]
    building: TraceCounts
    cases: Sequence[TraceCounts]
    """One for each case of the task, in order."""


def parse_report(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """The lines of a report; the last may be cut off."""
    for line in lines:
        if line.endswith("\n"):
            yield json.loads(line)


def build_trial_result(trial: Trial, task: Task, remains: TrialOutput) -> TrialResult:
    """Put together what a trial gave."""
    said = {key: line for line in remains.report for key in line}
    played = {line["case"]: line for line in remains.report if "case" in line}
    checks = {
        f"{case.name}: {check.text}": played.get(case.name, {"checks": {}})["checks"].get(
            check.text, False
        )
        for case in task.cases
        for check in case.checks
    }
    ending = find_trial_ending(said, remains)
    build_seconds = find_build_seconds(said, remains)
    run_seconds = sum(line["seconds"] for line in played.values())
    if ending in ("timeout", "crashed"):
        run_seconds = remains.seconds - build_seconds
    running = sum(remains.cases, TraceCounts())
    together = remains.building + running
    result = TrialResult(
        trial,
        ending,
        checks,
        round(build_seconds, 3),
        round(run_seconds, 3),
        running.blocks,
        running.effects,
        running.calls,
        remains.building.calls,
        running.usage,
        remains.building.usage,
        together.cost,
        None,
        remains.started,
        together.reused,
        running.errors,
    )
    return replace(result, failure=find_failure(result, task, said, played, remains))


def find_trial_ending(said: Mapping[str, Mapping[str, Any]], remains: TrialOutput) -> TrialEnding:
    """How the process ended: as it says itself, or else as it is seen from outside."""
    if "ending" in said:
        ending: TrialEnding = said["ending"]["ending"]
        return ending
    if "not built" in said:
        return "not built"
    return "timeout" if remains.was_killed else "crashed"


def find_build_seconds(said: Mapping[str, Mapping[str, Any]], remains: TrialOutput) -> float:
    """What building took, or has taken when it was interrupted."""
    if "built" in said:
        return float(said["built"]["built"])
    return float(said["not built"]["seconds"] if "not built" in said else remains.seconds)


def find_failure(
    result: TrialResult,
    task: Task,
    said: Mapping[str, Mapping[str, Any]],
    played: Mapping[str, Mapping[str, Any]],
    remains: TrialOutput,
) -> Failure | None:
    """Why not all checks hold: how the trial ended, or else what went wrong in its first case that failed."""
    method = METHODS[result.trial.method]
    match result.ending:
        case "cost limit":
            return Failure("limit", "the limit on cost was reached")
        case "timeout":
            return Failure("timeout", f"killed after {remains.seconds:.0f} seconds")
        case "crashed":
            words = f"the process ended with {_format_exit_code(remains.exit_code)}; {remains.last_words}"
            return Failure("crash", truncate_first_line(words.rstrip("; ")))
        case "not built":
            message = str(said["not built"]["not built"])
            category = classify_failure(message)
            known = category in ("server", "rejected", "limit", "no answer", "unclassified")
            return Failure(category if known else "not built", truncate_first_line(message))
    if not all(result.checks.values()):
        for error in sum(remains.cases, remains.building).unanswered:
            if (
                classify_failure(error) == "server"
            ):  # the program may have gone on without an answer
                return Failure("server", truncate_first_line(error))
    for case, tally in zip(task.cases, remains.cases, strict=True):
        line = played[case.name]
        failed = [text for text, holds in line["checks"].items() if not holds]
        if failed:
            return _make_case_failure(f"{case.name}: {failed[0]}", line["error"], tally, method)
    return None


def _make_case_failure(
    check: str, error: str | None, tally: TraceCounts, method: Method
) -> Failure:
    category = classify_failure(
        error,
        raised=tally.raised,
        gave_up=tally.has_given_up,
        is_code=method.is_static and tally.calls == 0,
    )
    return Failure(category, truncate_first_line(error or f"not so: {check}"))


def _format_exit_code(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def truncate_first_line(text: str) -> str:
    """The first line of a text, cut where it is long."""
    line = text.strip().split("\n")[0]
    return line if len(line) <= MAX_MESSAGE_CHARACTERS else f"{line[:MAX_MESSAGE_CHARACTERS]}..."
