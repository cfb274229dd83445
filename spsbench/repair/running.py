"""A run of repairs: those that a file does not have yet are run, and each result is written at once.

    run_repairs(plan, problems, show_line)   ->  ExperimentSummary(results, done=93, left=0)

The same plan continues where the file ends. Repairs of one problem under all conditions follow each other, so that a
run which is stopped early has compared the conditions on the same problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spsbench.experiment import (
    Experiment,
    ExperimentSummary,
    ShowLine,
    describe_start,
    run_experiment,
)
from spsbench.repair.demonstrations import Demonstration, choose_similar
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
from spsbench.trials.collecting import Workers
from spsbench.trials.schedule import OtherConditionsError


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
    turns: Mapping[Condition, Turn] = field(default_factory=dict)
    """The earlier turns of the conditions that show them."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The right repairs of an earlier turn, and the head of the SHA-256 of its file."""

    digest: str
    demonstrations: tuple[Demonstration, ...]


def run_repairs(
    plan: RepairPlan, problems: Sequence[RepairProblem], show_line: ShowLine
) -> ExperimentSummary[RepairResults]:
    """Run the remaining repairs of a plan."""
    by_name = {problem.name: problem for problem in problems}
    workers = Workers(plan.jobs, plan.scheduler)
    trials = list_repair_trials(plan, problems)
    return run_experiment(
        Experiment(
            "repairs",
            plan.out,
            workers,
            [make_job(trial, by_name[trial.problem], plan) for trial in trials],
            execute_repair,
            build_repair_run(plan, workers),
            read_repairs,
            lambda found: found.results,
            lambda found: refuse_other_plans(plan, found),
            name_trial,
            describe_result,
        ),
        show_line,
    )


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
    turn = plan.turns.get(trial.condition)
    shown = choose_similar(turn.demonstrations, problem) if turn is not None else ()
    return RepairJob(trial, problem, plan.settings, plan.base_url, rationale, plan.seconds, shown)


def refuse_other_plans(plan: RepairPlan, found: RepairResults) -> None:
    """Raise `OtherConditionsError` if a file has repairs with another budget, other data or another rationale."""
    problem = next(_list_differences(plan, found), None)
    if problem is not None:
        raise OtherConditionsError(f"{plan.out} has {problem}; name another file by --out")


def _list_differences(plan: RepairPlan, found: RepairResults) -> Iterator[str]:
    for run in found.runs:
        if run.model == plan.model and run.settings != plan.settings:
            yield f"repairs by {run.model} with another budget ({run.settings})"
        for name, digest in run.data.items():
            if plan.data.get(name, digest) != digest:
                yield f"repairs of another {name}"
        for condition, turn in plan.turns.items():
            if run.turns.get(condition, turn.digest) != turn.digest:
                yield f"repairs of the condition {condition} with another file of --turn"
    for result in found.results:
        now = (plan.rationales or {}).get(result.problem)
        is_shown = result.condition == "rationale" and result.model == plan.model
        if is_shown and now is not None and result.shown_rationale != now:
            yield f"a repair of {result.problem} with another rationale"


def build_repair_run(plan: RepairPlan, workers: Workers) -> RepairRun:
    """Return the line of a file for this start."""
    return RepairRun(
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
        turns={name: turn.digest for name, turn in plan.turns.items()},
        **describe_start(workers, "processes"),
    )


def name_trial(trial: RepairTrial) -> str:
    """Return a repair in a few words."""
    return f"{trial.problem} {trial.condition} #{trial.sample}"


def describe_result(result: RepairResult) -> tuple[str, str]:
    """Return the verdict of the tests on a repair, and what it took."""
    last = result.replies[-1].verdict if result.replies else result.error
    verdict = "passes" if result.passed else " ".join(last.split())[:80]
    tokens = f"{result.input_tokens:,} + {result.output_tokens:,} tokens"
    return verdict, f"{tokens}, {result.seconds:.1f} s"


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
        show_line(f"[{number}/{len(results)}] {name_trial(result)}")
        if again != result.passed:
            yield result
