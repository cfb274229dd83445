"""The one way to a handler: each effect of each set, and each question of `llm`.

    Run("total = 3")    counted  ->  shown to interceptors  ->  predicted  ->  served or refused  ->  Performed

What each effect does to the program is in `njrt.agent.handlers`; this module knows nothing of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from njrt.agent.conversation import EffectServer, ServedEffect
from njrt.agent.handlers import EffectGenerator
from njrt.block import Block
from njrt.decisions import Abort, Interception, InterceptorDecision, Pause, PendingEffect, Reject
from njrt.effects import Effect, EffectResult, Refusal
from njrt.errors import CodeTimeLimitError, TimeLimitError
from njrt.events import Performed, Redact
from njrt.gates import open_gate
from njrt.outcome import Raised
from njrt.scope.scope import Scope
from njrt.session.prediction import EffectPredictor, OpenPrediction
from njrt.session.run_setup import RunSetup, make_ending_error
from njrt.session.states import Observe, observe_nothing, render_variables

if TYPE_CHECKING:
    from njrt.session.gate import RunGate


def make_pending_effect(
    block: Block, scope: Scope, setup: RunSetup, effect: Effect, turn: int, number: int
) -> PendingEffect:
    """Describe an effect of a block to its interceptors."""
    return PendingEffect(
        setup.run,
        setup.parent,
        setup.place,
        turn,
        number,
        effect,
        block.options.effects or "direct",
        block.instruction,
        block.is_async,
        partial(render_variables, scope, block.options),
    )


def make_effect_server(
    serve: Callable[[Effect | Refusal, int], EffectGenerator | ServedEffect],
    setup: RunSetup,
    describe: Callable[[Effect, int, int], PendingEffect],
    observe: Observe = observe_nothing,
    predictor: EffectPredictor | None = None,
    redact: Redact | None = None,
    gate: RunGate | None = None,
    count_touches: Callable[[], int] = int,
) -> EffectServer:
    """Return the one way to a handler: each effect of each set, and each question of `llm`, passes the inner function.

    It is counted, shown to the interceptors, predicted, served or refused, and reported with its result.
    """
    meter = setup.meter

    def serve_effect(effect: Effect | Refusal, turn: int) -> ServedEffect:
        number = meter.count_effect()
        decisions: tuple[InterceptorDecision, ...] = ()
        opened: OpenPrediction | None = None
        served, touches = effect, count_touches()

        def report(result: EffectResult, began: float) -> None:
            at, seconds = time.time(), time.monotonic() - began
            prediction = predictor.compare(opened, result) if predictor and opened else None
            setup.listener(
                Performed(
                    *(setup.run, at, turn, effect, result, seconds, observe(), decisions),
                    *(prediction, redact, count_touches() - touches),
                )
            )

        is_shown = bool(setup.interceptors) or (setup.record and setup.record.has_decisions)
        if is_shown and not isinstance(effect, Refusal):
            with meter.stopped():
                interception = yield describe(effect, turn, number)
            assert isinstance(interception, Interception)
            decisions = interception.decisions
            match interception.last:
                case Reject(words):
                    served = Refusal(words)
                case Abort() | Pause() as ending:
                    error = make_ending_error(ending, decisions[-1].interceptor, setup)
                    report(Raised(error), time.monotonic())
                    raise error
                case _:
                    served = interception.effect
        if predictor and not isinstance(served, Refusal):
            with meter.stopped():
                opened = yield from predictor.predict(served)
        began = time.monotonic()
        try:
            if gate is None:
                result = yield from serve(served, turn)
            else:
                gate.turn = turn
                with open_gate(gate):
                    result = yield from serve(served, turn)
                if gate.ending is not None:
                    raise gate.ending
        except CodeTimeLimitError:
            try:
                meter.check()  # the limit of the whole run, where that is what stopped the code
            except TimeLimitError as over:
                raise over from None
            raise
        report(result, began)
        return result

    return serve_effect
