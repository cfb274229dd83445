"""Playing a case of a task with one effect predicted: as the perfect script has it, and with a mistake.

list_planted_effects()                     PlantedEffect("menu", "one", 1, code, mutation), ...
play_effect(effect, is_wrong, model)       Prediction(...), or None where the case ended before the effect
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import njrt
from njrt.errors import ModelError
from njrt.messages import Protocol, Reply, Request
from njrt.models.model import Model
from njrt.prediction import Prediction
from spsbench.checks import check_case
from spsbench.perfect import make_perfect_model
from spsbench.script import CaseScript
from spsbench.suite import TASK_NAMES, load_natural_program, load_script, load_task
from spsbench.surprise.mutations import PlantedMutation, list_mutations

NOT_CHOSEN = "this effect is not predicted"
MAX_CODE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class PlantedEffect:
    """An effect of a perfect script, and a mistake in it."""

    program: str
    case: str
    piece: int
    """From 1."""
    mutation: PlantedMutation


def list_planted_effects(choose: Callable[[int], int]) -> Iterator[PlantedEffect]:
    """All effects of all programs that can be mutated, each with one mutation; `choose(n)` is below n.

    Of the kinds of mistakes that its code can have, each is as likely.
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
    """A model that is asked about one effect only (state: how many effects there were)."""

    model: Model
    wanted: int
    asked: int = 0

    @property
    def protocol(self) -> Protocol:
        """That of the model."""
        return self.model.protocol

    @property
    def name(self) -> str:
        """That of the model."""
        return self.model.name

    def ask(self, request: Request) -> Reply:
        """The model's answer, or a `ModelError` for all other effects."""
        self._count()
        return self.model.ask(replace(request, timeout=900.0))

    async def aask(self, request: Request) -> Reply:
        """Do the same without blocking the event loop."""
        self._count()
        return await self.model.aask(replace(request, timeout=900.0))

    def _count(self) -> None:
        self.asked += 1
        if self.asked != self.wanted:
            raise ModelError(NOT_CHOSEN)


def play_effect(effect: PlantedEffect, is_wrong: bool, model: Model) -> Prediction | None:
    """Play the case of an effect, which is predicted; with `is_wrong`, it has its mistake."""
    code = list(load_script(effect.program).lines[effect.case].code)
    if is_wrong:
        code[effect.piece - 1] = effect.mutation.code
    case = next(case for case in load_task(effect.program).cases if case.name == effect.case)
    program = load_natural_program(effect.program)
    with (
        njrt.using(
            model=make_perfect_model(CaseScript((), tuple(code)), "direct"),
            effects="direct",
            predict=OneEffectModel(model, effect.piece),
            cache=False,
            max_code_seconds=MAX_CODE_SECONDS,
        ),
        njrt.watch() as watch,
        contextlib.redirect_stdout(io.StringIO()),
    ):
        check_case(case, program)
    predictions = [done.prediction for run in watch.runs for done in run.effects if done.prediction]
    return next(
        (found for found in predictions if NOT_CHOSEN not in found.problem),
        None,
    )
