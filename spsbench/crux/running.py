"""A run of `spsbench crux`: the remaining questions are asked, and each result is written at once.

    run_crux(plan, problems, digest, Path("crux.jsonl"), show)    ->  CruxSummary(results, left=0, is_down=False)

The same plan goes on where the file ends.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from spsbench.crux.asking import CruxJob, answer_job
from spsbench.crux.planning import CruxPlan, list_remaining, plan_trials, refuse_other_settings
from spsbench.crux.problems import STRATA, CruxProblem, sample_problems, trace_problem
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
from spsbench.trials.collecting import Workers, collect_results
from spsbench.trials.machine import describe_machine, read_timestamp
from spsbench.trials.progress import format_rest
from spsbench.trials.workers import LostTrial

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
    is_down = False
    with Journal(out, read_crux_results) as journal:
        refuse_other_settings(journal.results, run)
        for remark in journal.results.remarks:
            show(f"{out}: {remark}")
        remaining = list_remaining(trials, journal.results)
        known = len(trials) - len(remaining)
        if known:
            show(f"{known} of {len(trials)} questions are answered in {out}")
        if remaining:
            journal.append(run)
        jobs = list(make_crux_jobs(remaining, problems, plan))

        def show_result(result: CruxResult | LostTrial, done: int, seconds_left: float) -> None:
            show(describe_crux_result(result, known + done, len(trials), seconds_left))

        workers = Workers(plan.jobs, plan.scheduler)
        is_down = collect_results(jobs, answer_job, journal, workers, show_result).is_down
    with out.open(encoding="utf-8") as lines:
        results = read_crux_results(lines)
    return CruxSummary(results, len(list_remaining(trials, results)), is_down)


def make_crux_jobs(
    trials: list[CruxTrial], problems: Mapping[str, CruxProblem], plan: CruxPlan
) -> Iterator[CruxJob]:
    """Yield the trials as jobs."""
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


def describe_crux_result(
    result: CruxResult | LostTrial, number: int, total: int, seconds_left: float
) -> str:
    """Return a result as a line of progress."""
    if isinstance(result, LostTrial):
        return f"lost: {describe_trial(result.trial)}: {result.reason}"
    usage = result.usage
    if isinstance(result, AnswerResult):
        verdict = "right" if result.passed else "wrong" if result.answer else "no answer"
    else:
        verdict = "right" if result.score.exact else f"{result.score.partial:.0%} right"
    return (
        f"[{number:{len(str(total))}}/{total}] {describe_trial(result)}: {verdict} "
        f"({usage.calls} calls, {usage.input_tokens:,} + {usage.output_tokens:,} tokens, "
        f"{usage.seconds:.1f} s){format_rest(number, total, seconds_left)}"
    )


def describe_trial(trial: CruxTrial) -> str:
    """Return a trial in a few words."""
    words = trial.action if isinstance(trial, StateTrial) else f"{trial.task} {trial.form}"
    return f"{words} {trial.problem} #{trial.repeat}"


def build_crux_run(plan: CruxPlan, problems: int, digest: str) -> CruxRun:
    """Return the line of a results file for this start."""
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
        strata=STRATA,
        repeats=plan.repeats,
        temperature=plan.temperature,
        max_steps=plan.max_steps,
        executor="threads" if plan.scheduler is None else "dask",
        jobs=plan.jobs or 1,
        **describe_machine(),
        note=plan.note,
    )
