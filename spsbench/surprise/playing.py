"""Play a case of a task and predict one effect, both from the perfect script and with a mistake.

list_planted_effects()                     PlantedEffect("menu", "one", 1, code, mutation), ...
play_effect(effect, is_wrong, model)       PlayedEffect(Prediction(...), EffectFacts("break", 1, 12)), or None if the case ended before
"""

from __future__ import annotations

import ast
import contextlib
import copy
import io
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any

import click

import njrt
from njrt.effects import NeedsCode, Refusal
from njrt.errors import ModelError
from njrt.events import Event, Performed, Prediction
from njrt.messages import Protocol, Reply, Request
from njrt.models.model import Model
from njrt.observability.listeners import add_listener
from njrt.session.prediction import name_effect_ending
from spsbench import flags
from spsbench.perfect import make_perfect_model
from spsbench.sampling import draw_sample
from spsbench.script import CaseScript
from spsbench.studies.study import format_study_error, is_prompt_too_long
from spsbench.suite import TASK_NAMES, load_natural_program, load_script, load_task
from spsbench.surprise.results import (
    SURPRISE_KINDS,
    EffectFacts,
    MutationKind,
    SurpriseResult,
    SurpriseRun,
    SurpriseTrial,
)
from spsbench.surprise.table import REPORT
from spsbench.task import check_case
from spsbench.trials.answering import load_model
from spsbench.trials.experiment import Experiment, run_experiment
from spsbench.trials.machine import read_timestamp
from spsbench.trials.workers import LostTrial, Workers

STRATA = "kind of mistake"
"""The property used to stratify samples."""
NOT_CHOSEN = "this effect is not predicted"
MAX_CODE_SECONDS = 10.0
_turn = threading.Lock()
"""Cases in one process take turns, because modules and standard output belong to the process."""


@dataclass(frozen=True, slots=True)
class PlantedEffect:
    """An effect of a perfect script, and a mistake in it."""

    program: str
    case: str
    piece: int
    """The number of the effect within the case, from 1."""
    mutation: PlantedMutation

    def __str__(self) -> str:
        return f"{self.program} {self.case} {self.piece}"


def list_planted_effects(choose: Callable[[int], int]) -> Iterator[PlantedEffect]:
    """Yield all effects of all programs that can be mutated, each with one mutation; `choose(n)` returns 0 to n - 1.

    All kinds of mistakes that are possible in an effect's code are equally likely.
    """
    for name in TASK_NAMES:
        for case, lines in load_script(name).lines.items():
            for number, code in enumerate(lines.code, 1):
                if mutations := list_mutations(code):
                    kinds = list(dict.fromkeys(mutation.kind for mutation in mutations))
                    kind = kinds[choose(len(kinds))]
                    alike = [mutation for mutation in mutations if mutation.kind == kind]
                    yield PlantedEffect(name, case, number, alike[choose(len(alike))])


@dataclass(slots=True)
class OneEffectModel:
    """Answers about one effect with a given reply (state: the number of effects so far, and the request)."""

    protocol: Protocol
    name: str
    wanted: int
    reply: Reply | None = None
    request: Request | None = None
    asked: int = 0

    def ask(self, request: Request) -> Reply:
        """Return the reply for the chosen effect; raise `ModelError` for others, or if there is no reply yet."""
        self.asked += 1
        if self.asked == self.wanted:
            self.request = request
            if self.reply is not None:
                return self.reply
        raise ModelError(NOT_CHOSEN)

    async def aask(self, request: Request) -> Reply:
        return self.ask(request)


@dataclass(frozen=True, slots=True)
class PlayedEffect:
    """An effect of a case, its prediction and its result."""

    prediction: Prediction
    facts: EffectFacts | None


def play_effect(
    effect: PlantedEffect, is_wrong: bool, model: Model, seconds_per_reply: float = 600.0
) -> PlayedEffect | None:
    """Play the case of an effect and predict the effect, with its mistake if `is_wrong`.

    The case is played twice, to get the request and then with the reply, so that it does not run while the model
    replies. Raises ModelError if the model gives no reply.
    """
    probe = OneEffectModel(model.protocol, model.name, effect.piece)
    _play_case(effect, is_wrong, probe)
    if probe.request is None:
        return None
    began = time.monotonic()
    reply = model.ask(replace(probe.request, timeout=seconds_per_reply))
    seconds = time.monotonic() - began
    answering = OneEffectModel(model.protocol, model.name, effect.piece, reply)
    performed = _play_case(effect, is_wrong, answering)
    if answering.request != probe.request:
        problem = Prediction(problem="the case does not run twice in the same way")
        return PlayedEffect(problem, None)
    return next(
        PlayedEffect(replace(done.prediction, seconds=seconds), describe_effect(done))
        for done in performed
        if done.prediction and NOT_CHOSEN not in done.prediction.problem
    )


def _play_case(effect: PlantedEffect, is_wrong: bool, predictor: Model) -> list[Performed]:
    code = list(load_script(effect.program).lines[effect.case].code)
    if is_wrong:
        code[effect.piece - 1] = effect.mutation.code
    case = next(case for case in load_task(effect.program).cases if case.name == effect.case)
    performed = PerformedEffects()
    with _turn:
        program = load_natural_program(effect.program)
        remove_listener = add_listener(performed)
        try:
            with (
                njrt.using(
                    model=make_perfect_model(CaseScript((), tuple(code)), "direct"),
                    effects="direct",
                    predict=predictor,
                    cache=False,
                    max_code_seconds=MAX_CODE_SECONDS,
                ),
                contextlib.redirect_stdout(io.StringIO()),
            ):
                check_case(case, program)
        finally:
            remove_listener()
    return performed.events


