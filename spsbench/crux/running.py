"""A run of `spsbench crux`: the remaining questions are asked, and each result is written at once.

run_crux(plan, problems, digest, Path("crux.jsonl"), show)    ->  ExperimentSummary(results, done=80, left=0)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from spsbench.crux.asking import CruxJob, answer_job
from spsbench.crux.problems import STRATA, CruxProblem, sample_problems, trace_problem
from spsbench.crux.results import (
    AnswerResult,
    AnswerTrial,
    CruxForm,
    CruxResult,
    CruxResultSet,
    CruxRun,
    CruxTrial,
    StateTrial,
    read_crux_results,
)
from spsbench.crux.scoring import CruxTask
from spsbench.experiment import (
    Experiment,
    ExperimentSummary,
    ShowLine,
    describe_start,
    refuse_other_values,
    run_experiment,
)
from spsbench.states.actions import ACTIONS, Action, list_steps
from spsbench.states.trace import StateTrace
from spsbench.trials.collecting import Workers


def run_crux(
    plan: CruxPlan, problems: Mapping[str, CruxProblem], digest: str, out: Path, show: ShowLine
) -> ExperimentSummary[CruxResultSet]:
    """Ask the remaining questions of a plan."""
    order = sample_problems(problems, None, plan.seed)
    trace = functools.cache(trace_problem)
    trials = list(plan_trials(plan, order, trace))
    for name in dict.fromkeys(trial.problem for trial in trials):
        trace(problems[name])  # a problem that cannot be used is named before the first question
    run = build_crux_run(plan, len(problems), digest)
    compared = {name: getattr(run, name) for name in ("data", "seed", "temperature", "max_steps")}
    jobs = [
        CruxJob(
            trial,
            problems[trial.problem],
            plan.seed,
            plan.temperature,
            plan.max_steps,
            plan.seconds,
            plan.base_url,
        )
        for trial in trials
    ]
    questions: Experiment[CruxJob, CruxResult, CruxResultSet] = Experiment(
        "questions",
        out,
        Workers(plan.jobs, plan.scheduler),
        jobs,
        answer_job,
        run,
        read_crux_results,
        lambda results: (*results.answers, *results.states),
        lambda results: refuse_other_values(results.runs, compared),
        name_trial,
        describe_result,
    )
    return run_experiment(questions, show)


def describe_result(result: CruxResult) -> tuple[str, str]:
    """Return the verdict on an answer or a state, and its usage."""
    usage = result.usage
    if isinstance(result, AnswerResult):
        verdict = "right" if result.passed else "wrong" if result.answer else "no answer"
    else:
        verdict = "right" if result.score.exact else f"{result.score.partial:.0%} right"
    tokens = f"{usage.input_tokens:,} + {usage.output_tokens:,} tokens"
    return verdict, f"{usage.calls} calls, {tokens}, {usage.seconds:.1f} s"


def name_trial(trial: CruxTrial) -> str:
    """Return a trial in a few words."""
    words = trial.action if isinstance(trial, StateTrial) else f"{trial.task} {trial.form}"
    return f"{words} {trial.problem} #{trial.repeat}"


def build_crux_run(plan: CruxPlan, problems: int, digest: str) -> CruxRun:
    """Return the line of a results file for this start."""
    return CruxRun(
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
        note=plan.note,
        **describe_start(Workers(plan.jobs, plan.scheduler), "threads"),
    )


# ── the trials of a run of `spsbench crux` ─────────────────────────────────────────────────────────


PlannedTask = Literal["output", "input", "states"]

TASKS: tuple[CruxTask, ...] = ("output", "input")


@dataclass(frozen=True, slots=True)
class CruxPlan:
    """What to ask, and how."""

    tasks: tuple[PlannedTask, ...]
    forms: tuple[CruxForm, ...]
    model: str
    sample: int | None = None
    """Problems for outputs and inputs; None for all."""
    states: int = 100
    """Steps for each action."""
    seed: int = 1
    repeats: int = 1
    temperature: float = 0.0
    max_steps: int = 40
    seconds: float = 120.0
    base_url: str | None = None
    jobs: int | None = None
    scheduler: str | None = None
    note: str = ""


def plan_trials(
    plan: CruxPlan, problems: Sequence[CruxProblem], trace: Callable[[CruxProblem], StateTrace]
) -> Iterator[CruxTrial]:
    """Yield all trials of a plan, in order; `problems` are in the order of the sample."""
    answers = problems[: plan.sample] if {"output", "input"} & set(plan.tasks) else []
    steps = _choose_problems_with_steps(plan, problems, trace) if "states" in plan.tasks else []
    for repeat in range(1, plan.repeats + 1):
        for problem, states in zip_longest(answers, steps):
            if problem is not None:
                for task in TASKS:
                    if task in plan.tasks:
                        for form in plan.forms:
                            yield AnswerTrial(task, form, problem.id, plan.model, repeat)
            for action, name in states or ():
                yield StateTrial(action, name, plan.model, repeat)


def _choose_problems_with_steps(
    plan: CruxPlan, problems: Sequence[CruxProblem], trace: Callable[[CruxProblem], StateTrace]
) -> list[list[tuple[Action, str]]]:
    """For each number up to the wanted one, the actions and the problem of each: the first that have a step."""
    columns: dict[Action, list[tuple[Action, str]]] = {action: [] for action in ACTIONS}
    for problem in problems:
        wanting = [action for action in ACTIONS if len(columns[action]) < plan.states]
        if not wanting:
            break
        states = trace(problem).states
        for action in wanting:
            if list_steps(states, action):
                columns[action].append((action, problem.id))
    rows = zip_longest(*columns.values())
    return [[pair for pair in row if pair is not None] for row in rows]
