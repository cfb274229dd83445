"""One run of a block, put together: the conversation behind its handlers, the model behind its layers.

    serve    Handlers   wrapped in   Metered effects, told to the listener
    model    the model  wrapped in   Metered(Told(Recorded(Cached(model))))

Each capability is a wrapper; the agent, the handlers and the models know nothing of them. A call that a limit
refuses was never made: no account and no trace has it.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace

from njrt.agent.conversation import Conversation, EffectGenerator, EffectHandler, converse
from njrt.agent.handlers import Handlers
from njrt.agent.prompt import EFFECTS_SHOWING_VALUES, format_opening
from njrt.block import Block
from njrt.effects import Effect, Refusal
from njrt.errors import CodeTimeLimitError, NaturalError, TimeLimitError
from njrt.events import Asked, Began, Ended, Listener, Performed, Replied, RunId, Unanswered
from njrt.messages import Protocol, Reply, Request
from njrt.models.model import Ask, Layer, LayeredModel, Model
from njrt.options import OnError
from njrt.outcome import Outcome, Raised
from njrt.rendering.describe import describe_variable, render_value
from njrt.rendering.signatures import format_type
from njrt.scope.scope import Absent, Bound, Scope
from njrt.session.limits import Meter, list_open_meters, read_limits


@dataclass(frozen=True, slots=True)
class Session:
    """One run of a block, ready to be driven: its conversation, its model, the seconds its code may run."""

    conversation: Conversation
    model: Model
    code_seconds: CodeTimeLimit


CodeTimeLimit = Callable[[], float | None]
"""How long the next piece of code may run: its own limit, or what the whole block has left."""

_current_run: ContextVar[RunId | None] = ContextVar("njrt.session.drive", default=None)
_run_numbers = itertools.count(1)
_process_id = os.urandom(4).hex()


def make_run_id() -> RunId:
    """Name a run that no other has in any process."""
    return f"{_process_id}-{next(_run_numbers)}"


def get_current_run() -> RunId | None:
    """The run of the innermost block around this point, if there is one."""
    return _current_run.get()


def make_session(
    block: Block,
    scope: Scope,
    model: Model,
    layers: tuple[Layer, ...],
    tell: Listener,
    tried: str = "",
) -> Session:
    """Put a run together from its parts; `tried` says how code fared that was tried before it."""
    options = block.options
    run = make_run_id()
    protocol = options.protocol or model.protocol
    meter = Meter(read_limits(options), place=block.place, around=list_open_meters())
    serve = with_effect_events(with_effect_limits(Handlers(block, scope).serve, meter), run, tell)
    opening = build_opening(block, scope)
    conversation = with_rollback(
        converse(set_default_temperature(block, protocol), protocol, opening, serve),
        scope,
        options.on_error,
    )
    return Session(
        with_lifecycle_events(
            conversation, block.place, options.effects or "", run, model.name, tell, tried
        ),
        LayeredModel(model, (Metered(meter), Notified(run, tell), *layers)),
        make_code_time_limit(options.max_code_seconds, meter),
    )


def with_lifecycle_events(
    conversation: Conversation,
    place: str,
    effects: str,
    run: RunId,
    model: str,
    tell: Listener,
    tried: str = "",
) -> Conversation:
    """The life of a run around its conversation: announced, and accounted for at its end."""
    began = time.monotonic()
    parent = _current_run.get()
    token = _current_run.set(run)
    tell(Began(run, time.time(), place, model, effects, parent, tried))

    def end(ended: Outcome | BaseException) -> None:
        with suppress(ValueError):  # an abandoned coroutine is closed wherever that happens
            _current_run.reset(token)
        tell(Ended(run, time.time(), ended, time.monotonic() - began))

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
    """The conversation on a scope that is put back if need be, and let go of at the end.

    With `rollback` it is put back whichever error the block leaves by: one of the runtime, cancellation,
    or an exception that the block raises in the program.
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
    finally:
        scope.close()


def add_place(error: NaturalError, place: str) -> NaturalError:
    """Say, on an error of the runtime, which blocks it left (the place is that of the innermost)."""
    error.place = error.place or place
    add_place_note(error, place)
    return error


