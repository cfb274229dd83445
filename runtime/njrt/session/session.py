"""One run of a block, assembled: its conversation behind the handlers, its model behind the layers.

    set_up_run(place, options, project)     settings -> options -> recorder -> model -> layers
    make_session(block, scope, setup)       a Session, ready to be driven

    effects  every effect of every set passes `make_effect_server`: counted, shown to interceptors, served, reported
    model    the model wrapped in Metered(Notified(Recorder(Cache(model))))

Each capability is a wrapper; the conversation, the handlers and the models know nothing of them. A call that
a limit refuses was never made: no account and no trace has it.
"""

from __future__ import annotations

import itertools
import os
import time
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from njrt.agent.answer import AnswerForm, make_answer_form
from njrt.agent.attachments import find_attachments
from njrt.agent.conversation import (
    AnswerConversation,
    CodeNeeded,
    Conversation,
    EffectServer,
    ServedEffect,
    converse,
)
from njrt.agent.handlers import EffectGenerator, Handlers
from njrt.agent.prompt import build_opening
from njrt.block import Block
from njrt.decisions import (
    Abort,
    Interception,
    InterceptorDecision,
    OpenInterceptor,
    Pause,
    PendingEffect,
    Reject,
)
from njrt.effects import Effect, EffectResult, Refusal
from njrt.errors import (
    CodeTimeLimitError,
    NaturalError,
    Paused,
    PolicyError,
    TimeLimitError,
)
from njrt.events import Began, Compared, Ended, Listener, Performed, RunId, wants_states
from njrt.messages import Protocol
from njrt.models.model import Layer, Model
from njrt.observability.listeners import Notified
from njrt.options import OnError, Options
from njrt.outcome import Outcome, Raised
from njrt.scope.scope import Scope
from njrt.session.interception import DecisionRecord, list_interceptors
from njrt.session.limits import (
    CodeTimeLimit,
    Meter,
    Metered,
    list_open_meters,
    make_code_time_limit,
    read_limits,
)
from njrt.session.prediction import EffectPredictor, OpenPrediction
from njrt.session.settings import (
    Settings,
    find_recorder,
    get_listener,
    get_settings,
    make_layered_model,
    resolve_options,
    share_budgets,
)
from njrt.session.states import Observe, observe_nothing, observe_scope, render_variables


@dataclass(frozen=True, slots=True)
class Session:
    """One run of a block, ready to be driven.

    It has its conversation, its model, the seconds its code may run, the interceptors of its effects, and what is
    recorded of their decisions.
    """

    conversation: Conversation
    model: Model
    code_seconds: CodeTimeLimit
    interceptors: tuple[OpenInterceptor, ...]
    record: DecisionRecord | None


@dataclass(frozen=True, slots=True)
class RunSetup:
    """What surrounds one run of a block, or one question to a model."""

    run: RunId
    place: str
    settings: Settings
    options: Options
    listener: Listener
    meter: Meter
    model: Model
    """The model behind all its layers."""
    interceptors: tuple[OpenInterceptor, ...]
    """Those that are asked about each effect, innermost first."""
    record: DecisionRecord | None
    """What the recording holds of their decisions, if there is one."""
    parent: RunId | None

    @property
    def protocol(self) -> Protocol:
        return self.options.protocol or self.model.protocol


class CanaryObserver(typing.Protocol):
    """What compares the run of a canary with that of the code."""

    def open(self, scope: Scope) -> None:
        """The variables of the run, before it begins."""

    def compare(self, ending: Outcome | NaturalError) -> tuple[tuple[str, ...], str]:
        """The differences from the code, and why nothing could be compared, if so."""


_current_run: ContextVar[RunId | None] = ContextVar("njrt.session.session", default=None)
_run_numbers = itertools.count(1)
_process_id = os.urandom(4).hex()


def make_run_id() -> RunId:
    """A name for a run that is unique among all processes."""
    return f"{_process_id}-{next(_run_numbers)}"


def get_current_run() -> RunId | None:
    """The run of the innermost block around this point, if there is one."""
    return _current_run.get()


def enter_run(run: RunId) -> None:
    """Make a run the innermost one in this context."""
    _current_run.set(run)


