"""A resumable experiment: runs the trials that its file lacks, and writes each result at once.

    run_experiment(Experiment("repairs", Path("repairs.jsonl"), Workers(4), jobs, ...), format_text)
        ->  0, the exit code

The same experiment continues at the end of its file. Trials are run in the order of the jobs: a run that is stopped early
should have compared all conditions on the same problems.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import click

from spsbench.journal import Journal
from spsbench.results import ExperimentResults, RunLine
from spsbench.trials.collecting import Pace, Workers
from spsbench.trials.progress import format_rest
from spsbench.trials.schedule import OtherConditionsError
from spsbench.trials.workers import ExecuteJob, LostTrial, RunnableJob, run_jobs

JobT = TypeVar("JobT", bound=RunnableJob)
ResultsT = TypeVar("ResultsT", bound=ExperimentResults[Any, Any])


@dataclass(frozen=True, slots=True)
class Experiment(Generic[JobT, ResultsT]):
    """The trials, the file of results, and the run that is to be recorded."""

    noun: str
    """The noun for trials in messages, in the plural."""
    out: Path
    workers: Workers
    jobs: Sequence[JobT]
    """All trials, also the finished ones."""
    execute: ExecuteJob[JobT, Any]
    run: RunLine
    """The line of the file for this start."""
    read: Callable[[Iterable[str]], ResultsT]
    compared: tuple[str, ...] = ()
    """Fields of the run: results with another value cannot be compared with new ones."""
    refuse: Callable[[ResultsT], None] = lambda results: None
    """Raises `OtherConditionsError` for other reasons."""


def run_experiment(
    experiment: Experiment[JobT, ResultsT], format_results: Callable[[ResultsT], str]
) -> int:
    """Run the remaining trials of an experiment, print all results, and return the exit code."""
    out, total, show_line = experiment.out, len(experiment.jobs), partial(click.echo, err=True)
    with Journal(out, experiment.read) as journal:
        for name in experiment.compared:
            now = getattr(experiment.run, name)
            for before in (getattr(run, name) for run in journal.results.runs):
                if before != now:
                    raise OtherConditionsError(
                        f"the file has results with another {name.replace('_', '-')} ({before}, not {now}); name another "
                        "file by --out, or use the same"
                    )
        experiment.refuse(journal.results)
        for remark in journal.results.remarks:
            show_line(f"{out}: {remark}")
        known = {result.trial for result in journal.results.results}
        to_do = [job for job in experiment.jobs if job.trial not in known]
        done = total - len(to_do)
        if done:
            show_line(f"{done} of {total} {experiment.noun} are done in {out}")
        if to_do:
            journal.append(experiment.run)

        pace, workers = Pace(time.monotonic), experiment.workers
        failed, lost = 0, list[LostTrial]()

        def take() -> Iterator[JobT]:
            for job in to_do:
                pace.begin(job.trial)
                yield job

        for result in run_jobs(take(), experiment.execute, workers.jobs, workers.scheduler):
            pace.end(result.trial)
            if isinstance(result, LostTrial):
                lost.append(result)
                failed += 1
                show_line(f"lost: {result.trial}: {result.reason}")
            else:
                journal.append(result)
                done += 1
                failed = 0
                verdict, usage = result.describe()
                seconds = pace.estimate_seconds_left(total - done - len(lost))
                place = f"[{done:{len(str(total))}}/{total}]"
                rest = format_rest(done, total, seconds)
                show_line(f"{place} {result}: {verdict} ({usage}{rest})")
            if failed >= workers.most_failures:
                break
    with out.open(encoding="utf-8") as lines:
        results = experiment.read(lines)
    if results.results:
        click.echo(format_results(results))
    if failed >= workers.most_failures:
        show_line("the model's server failed repeatedly; check it first")
    if left := total - done:
        reason = "".join(f"{trial.trial}: {trial.reason}; " for trial in lost[-1:])
        rest = f"{left} {experiment.noun} are left; the same command continues with them"
        show_line(f"{reason}{rest}")
        return 1
    show_line(f"{done} {experiment.noun} are done; results: {out}")
    return 0
