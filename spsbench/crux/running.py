"""A run of `spsbench crux`: the remaining questions are asked, and each result is written at once.

    run_crux(plan, problems, digest, Path("crux.jsonl"), show)    ->  CruxSummary(results, left=0, is_down=False)

The same plan goes on where the file ends.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from spsbench.crux.asking import CruxJob, answer_job
from spsbench.crux.planning import CruxPlan, list_remaining, plan_trials, refuse_other_settings
from spsbench.crux.problems import CruxProblem, sample_problems, trace_problem
from spsbench.crux.results import (
    AnswerResult,
    CruxResult,
    CruxResultSet,
    CruxRun,
    CruxTrial,
    StateTrial,
    read_crux_results,
)
from spsbench.journal import Journal
from spsbench.trials.machine import describe_machine, read_timestamp
from spsbench.trials.progress import format_time_left
from spsbench.trials.running import MAX_SERVER_FAILURES
from spsbench.trials.workers import LostTrial, run_jobs

ShowLine = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class CruxSummary:
    """The state of a plan after a run."""

    results: CruxResultSet
    left: int
    is_down: bool
    """Whether the run stopped because the model's server failed repeatedly."""


def run_crux(
    plan: CruxPlan, problems: Mapping[str, CruxProblem], digest: str, out: Path, show: ShowLine
) -> CruxSummary:
    """Ask the remaining questions of a plan."""
    order = sample_problems(problems, None, plan.seed)
    trace = functools.cache(trace_problem)
    trials = list(plan_trials(plan, order, trace))
    for name in dict.fromkeys(trial.problem for trial in trials):
        trace(problems[name])  # a problem that cannot be used is named before the first question
    run = build_crux_run(plan, len(problems), digest)
    failed = 0
    with Journal(out, read_crux_results) as journal:
        refuse_other_settings(journal.results, run)
        for remark in journal.results.remarks:
            show(f"{out}: {remark}")
        remaining = list_remaining(trials, journal.results)
        if len(remaining) < len(trials):
            show(f"{len(trials) - len(remaining)} of {len(trials)} questions are answered in {out}")
        if remaining:
            journal.append(run)
        progress = CruxProgress(len(trials), len(trials) - len(remaining))
        jobs = make_crux_jobs(remaining, problems, plan)
        for result in run_jobs(jobs, answer_job, plan.jobs, plan.scheduler):
            if isinstance(result, LostTrial):
                show(f"lost: {describe_trial(result.trial)}: {result.reason}")
                failed += 1
            else:
                journal.append(result)
                show(progress.add(result))
                failed = 0
            if failed >= MAX_SERVER_FAILURES:
                break
    with out.open(encoding="utf-8") as lines:
        results = read_crux_results(lines)
    left = len(list_remaining(trials, results))
    return CruxSummary(results, left, failed >= MAX_SERVER_FAILURES)


def make_crux_jobs(
    trials: list[CruxTrial], problems: Mapping[str, CruxProblem], plan: CruxPlan
) -> Iterator[CruxJob]:
    """The trials as jobs."""
    for trial in trials:
        yield CruxJob(
            trial,
            problems[trial.problem],
            plan.seed,
            plan.temperature,
            plan.max_steps,
            plan.seconds,
            plan.base_url,
        )


class CruxProgress:
    """Counts results (state: those so far, and when they began)."""

    def __init__(self, questions: int, done: int) -> None:
        self._of = questions
        self._before = self._done = done
        self._began = time.monotonic()

    def add(self, result: CruxResult) -> str:
        """Count a result; returns it as a line, with the time that is left at the pace so far."""
        self._done += 1
        passed = time.monotonic() - self._began
        left = passed / (self._done - self._before) * (self._of - self._done)
        usage = result.usage
        if isinstance(result, AnswerResult):
            verdict = "right" if result.passed else "wrong" if result.answer else "no answer"
        else:
            verdict = "right" if result.score.exact else f"{result.score.partial:.0%} right"
        about = f", about {format_time_left(left)} left" if self._done < self._of else ""
        return (
            f"[{self._done:{len(str(self._of))}}/{self._of}] {describe_trial(result)}: {verdict} "
            f"({usage.calls} calls, {usage.input_tokens:,} + {usage.output_tokens:,} tokens, "
            f"{usage.seconds:.1f} s){about}"
        )


def describe_trial(trial: CruxTrial) -> str:
    """A trial in a few words."""
    words = trial.action if isinstance(trial, StateTrial) else f"{trial.task} {trial.form}"
    return f"{words} {trial.problem} #{trial.repeat}"


def build_crux_run(plan: CruxPlan, problems: int, digest: str) -> CruxRun:
    """The line of a results file for this start."""
    return CruxRun(
        started=read_timestamp(),
        model=plan.model,
        tasks=plan.tasks,
        forms=plan.forms,
        problems=problems,
        data=digest,
        sample=problems if plan.sample is None else min(plan.sample, problems),
        states=plan.states if "states" in plan.tasks else 0,
        seed=plan.seed,
        repeats=plan.repeats,
        temperature=plan.temperature,
        max_steps=plan.max_steps,
        executor="threads" if plan.scheduler is None else "dask",
        jobs=plan.jobs or 1,
        **describe_machine(),
        note=plan.note,
    )