def set_up_run(
    place: str, options: Mapping[str, Any], project: Mapping[str, Any] | None
) -> RunSetup:
    """Resolve the settings, options and model of one run at a place (`njrt.llm` where none is known)."""
    try:
        settings = get_settings()
        merged = resolve_options(options, project, settings, place or "njrt.llm")
        run, listener = make_run_id(), get_listener(settings)
        meter = Meter(read_limits(merged), place=place, around=list_open_meters())
        recorder = find_recorder(settings, os.environ)
        record = DecisionRecord(recorder) if recorder else None
        layers: list[Layer] = [Metered(meter), Notified(run, listener)]
        layers += [record] if record else []
        model = make_layered_model(settings, merged, *layers)
        if settings.predictor:
            predictor = share_budgets(model, settings.predictor)
            steps = settings.steps
            settings = replace(
                settings, predictor=steps.wrap_model(predictor) if steps else predictor
            )
    except NaturalError as error:
        raise add_place(error, place or "njrt.llm") from None
    interceptors = list_interceptors(settings.interceptors)
    parent = _current_run.get()
    return RunSetup(
        run, place, settings, merged, listener, meter, model, interceptors, record, parent
    )


def make_session(
    block: Block,
    scope: Scope,
    setup: RunSetup,
    tried: str = "",
    canary: CanaryObserver | None = None,
) -> Session:
    """The session of a block; `tried` says how its static code fared, where that was tried first."""
    options = block.options
    block = set_default_temperature(block, setup.protocol)
    observe: Observe = observe_nothing
    if wants_states(setup.listener):
        observe = observe_scope(setup.run, scope, options.redact)

    def begin(block: Block, form: AnswerForm | None, first_turn: int) -> AnswerConversation:
        handlers = Handlers(block, scope)
        serve = make_effect_server(
            handlers.serve,
            setup,
            partial(make_pending_effect, block, scope, setup),
            observe,
            EffectPredictor(setup.settings.predictor, block, scope)
            if setup.settings.predictor
            else None,
        )
        reopen = partial(build_opening, block, scope, form.text if form else "", handlers.redactor)
        opening = reopen()
        files = find_attachments(scope, block.reads, handlers.redactor)
        return converse(block, setup.protocol, opening, serve, form, first_turn, files, reopen)

    conversation = with_rollback(with_code_on_request(block, scope, begin), scope, options.on_error)
    if canary is not None:
        canary.open(scope)
        conversation = with_comparison(conversation, setup, canary)
    conversation = with_lifecycle_events(
        conversation, setup, options.effects or "", tried, block.instruction, observe
    )
    return Session(
        with_closed_scope(conversation, scope),
        setup.model,
        make_code_time_limit(options.max_code_seconds, setup.meter),
        setup.interceptors,
        setup.record,
    )


def with_code_on_request(
    block: Block,
    scope: Scope,
    begin: Callable[[Block, AnswerForm | None, int], AnswerConversation],
) -> Conversation:
    """The conversation of a block; one that answers goes on as `direct` where the model asks for code."""
    is_answer = block.options.effects == "answer"
    outcome = yield from begin(block, make_answer_form(block, scope) if is_answer else None, 1)
    if isinstance(outcome, CodeNeeded):
        with_code = replace(block, options=replace(block.options, effects="direct"))
        outcome = yield from begin(with_code, None, outcome.turn + 1)
        assert not isinstance(outcome, CodeNeeded)
    return outcome


def with_closed_scope(conversation: Conversation, scope: Scope) -> Conversation:
    """The conversation on a scope that is closed at its end."""
    try:
        return (yield from conversation)
    finally:
        scope.close()


def with_comparison(
    conversation: Conversation, setup: RunSetup, canary: CanaryObserver
) -> Conversation:
    """The conversation of a canary, which emits `Compared` at its end."""

    def compare(ending: Outcome | NaturalError) -> None:
        setup.listener(Compared(setup.run, time.time(), *canary.compare(ending)))

    try:
        outcome = yield from conversation
    except NaturalError as error:
        compare(error)
        raise
    compare(outcome)
    return outcome


