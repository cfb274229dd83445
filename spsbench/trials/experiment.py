"""A resumable experiment: runs trials missing from its file, and writes each result immediately.

    run_experiment(Experiment("repairs", Path("repairs.jsonl"), ..., execute_repair, run), format)
        ->  0, the exit code

The same experiment continues at the end of its file. Trials are run in the order of the jobs, which
should be such that a run stopped early has compared all conditions on the same problems.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Generic, TypeVar

import click

from spsbench.journal import Journal
from spsbench.results import InputError, Results, RunLine
from spsbench.trials.progress import RunProgress, show_message
from spsbench.trials.workers import ExecuteJob, LostTrial, RunnableJob, run_jobs

JobT = TypeVar("JobT", bound=RunnableJob)

EXIT_UNFINISHED, EXIT_COST_LIMIT = 1, 3
"""Exit codes for trials left because a server failed, or the cost limit was reached."""
MAX_SERVER_FAILURES = 3
"""How many trials in a row the model's server may fail before a run stops, with one job at once;
jobs that run at the same time may fail for one reason."""


@dataclass(frozen=True, slots=True)
class Experiment(Generic[JobT]):
    """The trials, the results file, and the run to record."""

    noun: str
    """The plural noun for trials in messages."""
    out: Path | None
    """The results file; None: results are only printed."""
    kinds: tuple[type, ...]
    """The kinds of lines in the file."""
    jobs: Sequence[JobT]
    """All trials, including finished ones."""
    execute: ExecuteJob[JobT, Any]
    run: RunLine | None = None
    """The line in the file for this start."""
    compared: tuple[str, ...] = ()
    """Fields of the run; results with other values cannot be compared with new ones."""
    width: int = 1
    """How many trials run at a time."""
    refuse: Callable[[Results], object] = lambda found: None
    """Raises `InputError` for other reasons."""
    limit_cost: float | None = None
    """No trial starts once the results in the file have cost this much, in US dollars."""

    def is_spent(self, found: Results) -> bool:
        """Return whether the limit on cost is reached."""
        return self.limit_cost is not None and found.spent >= self.limit_cost


def run_experiment(
    experiment: Experiment[JobT], format_results: Callable[[Results], str] | None = None
) -> int:
    """Run the remaining trials of an experiment, print all results, and return the exit code."""
    out, noun, total = experiment.out, experiment.noun, len(experiment.jobs)
    lost: list[LostTrial] = []
    has_stopped = False
    with Journal(out, experiment.kinds) as journal:
        found = journal.read()
        if experiment.run is not None:
            refuse_other_settings(found, experiment.run, experiment.compared, noun)
        experiment.refuse(found)
        for remark in found.remarks:
            show_message(f"{out}: {remark}")
        to_do = list_remaining_jobs(experiment.jobs, found)
        if done := total - len(to_do):
            show_message(f"{done} of {total} {noun} are done in {out}")
        if to_do and experiment.run is not None:
            journal.append(experiment.run)
        if to_do:
            has_stopped = _run_jobs(experiment, to_do, journal, lost)
            found = journal.read()
    if format_results and found.results:
        click.echo(format_results(found))
    left = len(list_remaining_jobs(experiment.jobs, found))
    if left and experiment.is_spent(found):
        show_message(
            f"the limit of ${experiment.limit_cost:g} is reached, and {left} {noun} are left; "
            "to continue, run the same command with a higher --limit-cost"
        )
        return EXIT_COST_LIMIT
    if has_stopped:
        show_message("the model's server failed repeatedly; check it first")
    if left:
        reason = "".join(f"{trial.trial}: {trial.reason}; " for trial in lost[-1:])
        show_message(f"{reason}{left} {noun} are left; the same command continues with them")
        return EXIT_UNFINISHED
    show_message(f"{total} {noun} are done" + (f"; results: {out}" if out else ""))
    return 0


def list_remaining_jobs(jobs: Sequence[JobT], found: Results) -> list[JobT]:
    """Return the jobs of trials without a final result."""
    done = {result.trial for result in found.results if result.is_final}
    return [job for job in jobs if job.trial not in done]


def _run_jobs(
    experiment: Experiment[JobT],
    to_do: Sequence[JobT],
    journal: Journal,
    lost: list[LostTrial],
) -> bool:
    """Run jobs, append results, collect lost trials; return whether too many failed in a row."""
    failed, total = 0, len(experiment.jobs)
    progress = RunProgress(total - len(to_do), total)

    affordable = takewhile(lambda job: not experiment.is_spent(journal.read()), to_do)
    for result in run_jobs(affordable, experiment.execute, experiment.width):
        if isinstance(result, LostTrial):
            lost.append(result)
            failed += 1
            show_message(f"lost: {result.trial}: {result.reason}")
        else:
            journal.append(result)
            failed = failed + 1 if result.is_server_failure else 0
            progress.show(result)
        if failed >= MAX_SERVER_FAILURES - 1 + experiment.width:
            return True
    return False


def refuse_other_settings(found: Results, run: RunLine, compared: Sequence[str], noun: str) -> None:
    """Raise `InputError` if an earlier run has a different value in a compared field."""

    def list_settings(of: RunLine) -> dict[str, object]:
        settings: dict[str, object] = {}
        for name in compared:
            value: Any = getattr(of, name)
            if is_dataclass(value):
                settings |= {each.name: getattr(value, each.name) for each in fields(value)}
            else:
                settings[name] = value
        return {FLAGS.get(name, name.replace("_", "-")): settings[name] for name in settings}

    requested = list_settings(run)
    for earlier in found.runs:
        recorded = list_settings(earlier)
        differing = [
            f"{name} {recorded[name]}, not {value}"
            for name, value in requested.items()
            if recorded[name] != value
        ]
        if differing:
            raise InputError(
                f"the file has {noun} with {', '.join(differing)}; name another file by --out, or"
                " use the same settings"
            )


FLAGS = {"calls": "max-calls"}
"""The options with names that differ from the field of the run."""