def add_place_note(error: BaseException, place: str) -> None:
    """Note on an exception which block it leaves: once, however often it does."""
    note = f"natural block at {place}"
    with suppress(Exception):  # a class of the program's may have made its notes unwritable
        if note not in getattr(error, "__notes__", ()):
            BaseException.add_note(error, note)


def set_default_temperature(block: Block, protocol: Protocol) -> Block:
    """Give models that speak in plain text, small ones mostly, no temperature unless the block does.

    They write better code without; the agent raises it when the same answer fails twice.
    """
    if protocol == "tools" or block.options.temperature is not None:
        return block
    return replace(block, options=replace(block.options, temperature=0.0))


def build_opening(block: Block, scope: Scope) -> str:
    """The first message to the model: the instruction, and what there is to read, to bind and to jump to."""
    eager = block.options.effects in EFFECTS_SHOWING_VALUES
    budget = block.options.show_chars or 1000
    outputs = [
        format_output_line(block, scope, path, budget if eager else 0) for path in scope.outputs
    ]
    inputs = []
    for name in (*scope.names, *scope.type_names):
        match scope.lookup(name):
            case Bound(value) if name not in scope.outputs:
                inputs.append(describe_variable(name, value, budget) if eager else name)
            case Absent() if name not in scope.outputs:
                inputs.append(f"{name}: not bound")
    return format_opening(block, inputs, outputs)


def format_output_line(block: Block, scope: Scope, path: str, budget: int) -> str:
    """What is to be bound, with its type; and the value that it has, where the prompt also reads it.

    The value of the round before, shown unasked, would only lead a model to say the same again.
    """
    line = f"{path}{format_output_type(scope, path)}, to be {'set' if '.' in path else 'bound'}"
    if "." in path or not isinstance(found := scope.lookup(path), Bound):
        return line
    if budget and (f"<{path}>" in block.instruction or f"<{path}." in block.instruction):
        return f"{line} anew; now {render_value(found.value, budget)}"
    return f"{line} anew"


def format_output_type(scope: Scope, path: str) -> str:
    """The declared type of an output, written as in an annotation."""
    declared = scope.types.get(path)
    return "" if declared is None else f": {format_type(declared)}"


def with_effect_limits(serve: EffectHandler, meter: Meter) -> EffectHandler:
    """Count each effect before it is served; say whose limit it was that stopped its code."""

    def counted(effect: Effect | Refusal, turn: int) -> EffectGenerator:
        meter.count_effect()
        try:
            return (yield from serve(effect, turn))
        except CodeTimeLimitError:
            try:
                meter.check()
            except TimeLimitError as over:
                raise over from None
            raise

    return counted


def make_code_time_limit(most: float | None, meter: Meter) -> CodeTimeLimit:
    """Let no piece of code run for longer than `most`, nor for longer than the block has left."""

    def seconds() -> float | None:
        limits = [each for each in (most, meter.seconds_left()) if each is not None]
        return min(limits, default=None)

    return seconds


def with_effect_events(serve: EffectHandler, run: RunId, tell: Listener) -> EffectHandler:
    """Tell the listener of each effect and of its result."""

    def telling(effect: Effect | Refusal, turn: int) -> EffectGenerator:
        began = time.monotonic()
        result = yield from serve(effect, turn)
        tell(Performed(run, time.time(), turn, effect, result, time.monotonic() - began))
        return result

    return telling


@dataclass(frozen=True, slots=True)
class Metered:
    """Counts calls, tokens and cost, and lets no reply take longer than the block has left."""

    meter: Meter

    async def answer(self, request: Request, ask: Ask) -> Reply:
        self.meter.count_call()
        left = self.meter.seconds_left()
        if left is not None and left < request.timeout:
            request = replace(request, timeout=max(left, 0.1))
        reply = await ask(request)
        self.meter.count_reply(reply)
        return reply


@dataclass(frozen=True, slots=True)
class Notified:
    """Tells the listener of each question to the model and of what came of it."""

    run: RunId
    tell: Listener

    async def answer(self, request: Request, ask: Ask) -> Reply:
        began = time.monotonic()
        self.tell(Asked(self.run, time.time(), request))
        try:
            reply = await ask(request)
        except BaseException as error:
            self.tell(
                Unanswered(self.run, time.time(), request.turn, error, time.monotonic() - began)
            )
            raise
        self.tell(Replied(self.run, time.time(), request.turn, reply, time.monotonic() - began))
        return reply
