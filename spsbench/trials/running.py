"""A run of the benchmark: the remaining trials are run, and each result is written at once.

    run_benchmark(plan, show_message, display)   ->  0, the exit code

The same plan continues at the end of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from spsbench.journal import Journal
from spsbench.results import BenchmarkRun, Trial, read_results
from spsbench.trials.executing import execute_job
from spsbench.trials.playing import Job
from spsbench.trials.progress import RunProgress, ShowResult
from spsbench.trials.schedule import list_remaining_trials, list_trials, refuse_other_conditions
from spsbench.trials.workers import LostTrial, run_jobs

MAX_SERVER_FAILURES = 3
"""Consecutive trials that the model's server may fail before the run stops."""


EXIT_UNFINISHED, EXIT_COST_LIMIT = 1, 3
"""Exit codes: trials are left because a cluster or a server failed; because the limit on cost was reached."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A run of the benchmark, its workers, and its results file."""

    run: BenchmarkRun
    out: Path
    base_url: str | None = None
    jobs: int | None = None
    """Trials at a time; by default one on this machine, or as many as a cluster has threads."""
    scheduler: str | None = None
    """The address of a Dask scheduler."""
    limit_cost: float | None = None
    cache: str | None = None
    keep: str | None = None


def run_benchmark(
    plan: RunPlan,
    show_message: Callable[[str], None],
    display: Callable[[RunProgress], AbstractContextManager[ShowResult]],
) -> int:
    """Run the remaining trials of a plan, print how the run ended, and return the exit code."""
    run = plan.run
    trials = list_trials(run.programs, run.methods, run.model, run.repeats)
    with Journal(plan.out, read_results) as journal:
        results = journal.results
        refuse_other_conditions(results, run.model, run.limits, run.temperature)
        for remark in results.remarks:
            show_message(f"{plan.out}: {remark}")
        to_do = list_remaining_trials(trials, results.results)
        if before := len(trials) - len(to_do):
            show_message(f"{before} of {len(trials)} trials are done in {plan.out}")
        lost, failed, left = list[LostTrial](), 0, len(to_do)
        budget = TrialBudget(plan.limit_cost, results.spent)
        if to_do:
            journal.append(run)
            final = [result for result in results.results if result.is_final]
            progress = RunProgress(trials, final, run.jobs)
            with display(progress) as show:
                jobs = make_jobs(to_do, plan, budget)
                for result in run_jobs(jobs, execute_job, plan.jobs, plan.scheduler):
                    if isinstance(result, LostTrial):
                        lost.append(result)
                        continue
                    journal.append(result)
                    budget.spent += result.cost or 0.0
                    show(result)
                    failed = failed + 1 if result.is_server_failure else 0
                    if failed >= MAX_SERVER_FAILURES:
                        break
            left = len(trials) - sum(result.is_final for result in progress.results.values())
    for trial in lost:
        show_message(f"lost: {trial.trial}: {trial.reason}")
    if left and budget.left == 0.0:
        show_message(
            f"the limit of ${plan.limit_cost:g} is reached, and {left} trials are left; "
            "to continue, run the same command with a higher --limit-cost"
        )
        return EXIT_COST_LIMIT
    if failed >= MAX_SERVER_FAILURES:
        show_message("the model's server failed repeatedly; check it first")
    if left:
        show_message(f"{left} trials are left; the same command continues with them")
        return EXIT_UNFINISHED
    show_message(f"{len(trials)} trials are done; results: {plan.out}")
    return 0


@dataclass(slots=True)
class TrialBudget:
    """The limit on the cost of a results file (state: its cost so far)."""

    limit: float | None
    spent: float

    @property
    def left(self) -> float | None:
        """Return the rest; None without a limit."""
        return None if self.limit is None else max(0.0, self.limit - self.spent)


def make_jobs(trials: Sequence[Trial], plan: RunPlan, budget: TrialBudget) -> Iterator[Job]:
    """Yield the trials as jobs, until the budget is empty."""
    run = plan.run
    for trial in trials:
        if (left := budget.left) == 0.0:
            return
        yield Job(trial, run.limits, run.temperature, plan.base_url, plan.cache, plan.keep, left)
