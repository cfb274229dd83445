"""The one way to a handler: each effect of each set, and each question of `llm`.

    Run("total = 3")    counted  ->  shown to interceptors  ->  predicted  ->  served or refused  ->  Performed

What each effect does to the program is in `njrt.agent.handlers`; this module knows nothing of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from njrt.agent.conversation import EffectServer, ServedEffect
from njrt.agent.handlers import EffectGenerator
from njrt.decisions import Abort, Interception, InterceptorDecision, Pause, PendingEffect, Reject
from njrt.effects import Effect, EffectResult, Refusal
from njrt.errors import CodeTimeLimitError, TimeLimitError
from njrt.events import Performed, Redact
from njrt.gates import open_gate
from njrt.outcome import Raised
from njrt.scope.scope import Scope
from njrt.session.prediction import EffectPredictor, OpenPrediction
from njrt.session.session import Session, make_ending_error
from njrt.session.states import Observe, observe_nothing

if TYPE_CHECKING:
    from njrt.session.gate import RunGate


def make_effect_server(
    serve: Callable[[Effect | Refusal, int], EffectGenerator | ServedEffect],
    session: Session,
    describe: Callable[[Effect, int, int], PendingEffect],
    observe: Observe = observe_nothing,
    predictor: EffectPredictor | None = None,
    redact: Redact | None = None,
    gate: RunGate | None = None,
    scope: Scope | None = None,
) -> EffectServer:
    """Return the one way to a handler: each effect of each set, and each question of `llm`, passes the inner function.

    It is counted, shown to the interceptors, predicted, served or refused, and reported with its result.
    """
    meter = session.meter

    def serve_effect(effect: Effect | Refusal, turn: int) -> ServedEffect:
        number = meter.count_effect()
        decisions: tuple[InterceptorDecision, ...] = ()
        opened: OpenPrediction | None = None
        served, touches = effect, scope.touches if scope else 0

        def report(result: EffectResult, began: float) -> None:
            at, seconds = time.time(), time.monotonic() - began
            prediction = predictor.compare(opened, result) if predictor and opened else None
            session.listener(
                Performed(
                    *(session.run, at, turn, effect, result, seconds, observe(), decisions),
                    *(prediction, redact, scope.touches - touches if scope else 0),
                )
            )

        is_shown = bool(session.interceptors) or (session.record and session.record.has_decisions)
        if is_shown and not isinstance(effect, Refusal):
            with meter.stopped():
                interception = yield describe(effect, turn, number)
            assert isinstance(interception, Interception)
            decisions = interception.decisions
            match interception.last:
                case Reject(words):
                    served = Refusal(words)
                case Abort() | Pause() as ending:
                    error = make_ending_error(ending, decisions[-1].interceptor, session)
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
