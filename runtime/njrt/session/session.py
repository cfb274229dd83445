"""The surroundings of one run of a block, or of one question to a model.

session = open_session("mail.njpy:12", options, project)    settings -> options -> recorder -> model -> layers
    Session(run="9f3c-1", model=Metered(Recorder(Cache(model))), ...)
"""

from __future__ import annotations

import itertools
import os
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import Any

from njrt.agent.conversation import Conversation, EffectServer, ServedEffect
from njrt.agent.handlers import EffectGenerator
from njrt.context import check_context
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
    BlockWarning,
    CodeTimeLimitError,
    NaturalError,
    Paused,
    PolicyError,
    TimeLimitError,
)
from njrt.events import Began, Ended, Listener, Performed, Redact, RunId
from njrt.gates import Gate, open_gate
from njrt.messages import Protocol
from njrt.models.model import LayeredModel, Model
from njrt.observability.accounts import note_error
from njrt.observability.listeners import Notified
from njrt.options import Options
from njrt.outcome import Outcome, Raised
from njrt.scope.scope import Scope
from njrt.session.interception import DecisionRecord, list_interceptors
from njrt.session.layered_model import NO_MODEL, find_recorder, make_layered_model
from njrt.session.limits import (
    Meter,
    Metered,
    has_limit_elsewhere,
    list_open_meters,
    read_limits,
)
from njrt.session.settings import (
    Settings,
    get_listener,
    get_settings,
    has_budget_elsewhere,
    read_environment,
    resolve_options,
)
from njrt.session.states import Observe, observe_nothing
from njrt.timeouts import read_clock


@dataclass(slots=True, eq=False)
class Session:
    """The surroundings of one block run, or of one question to a model."""

    run: RunId
    place: str
    settings: Settings
    options: Options
    listener: Listener
    meter: Meter
    model: Model
    """The model behind all its layers."""
    interceptors: tuple[OpenInterceptor, ...]
    """Interceptors to ask about each effect, innermost first."""
    record: DecisionRecord | None
    """The interceptors' recorded decisions, if there is a recording."""
    parent: RunId | None
    environ: Mapping[str, str]
    """The environment variables of njrt that are set."""

    @property
    def protocol(self) -> Protocol:
        return self.options.protocol or self.model.protocol

    def get_code_seconds(self) -> float | None:
        """Return the seconds that the next piece of code may run; None for no limit."""
        most, left = self.options.max_code_seconds, self.meter.seconds_left()
        return left if most is None else most if left is None else min(most, left)


_current_run: ContextVar[RunId | None] = ContextVar("njrt.session.session", default=None)
_run_numbers = itertools.count(1)
_process_id = os.urandom(4).hex()

get_current_run = _current_run.get
"""Returns the run of the innermost block around this point; None outside blocks."""
enter_run = _current_run.set
"""Makes a run the innermost run in this context."""


def make_run_id() -> RunId:
    """Return an id for a run that is unique among all processes."""
    return f"{_process_id}-{next(_run_numbers)}"


def open_session(
    place: str,
    options: Mapping[str, Any],
    project: Mapping[str, Any] | None,
    is_static: bool = False,
) -> Session:
    """Resolve the settings, options and model of one run at a place (`njrt.llm` if none is known).

    A run of static code needs no model.
    """
    try:
        check_context(place or "njrt.llm")
        if has_limit_elsewhere() or has_budget_elsewhere():
            warn_of_limit(place)
        settings, environ = get_settings(), read_environment()
        merged = resolve_options(options, project, settings.options, place or "njrt.llm", environ)
        run, listener = make_run_id(), get_listener(settings, environ)
        meter = Meter(read_limits(merged), read_clock, place=place, around=list_open_meters())
        recorder = find_recorder(settings, environ)
        record = DecisionRecord(recorder) if recorder else None
        layers = (Metered(meter), Notified(run, listener), *((record,) if record else ()))
        model = (
            LayeredModel(NO_MODEL, layers)
            if is_static
            else make_layered_model(settings, merged, *layers, environ=environ)
        )
    except NaturalError as error:
        raise add_place(error, place or "njrt.llm") from None
    interceptors = list_interceptors(settings.interceptors)
    parent = get_current_run()
    return Session(
        run, place, settings, merged, listener, meter, model, interceptors, record, parent, environ
    )


def add_place(error: NaturalError, place: str) -> NaturalError:
    """Record on an error of the runtime which blocks it left (`place` is the innermost block's)."""
    error.place = error.place or place
    note_error(error)
    add_place_note(error, place)
    return error