def with_lifecycle_events(
    conversation: Conversation,
    setup: RunSetup,
    effects: str,
    tried: str = "",
    instruction: str = "",
    observe: Observe = observe_nothing,
) -> Conversation:
    """The conversation of a run, which emits `Began` and `Ended`."""
    run, place, listener = setup.run, setup.place, setup.listener
    began = time.monotonic()
    token = _current_run.set(run)
    listener(
        Began(
            run,
            time.time(),
            place,
            setup.model.name,
            effects,
            setup.parent,
            tried,
            instruction,
            observe(),
        )
    )

    def end(outcome: Outcome | BaseException) -> None:
        with suppress(ValueError):  # an abandoned coroutine may be closed in another context
            _current_run.reset(token)
        listener(Ended(run, time.time(), outcome, time.monotonic() - began, observe()))

    try:
        outcome = yield from conversation
    except BaseException as error:
        if isinstance(error, NaturalError):
            add_place(error, place)
        end(error)
        raise
    end(outcome)
    return outcome


def with_rollback(
    conversation: Conversation, scope: Scope, on_error: OnError | None
) -> Conversation:
    """The conversation on a scope that is restored after an error with `rollback`.

    An error is any exception by which the block leaves: of the runtime, a cancellation, or one that the
    block raises in the program.
    """
    before = scope.save_bindings() if on_error == "rollback" else None
    try:
        outcome = yield from conversation
        if before is not None and isinstance(outcome, Raised):
            scope.restore_bindings(before)
        return outcome
    except BaseException:
        if before is not None:
            scope.restore_bindings(before)
        raise


def add_place(error: NaturalError, place: str) -> NaturalError:
    """Record on an error of the runtime which blocks it left (`place` is that of the innermost)."""
    error.place = error.place or place
    add_place_note(error, place)
    return error


def add_place_note(error: BaseException, place: str) -> None:
    """Note on an exception which block it leaves; a block is noted once."""
    note = f"natural block at {place}"
    with suppress(Exception):  # a class of the program may refuse notes
        if note not in getattr(error, "__notes__", ()):
            BaseException.add_note(error, note)


def set_default_temperature(block: Block, protocol: Protocol) -> Block:
    """Ask models of the text protocol, mostly small ones, at temperature 0 unless the block sets one.

    They write better code at 0; the conversation raises it when the same answer fails twice.
    """
    if protocol == "tools" or block.options.temperature is not None:
        return block
    return replace(block, options=replace(block.options, temperature=0.0))


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
) -> EffectServer:
    """The one way to a handler: each effect of each set, and each question of `llm`, passes the inner function.

    It is counted, shown to the interceptors, predicted, served or refused, and reported with its result.
    """
    meter = setup.meter

    def serve_effect(effect: Effect | Refusal, turn: int) -> ServedEffect:
        number = meter.count_effect()
        decisions: tuple[InterceptorDecision, ...] = ()
        opened: OpenPrediction | None = None
        served = effect

        def report(result: EffectResult, began: float) -> None:
            at, seconds = time.time(), time.monotonic() - began
            prediction = predictor.compare(opened, result) if predictor and opened else None
            setup.listener(
                Performed(
                    *(setup.run, at, turn, effect, result, seconds, observe(), decisions),
                    prediction,
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
            result = yield from serve(served, turn)
        except CodeTimeLimitError:
            try:
                meter.check()  # the limit of the whole run, where that is what stopped the code
            except TimeLimitError as over:
                raise over from None
            raise
        report(result, began)
        return result

    return serve_effect


def make_ending_error(decision: Abort | Pause, interceptor: str, setup: RunSetup) -> NaturalError:
    """The error by which a decision ends a block."""
    where = setup.place or "njrt.llm"
    if isinstance(decision, Pause):
        path = setup.record.path if setup.record else None
        way = (
            f"run the program again with the recording {path} to continue"
            if path
            else "there is no recording from which it could continue; make one with NJC_RECORD=new:FILE"
        )
        paused = Paused(f"{where}: paused by the interceptor `{interceptor}`; {way}")
        paused.recording = path
        return paused
    return decision.error or PolicyError(f"{where}: aborted by the interceptor `{interceptor}`")
