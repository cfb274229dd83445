"""A run of repairs: those that a file does not have yet are run, and each result is written at once.

    run_repairs(plan, problems, show_line)   ->  RepairSummary(done=93, left=0)

The same plan continues where the file ends. Repairs of one problem under all conditions follow each other, so that a
run which is stopped early has compared the conditions on the same problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spsbench.journal import Journal
from spsbench.repair.problems import STRATA, RepairProblem
from spsbench.repair.results import (
    Condition,
    RepairResult,
    RepairResults,
    RepairRun,
    RepairSettings,
    RepairTrial,
    read_repairs,
)
from spsbench.repair.solving import RepairJob, execute_repair
from spsbench.trials.collecting import Workers, collect_results
from spsbench.trials.machine import describe_machine, read_timestamp
from spsbench.trials.progress import format_rest
from spsbench.trials.workers import LostTrial


class OtherSettingsError(ValueError):
    """A file has repairs of the same model with another budget."""


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """What to run, and how."""

    conditions: tuple[Condition, ...]
    model: str
    samples: int
    settings: RepairSettings
    out: Path
    data: Mapping[str, str]
    size: int
    """Of the data, before problems were drawn."""
    sample: int | None = None
    seed: int = 0
    base_url: str | None = None
    jobs: int | None = None
    scheduler: str | None = None
    rationales: Mapping[str, str] | None = None
    """By problem."""
    rationale_model: str = ""
    note: str = ""
    seconds: float = 600.0
    """For one reply."""


@dataclass(frozen=True, slots=True)
class RepairSummary:
    """The state of a plan after a run."""

    done: int
    left: int
    problem: str = ""
    """Why the run stopped early: the model's server failed, a cluster lost jobs."""


def run_repairs(
    plan: RepairPlan, problems: Sequence[RepairProblem], show_line: Callable[[str], None]
) -> RepairSummary:
    """Run the remaining repairs of a plan."""
    trials = list_repair_trials(plan, problems)
    by_name = {problem.name: problem for problem in problems}
    with Journal(plan.out, read_repairs) as journal:
        refuse_other_settings(plan, journal.results)
        refuse_other_rationales(plan, journal.results)
        known = {result.trial for result in journal.results.results}
        to_do = [trial for trial in trials if trial not in known]
        if not to_do:
            return RepairSummary(len(trials), 0)
        journal.append(build_repair_run(plan))
        jobs = [make_job(trial, by_name[trial.problem], plan) for trial in to_do]
        before = len(trials) - len(to_do)

        def show(result: RepairResult | LostTrial, done: int, seconds_left: float) -> None:
            show_line(describe_repair(result, before + done, len(trials), seconds_left))

        workers = Workers(plan.jobs, plan.scheduler)
        found = collect_results(jobs, execute_repair, journal, workers, show)
    problem = f"{found.lost[-1].trial.problem}: {found.lost[-1].reason}" if found.lost else ""
    return RepairSummary(before + found.done, len(to_do) - found.done, problem)


def list_repair_trials(
    plan: RepairPlan, problems: Sequence[RepairProblem]
) -> tuple[RepairTrial, ...]:
    """Return all repairs: sample by sample, problem by problem, condition by condition.

    The condition `rationale` is left out for problems without one.
    """
    return tuple(
        RepairTrial(problem.name, condition, plan.model, sample)
        for sample in range(1, plan.samples + 1)
        for problem in problems
        for condition in plan.conditions
        if condition != "rationale" or (plan.rationales or {}).get(problem.name)
    )


def make_job(trial: RepairTrial, problem: RepairProblem, plan: RepairPlan) -> RepairJob:
    """Return a repair with what is needed to run it."""
    rationale = (
        (plan.rationales or {}).get(trial.problem, "") if trial.condition == "rationale" else ""
    )
    return RepairJob(trial, problem, plan.settings, plan.base_url, rationale, plan.seconds)


def refuse_other_settings(plan: RepairPlan, results: RepairResults) -> None:
    """Raise `OtherSettingsError` where the file has repairs of this model with another budget or other data."""
    for run in results.runs:
        if run.model == plan.model and run.settings != plan.settings:
            raise OtherSettingsError(
                f"{plan.out} has repairs by {run.model} with another budget ({run.settings}); use another --out"
            )
        changed = [
            name for name, digest in run.data.items() if plan.data.get(name, digest) != digest
        ]
        if changed:
            raise OtherSettingsError(
                f"{plan.out} has repairs of another {changed[0]}; use another --out"
            )


def refuse_other_rationales(plan: RepairPlan, results: RepairResults) -> None:
    """Raise `OtherSettingsError` where a repair of the file was shown another rationale than this plan has."""
    for result in results.results:
        now = (plan.rationales or {}).get(result.problem)
        is_shown = result.condition == "rationale" and result.model == plan.model
        if is_shown and now is not None and result.shown_rationale != now:
            raise OtherSettingsError(
                f"{plan.out} has a repair of {result.problem} with another rationale; use another --out"
            )


def build_repair_run(plan: RepairPlan) -> RepairRun:
    """Return the line of a file for this start."""
    return RepairRun(
        started=read_timestamp(),
        model=plan.model,
        data=plan.data,
        problems=plan.size,
        sample=plan.sample,
        seed=plan.seed,
        strata=STRATA,
        conditions=plan.conditions,
        samples=plan.samples,
        settings=plan.settings,
        rationales=plan.rationale_model,
        note=plan.note,
        jobs=plan.jobs or 1,
        executor="processes" if plan.scheduler is None else "dask",
        **describe_machine(),
    )


def describe_repair(
    result: RepairResult | LostTrial, number: int, total: int, seconds_left: float
) -> str:
    """One result as a line of progress."""
    trial = result.trial
    name = f"{trial.problem} {trial.condition} #{trial.sample}"
    if isinstance(result, LostTrial):
        return f"lost: {name}: {result.reason}"
    last = result.replies[-1].verdict if result.replies else result.error
    verdict = "passes" if result.passed else " ".join(last.split())[:80]
    return (
        f"[{number}/{total}] {name}: {verdict} "
        f"({result.input_tokens:,} + {result.output_tokens:,} tokens, {result.seconds:.1f} s{format_rest(number, total, seconds_left)})"
    )


def find_differing_verdicts(
    results: Sequence[RepairResult],
    problems: Sequence[RepairProblem],
    passes: Callable[[RepairProblem, str], bool],
    show_line: Callable[[str], None],
) -> Iterator[RepairResult]:
    """Yield the results whose verdict is another one when the programs of all replies are tested again."""
    by_name = {problem.name: problem for problem in problems}
    for number, result in enumerate(results, 1):
        problem = by_name.get(result.problem)
        if problem is None:
            continue
        again = any(passes(problem, reply.code) for reply in result.replies)
        show_line(f"[{number}/{len(results)}] {result.problem} {result.condition} #{result.sample}")
        if again != result.passed:
            yield result