def add_place_note(error: BaseException, place: str) -> None:
    """Note on an exception which block it leaves; each block is noted once."""
    add_note(error, f"natural block at {place}")


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an exception, once."""
    with suppress(Exception):  # the program's class may refuse notes
        if note not in getattr(error, "__notes__", ()):
            BaseException.add_note(error, note)


def make_ending_error(decision: Abort | Pause, interceptor: str, session: Session) -> NaturalError:
    """Return the error for a decision that ends a block."""
    where = session.place or "njrt.llm"
    if isinstance(decision, Abort):
        return decision.error or PolicyError(f"{where}: aborted by the interceptor `{interceptor}`")
    path = session.record.path if session.record else None
    way = (
        f"run the program again with the recording {path} to continue"
        if path
        else "it cannot continue without a recording; make one with NJC_RECORD=new:FILE"
    )
    paused = Paused(f"{where}: paused by the interceptor `{interceptor}`; {way}")
    paused.recording = path
    return paused


RECURSION_NOTE = (
    "natural blocks that call each other use Python's stack; sys.setrecursionlimit(...) allows more "
    "levels"
)


class FrameHider:
    """A context manager around each block, which completes the error that leaves it.

    The runtime's own frames are removed from a `NaturalError`'s traceback. A `RecursionError` of
    blocks that call each other gets a note, since the frames between them are not the program's.
    """

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if isinstance(error, NaturalError):
            error.__traceback__ = None
        elif isinstance(error, RecursionError) and get_current_run() is not None:
            add_note(error, RECURSION_NOTE)


hidden_frames = FrameHider()


# ── events around a conversation ─────────────────────────────────────────────────────────────────


def with_lifecycle_events(
    conversation: Conversation,
    session: Session,
    effects: str,
    tried: str = "",
    instruction: str = "",
    observe: Observe = observe_nothing,
    redact: Redact | None = None,
    list_warnings: Callable[[Outcome], tuple[str, ...]] = lambda _: (),
    close: Callable[[], None] = lambda: None,
) -> Conversation:
    """Yield a run's conversation, emit `Began` and `Ended`, and warn about a block that did nothing.

    `close` is called last.
    """
    run, place, listener, parent = session.run, session.place, session.listener, session.parent
    began = time.monotonic()
    token = enter_run(run)
    model = session.model.name
    listener(Began(run, time.time(), place, model, effects, parent, tried, instruction, observe()))
    ending: Outcome | BaseException | None = None
    signs: tuple[str, ...] = ()
    try:
        outcome = ending = yield from conversation
        signs = list_warnings(outcome)
    except BaseException as error:
        if isinstance(error, NaturalError):
            add_place(error, place)
        ending = error
        raise
    finally:
        with suppress(ValueError):  # an abandoned coroutine is closed in another context
            _current_run.reset(token)
        assert ending is not None
        seconds = time.monotonic() - began
        listener(Ended(run, time.time(), ending, seconds, observe(), redact, signs))
        close()
        if isinstance(ending, BaseException):
            ending = None  # its traceback holds this frame
    for sign in signs:
        warn_at(place, sign)
    return outcome


LIMIT_ELSEWHERE = (
    "this runs in a thread or context without the settings of the code that started it, while a limit "
    "or budget is open in the process; start it with njrt.carry(function) if the limit counts it"
)


@cache
def warn_of_limit(place: str) -> None:
    """Warn once that a limit which is open elsewhere may not count a block."""
    warn_at(place, LIMIT_ELSEWHERE)


def warn_at(place: str, text: str) -> None:
    """Warn about a block."""
    file, _, line = place.rpartition(":")
    number = int(line) if line.isdecimal() else 1
    warnings.warn_explicit(
        text, BlockWarning, file or place or "njrt.llm", number, registry=_warned
    )


_warned: dict[Any, Any] = {}
"""The warnings that were shown, each once by default."""


# ── the only way to a handler ────────────────────────────────────────────────────────────────────


def describe_effect(
    session: Session, effect: Effect, turn: int, number: int, *block: Any
) -> PendingEffect:
    """Describe a run's effect to its interceptors; `block` are the fields of `PendingEffect` from `effects` on."""
    return PendingEffect(session.run, session.parent, session.place, turn, number, effect, *block)


def make_effect_server(
    serve: Callable[[Effect | Refusal, int], EffectGenerator | ServedEffect],
    session: Session,
    describe: Callable[[Effect, int, int], PendingEffect],
    observe: Observe = observe_nothing,
    redact: Redact | None = None,
    gate: Gate | None = None,
    scope: Scope | None = None,
) -> EffectServer:
    """Return the only way to a handler, a function that each effect of each set and each question of `llm` passes.

    The effect is counted, shown to the interceptors, served or refused, and reported with its result.
    """
    meter = session.meter

    def serve_effect(effect: Effect | Refusal, turn: int) -> ServedEffect:
        number = meter.count_effect()
        decisions: tuple[InterceptorDecision, ...] = ()
        served, touches = effect, scope.touches if scope else 0

        def report(result: EffectResult, began: float) -> None:
            at, seconds = time.time(), time.monotonic() - began
            session.listener(
                Performed(
                    *(session.run, at, turn, effect, result, seconds, observe(), decisions),
                    *(redact, scope.touches - touches if scope else 0),
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
        began = time.monotonic()
        try:
            if gate is None:
                result = yield from serve(served, turn)
            else:
                gate.turn = turn
                try:
                    with open_gate(gate):
                        result = yield from serve(served, turn)
                finally:
                    gate.wait_for_calls()
                if gate.ending is not None:
                    raise gate.ending
        except CodeTimeLimitError:
            try:
                meter.check()  # the limit of the whole run, if that is what stopped the code
            except TimeLimitError as over:
                raise over from None
            raise
        report(result, began)
        return result

    return serve_effect
