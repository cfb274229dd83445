"""The trials of a run of `spsbench crux`.

    plan_trials(plan, problems, traces)
        output direct sample_7, output action sample_7, ..., step_into sample_7, ..., output direct sample_3, ...

All questions about a problem are asked before those about the next one: a run that is stopped early has compared all
forms on the same problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from spsbench.crux.problems import CruxProblem
from spsbench.crux.results import (
    AnswerTrial,
    CruxForm,
    CruxTrial,
    StateTrial,
)
from spsbench.crux.scoring import CruxTask
from spsbench.states.actions import ACTIONS, Action, list_steps
from spsbench.states.trace import StateTrace

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
