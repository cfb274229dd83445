"""A resumable experiment: runs the trials that its file lacks, and writes each result at once.

    run_experiment(Experiment("repairs", Path("repairs.jsonl"), jobs, ...), show_line)
        ->  ExperimentSummary(results, done=93, left=0)

The same experiment continues where its file ends. Trials are run in the order of the jobs: a run that is stopped early
should have compared all conditions on the same problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from spsbench.journal import Journal
from spsbench.trials.collecting import MeasuredResult, Workers, collect_results
from spsbench.trials.machine import describe_machine, read_timestamp
from spsbench.trials.progress import format_rest
from spsbench.trials.schedule import OtherConditionsError
from spsbench.trials.workers import ExecuteJob, LostTrial, RunnableJob

JobT = TypeVar("JobT", bound=RunnableJob)
ResultT = TypeVar("ResultT", bound=MeasuredResult)
ResultsT = TypeVar("ResultsT")
ShowLine = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Experiment(Generic[JobT, ResultT, ResultsT]):
    """The trials, the file of results, and functions that describe both."""

    noun: str
    """The noun for trials in messages, in the plural."""
    out: Path
    workers: Workers
    jobs: Sequence[JobT]
    """All trials, also the finished ones."""
    execute: ExecuteJob[JobT, ResultT | LostTrial]
    run: object
    """The line of the file for this start."""
    read: Callable[[Iterable[str]], ResultsT]
    list_results: Callable[[ResultsT], Iterable[ResultT]]
    refuse: Callable[[ResultsT], None]
    """Raises `OtherConditionsError` if the results of the file cannot be compared with new ones."""
    name: Callable[[Any], str]
    """Return the name of a trial for messages."""
    describe: Callable[[ResultT], tuple[str, str]]
    """Return the verdict on a trial and its usage."""


@dataclass(frozen=True, slots=True)
class ExperimentSummary(Generic[ResultsT]):
    """The state of an experiment after a run."""

    results: ResultsT
    done: int
    left: int
    problem: str = ""
    """Why trials are left: the last one that was lost."""
    is_down: bool = False
    """Whether the run stopped because the model's server failed repeatedly."""


def run_experiment(
    experiment: Experiment[JobT, ResultT, ResultsT], show_line: ShowLine
) -> ExperimentSummary[ResultsT]:
    """Run the remaining trials of an experiment."""
    out, total = experiment.out, len(experiment.jobs)
    with Journal(out, experiment.read) as journal:
        experiment.refuse(journal.results)
        for remark in getattr(journal.results, "remarks", ()):
            show_line(f"{out}: {remark}")
        known = {result.trial for result in experiment.list_results(journal.results)}
        to_do = [job for job in experiment.jobs if job.trial not in known]
        before = total - len(to_do)
        if before:
            show_line(f"{before} of {total} {experiment.noun} are done in {out}")
        if to_do:
            journal.append(experiment.run)

        def show(result: ResultT | LostTrial, done: int, seconds_left: float) -> None:
            name = experiment.name(result.trial)
            if isinstance(result, LostTrial):
                show_line(f"lost: {name}: {result.reason}")
                return
            number = before + done
            verdict, usage = experiment.describe(result)
            rest = format_rest(number, total, seconds_left)
            show_line(f"[{number:{len(str(total))}}/{total}] {name}: {verdict} ({usage}{rest})")

        found = collect_results(to_do, experiment.execute, journal, experiment.workers, show)
    with out.open(encoding="utf-8") as lines:
        results = experiment.read(lines)
    lost = found.lost[-1] if found.lost else None
    problem = f"{experiment.name(lost.trial)}: {lost.reason}" if lost else ""
    done = before + found.done
    return ExperimentSummary(results, done, total - done, problem, found.is_down)


def show_end(summary: ExperimentSummary[Any], noun: str, out: Path, show_line: ShowLine) -> int:
    """Print how an experiment ended; return the exit code."""
    if summary.is_down:
        show_line("the model's server failed repeatedly; check it first")
    if summary.left:
        reason = f"{summary.problem}; " if summary.problem else ""
        show_line(f"{reason}{summary.left} {noun} are left; the same command continues with them")
        return 1
    show_line(f"{summary.done} {noun} are done; results: {out}")
    return 0


def describe_start(workers: Workers, executor: str) -> dict[str, Any]:
    """Return the fields common to all lines of starts: time, machine, workers; `executor` is used without a cluster."""
    return {
        "started": read_timestamp(),
        "jobs": workers.jobs or 1,
        "executor": executor if workers.scheduler is None else "dask",
        **describe_machine(),
    }


def refuse_other_values(runs: Iterable[object], values: Mapping[str, object]) -> None:
    """Raise `OtherConditionsError` if an earlier start had another value of one of these fields."""
    for run in runs:
        for name, now in values.items():
            if (before := getattr(run, name)) != now:
                raise OtherConditionsError(
                    f"the file has results with another {name.replace('_', '-')} ({before}, not {now}); name another "
                    "file by --out, or use the same"
                )
