"""A run of the benchmark: the remaining trials are run, and each result is written at once.

    run_benchmark(plan, show_message, display)   ->  RunSummary(done=75, left=0, lost=(), is_spent=False)

The same plan continues where the file ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from spsbench.journal import Journal
from spsbench.results import BenchmarkRun, Trial, TrialLimits, TrialResult, read_results
from spsbench.trials.executing import execute_job
from spsbench.trials.machine import describe_machine, read_timestamp
from spsbench.trials.playing import Job
from spsbench.trials.progress import RunProgress, ShowResult
from spsbench.trials.schedule import list_remaining_trials, list_trials, refuse_other_conditions
from spsbench.trials.workers import LostTrial, run_jobs

ShowMessage = Callable[[str], None]

MAX_SERVER_FAILURES = 3
"""Consecutive trials that the model's server may fail before the run stops."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What to run, and how."""

    programs: tuple[str, ...]
    methods: tuple[str, ...]
    model: str
    repeats: int
    out: Path
    limits: TrialLimits = field(default_factory=TrialLimits)
    temperature: float | None = None
    base_url: str | None = None
    jobs: int | None = None
    """Trials at a time; by default one on this machine, or as many as a cluster has threads."""
    scheduler: str | None = None
    """The address of a Dask scheduler."""
    limit_cost: float | None = None
    cache: str | None = None
    keep: str | None = None


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The state of a plan after a run."""

    done: int
    left: int
    lost: tuple[LostTrial, ...]
    is_spent: bool
    """Whether the limit on cost was reached."""
    is_down: bool = False
    """Whether the run stopped because the model's server failed repeatedly."""


def run_benchmark(
    plan: RunPlan,
    show_message: ShowMessage,
    display: Callable[[RunProgress], AbstractContextManager[ShowResult]],
) -> RunSummary:
    """Run the remaining trials of a plan."""
    trials = list_trials(plan.programs, plan.methods, plan.model, plan.repeats)
    with Journal(plan.out, read_results) as journal:
        results = journal.results
        refuse_other_conditions(results, plan.model, plan.limits, plan.temperature)
        for remark in results.remarks:
            show_message(f"{plan.out}: {remark}")
        to_do = list_remaining_trials(trials, results.results)
        if len(to_do) < len(trials):
            show_message(
                f"{len(trials) - len(to_do)} of {len(trials)} trials are done in {plan.out}"
            )
        if not to_do:
            return RunSummary(len(trials), 0, (), False)
        journal.append(build_run_record(plan))
        final = [result for result in results.results if result.is_final]
        progress = RunProgress(trials, final, plan.jobs or 1)
        budget = TrialBudget(plan.limit_cost, results.spent)
        lost, failed = [], 0
        with display(progress) as show:
            for result in execute_jobs(make_jobs(to_do, plan, budget), plan):
                if isinstance(result, LostTrial):
                    lost.append(result)
                    continue
                journal.append(result)
                budget.add_cost(result)
                show(result)
                failed = failed + 1 if is_server_failure(result) else 0
                if failed >= MAX_SERVER_FAILURES:
                    break
        done = sum(result.is_final for result in progress.results.values())
        is_spent = budget.is_empty and done < len(trials)
        return RunSummary(
            done, len(trials) - done, tuple(lost), is_spent, failed >= MAX_SERVER_FAILURES
        )


def is_server_failure(result: TrialResult) -> bool:
    """Return whether the trial failed because of the model's server."""
    return result.failure is not None and result.failure.category == "server"


class TrialBudget:
    """The limit on the cost of a results file (state: its cost so far)."""

    def __init__(self, limit: float | None, spent: float) -> None:
        self.limit = limit
        self.spent = spent

    @property
    def left(self) -> float | None:
        """What is left; None without a limit."""
        return None if self.limit is None else max(0.0, self.limit - self.spent)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left."""
        return self.left == 0.0

    def add_cost(self, result: TrialResult) -> None:
        """Add the cost of a trial."""
        self.spent += result.cost or 0.0


def make_jobs(trials: Sequence[Trial], plan: RunPlan, budget: TrialBudget) -> Iterator[Job]:
    """Yield the trials as jobs, until the budget is empty."""
    for trial in trials:
        if budget.is_empty:
            return
        yield Job(
            trial, plan.limits, plan.temperature, plan.base_url, plan.cache, plan.keep, budget.left
        )


def execute_jobs(jobs: Iterator[Job], plan: RunPlan) -> Iterator[TrialResult | LostTrial]:
    """Run the jobs on this machine or on a cluster."""
    return run_jobs(jobs, execute_job, plan.jobs, plan.scheduler)


def build_run_record(plan: RunPlan) -> BenchmarkRun:
    """Return the line of a results file for this start."""
    return BenchmarkRun(
        started=read_timestamp(),
        model=plan.model,
        limits=plan.limits,
        temperature=plan.temperature,
        repeats=plan.repeats,
        methods=plan.methods,
        programs=plan.programs,
        jobs=plan.jobs or 1,
        executor="processes" if plan.scheduler is None else "dask",
        **describe_machine(),
    )