class PerformedEffects:
    """A listener that keeps the events about effects and their changes (state: these events)."""

    wants_states = True

    def __init__(self) -> None:
        self.events: list[Performed] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, Performed):
            self.events.append(event)


def describe_effect(done: Performed) -> EffectFacts:
    """Return how an effect ended, and how much it changed."""
    is_refused = isinstance(done.result, Refusal | NeedsCode)
    ending = "refused" if is_refused else name_effect_ending(done.result)
    changes = done.state.changes if done.state else {}
    return EffectFacts(ending, len(changes), sum(len(text or "") for text in changes.values()))


# ── jobs: one effect, either as it is or with its mistake ──────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class SurpriseJob:
    """A trial and everything needed to run it."""

    trial: SurpriseTrial
    effect: PlantedEffect
    base_url: str | None
    seconds: float
    """The time limit for one reply."""


def answer_surprise(
    job: SurpriseJob, stop: threading.Event | None = None
) -> SurpriseResult | LostTrial:
    """Predict the effect of a job; it is lost if the model's server fails. `stop` is ignored: a job is short."""
    trial, started = job.trial, read_timestamp()
    predictor = load_model(trial.model, job.base_url)
    assert predictor is not None, "a script cannot predict"
    try:
        found = play_effect(job.effect, trial.planted != "none", predictor, job.seconds)
    except ModelError as error:
        if not is_prompt_too_long(error):
            return LostTrial(trial, format_study_error(error))
        found = PlayedEffect(Prediction(problem=f"no prediction: {type(error).__name__}"), None)
    made = found.prediction if found else Prediction(problem="the case ended before this effect")
    return SurpriseResult(
        **asdict(trial),
        is_surprise=made.is_surprise,
        mismatches=made.mismatches,
        problem=made.problem,
        input_tokens=made.input_tokens,
        output_tokens=made.output_tokens,
        seconds=round(made.seconds, 2),
        started=started,
        facts=found.facts if found else None,
    )


def list_jobs(
    effects: Sequence[PlantedEffect], model: str, base_url: str | None, seconds: float
) -> list[SurpriseJob]:
    """Return two jobs for each effect: one as it is, and one with its mistake."""
    return [
        SurpriseJob(
            SurpriseTrial(effect.program, effect.case, effect.piece, planted, model),
            effect,
            base_url,
            seconds,
        )
        for effect in effects
        for planted in ("none", effect.mutation.kind)
    ]


def predict_effects(values: Mapping[str, Any]) -> int:
    """Predict the remaining effects that the flags request, print the tables, and return the exit code."""
    model, seed = values["model"], values["seed"]
    flags.require_model(model)
    base_url = os.environ.get("NJC_BASE_URL")
    if load_model(model, base_url) is None:
        raise click.UsageError("a script cannot predict; name a model")
    workers = Workers(values["jobs"], values["scheduler"])
    effects = list(list_planted_effects(Random(seed).randrange))
    chosen = draw_sample(
        effects, str, lambda each: each.mutation.kind, values["sample"], Random(seed).random
    )
    run = SurpriseRun(
        effects=len(effects),
        strata=STRATA,
        **{name: values[name] for name in ("model", "sample", "seed", "note")},
        **workers.describe_start(),
    )
    jobs = list_jobs(chosen, model, base_url, values["seconds"])
    compared = ("seed", "effects")
    predictions = Experiment(
        "predictions", values["out"], SURPRISE_KINDS, jobs, answer_surprise, run, compared, workers
    )
    return run_experiment(predictions, REPORT.format_text)


# ── wrong effects, planted in the code of a perfect script ─────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class PlantedMutation:
    """A piece of code with one mistake."""

    kind: MutationKind
    code: str


def list_mutations(code: str) -> tuple[PlantedMutation, ...]:
    """Return all mutations of a piece of code that change its text, in source order."""
    tree = ast.parse(code)
    plain = ast.unparse(tree)
    found = [mutation for mutation in _mutate(tree) if mutation.code != plain]
    return tuple(dict.fromkeys(found))


def _mutate(tree: ast.Module) -> Iterator[PlantedMutation]:
    for index, node in enumerate(ast.walk(tree)):
        match node:
            case ast.Constant(value) if (wrong := _change_value(value)) is not None:
                yield _plant("wrong value", tree, index, ast.Constant(wrong))
            case ast.Break() | ast.Continue() | ast.Return() | ast.Raise():
                yield _plant("dropped jump", tree, index, ast.Pass())
            case (
                ast.Expr(ast.Call())
                | ast.AugAssign()
                | ast.Assign([ast.Subscript() | ast.Attribute()])
            ):
                yield _plant("dropped statement", tree, index, ast.Pass())


def _change_value(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str() if value:
            return f"{value}x" if len(value) < 4 else value[:-2]
        case _:
            return None


def _plant(kind: MutationKind, tree: ast.Module, index: int, wrong: ast.AST) -> PlantedMutation:
    changed = copy.deepcopy(tree)
    target = list(ast.walk(changed))[index]
    replaced = _NodeReplacer(target, wrong).visit(changed)
    return PlantedMutation(kind, ast.unparse(ast.fix_missing_locations(replaced)))


class _NodeReplacer(ast.NodeTransformer):
    def __init__(self, target: ast.AST, wrong: ast.AST) -> None:
        self._target, self._wrong = target, wrong

    def visit(self, node: ast.AST) -> Any:
        return self._wrong if node is self._target else self.generic_visit(node)
