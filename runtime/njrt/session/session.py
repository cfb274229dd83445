"""One run of a block, assembled: its conversation behind the handlers, and what is wrapped around it.

    make_session(block, scope, setup)       a Session, ready to be driven

    with_closed_scope(with_lifecycle_events(with_comparison(with_rollback(with_code_on_request(conversation)))))

Each capability is a wrapper; the conversation and the handlers know nothing of them.
"""

from __future__ import annotations

import time
import typing
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from njrt.agent.answer import AnswerForm, make_answer_form
from njrt.agent.attachments import find_attachments
from njrt.agent.conversation import (
    AnswerConversation,
    CodeNeeded,
    Conversation,
    EffectServer,
    converse,
)
from njrt.agent.handlers import Handlers, redact_secrets
from njrt.agent.interface_effects import OpenInterface, make_interface_form, open_interface
from njrt.agent.prompt import build_examples, build_opening
from njrt.block import Block
from njrt.decisions import OpenInterceptor, PendingEffect
from njrt.effects import Answer, Effect, NeedsCode, Refusal, Run
from njrt.errors import BlockWarning, ConfigurationError, NaturalError, ReplyError
from njrt.events import Began, Compared, Ended, Redact, wants_states
from njrt.execution.contracts import Contract
from njrt.gates import is_used
from njrt.messages import Protocol
from njrt.models.model import Model
from njrt.options import OnError
from njrt.outcome import Outcome, Raised
from njrt.rendering.redaction import Redactor
from njrt.scope.scope import Scope
from njrt.session.effect_server import make_effect_server, make_pending_effect
from njrt.session.interception import DecisionRecord
from njrt.session.limits import CodeTimeLimit, make_code_time_limit
from njrt.session.prediction import EffectPredictor
from njrt.session.run_setup import RunSetup, add_place, enter_run, leave_run
from njrt.session.states import Observe, observe_nothing, observe_scope

if typing.TYPE_CHECKING:
    from njrt.session.gate import RunGate


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


class CanaryObserver(typing.Protocol):
    """What compares the run of a canary with that of the code."""

    def open(self, scope: Scope) -> None:
        """The variables of the run, before it begins."""

    def compare(self, ending: Outcome | NaturalError) -> tuple[tuple[str, ...], str]:
        """Return the differences from the code, and why nothing could be compared, if so."""


def make_session(
    block: Block,
    scope: Scope,
    setup: RunSetup,
    tried: str = "",
    canary: CanaryObserver | None = None,
    contract: Contract | None = None,
) -> Session:
    """Return the session of a block; `tried` says how its static code fared, where that was tried first."""
    options = block.options
    block = set_default_temperature(block, setup.protocol)
    observe: Observe = observe_nothing
    if wants_states(setup.listener):
        observe = observe_scope(setup.run, scope, options.redact)

    interface = open_interface(block.interface, block, scope) if block.interface else None
    redact = partial(redact_secrets, scope, Redactor(options.redact is None or options.redact))

    def begin(block: Block, form: AnswerForm | None, first_turn: int) -> AnswerConversation:
        handlers = Handlers(block, scope, contract, interface)
        describe = partial(make_pending_effect, block, scope, setup)
        serve = make_effect_server(
            handlers.serve,
            # Static code is a part of the program: only its gated calls are shown.
            replace(setup, interceptors=(), record=None) if block.code else setup,
            describe,
            observe,
            EffectPredictor(setup.settings.predictor, block, scope)
            if setup.settings.predictor
            else None,
            redact,
            make_gate(block, scope, setup, describe, handlers.redactor),
            lambda: scope.touches,
        )
        if block.code:
            return run_static_code(block.code, serve)
        opened.append(handlers)
        reopen = partial(build_opening, block, scope, form.text if form else "", handlers.redactor)
        opening = reopen()
        files = find_attachments(scope, block.reads, handlers.redactor)
        examples = build_examples(block, form.text if form else "")
        told = make_interface_form(interface, setup.protocol) if interface else None
        return converse(
            block, setup.protocol, opening, serve, form, first_turn, files, reopen, examples, told
        )

    opened: list[Handlers] = []
    conversation = with_rollback(with_code_on_request(block, scope, begin), scope, options.on_error)
    if interface is not None:
        conversation = with_closed_interface(conversation, interface)
    if canary is not None:
        canary.open(scope)
        conversation = with_comparison(conversation, setup, canary)
    conversation = with_lifecycle_events(
        conversation,
        setup,
        options.effects or "",
        tried,
        block.instruction,
        observe,
        redact,
        lambda outcome: opened[-1].list_warnings(outcome) if opened else (),
    )
    return Session(
        with_closed_scope(conversation, scope),
        setup.model,
        make_code_time_limit(options.max_code_seconds, setup.meter),
        setup.interceptors,
        setup.record,
    )


def make_gate(
    block: Block,
    scope: Scope,
    setup: RunSetup,
    describe: Callable[[Effect, int, int], PendingEffect],
    redactor: Redactor,
) -> RunGate | None:
    """Return the gate of a run, if there are gated functions.

    Raises:
        ConfigurationError: there are rules for functions without the decorator, and the code is not contained.
    """
    has_rules = bool(setup.settings.calls) and block.options.effects != "answer"
    if has_rules and block.options.policy != "contained":
        raise ConfigurationError(
            'njrt.using(calls=...) decides about calls of contained code: write policy="contained", or @njrt.gated '
            "above the functions"
        )
    if not has_rules and not is_used():
        return None
    from njrt.session.gate import RunGate

    return RunGate(setup, scope, describe, redactor)


def with_code_on_request(
    block: Block,
    scope: Scope,
    begin: Callable[[Block, AnswerForm | None, int], AnswerConversation],
) -> Conversation:
    """The conversation of a block; one that answers goes on as `direct` where the model asks for code."""
    is_answer = block.options.effects == "answer"
    outcome = yield from begin(block, make_answer_form(block, scope) if is_answer else None, 1)
    if isinstance(outcome, CodeNeeded):
        options = replace(block.options, effects="direct")
        with_code = replace(block, options=options, examples=())
        outcome = yield from begin(with_code, None, outcome.turn + 1)
        assert not isinstance(outcome, CodeNeeded)
    return outcome


def run_static_code(code: str, serve: EffectServer) -> AnswerConversation:
    """Run the static code of a block in place of a conversation with a model.

    Raises:
        ReplyError: the code cannot be run here, or has not bound the outputs.
    """
    result = yield from serve(Run(code, done=True), 1)
    match result:
        case Answer(text) | Refusal(text):
            raise ReplyError(f"the static code of this block failed: {text}")
        case NeedsCode():
            raise AssertionError("only a model needs code")
        case _:
            return result


def with_closed_scope(conversation: Conversation, scope: Scope) -> Conversation:
    """Yield the conversation on a scope that is closed at its end."""
    try:
        return (yield from conversation)
    finally:
        scope.close()


def with_closed_interface(conversation: Conversation, interface: OpenInterface) -> Conversation:
    """Yield the conversation of a block, and close its interface at the end."""
    try:
        outcome = yield from conversation
    except BaseException as error:
        interface.close(error)
        raise
    interface.close(outcome)
    return outcome


def with_comparison(
    conversation: Conversation, setup: RunSetup, canary: CanaryObserver
) -> Conversation:
    """Yield the conversation of a canary, which emits `Compared` at its end."""

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
    redact: Redact | None = None,
    list_warnings: Callable[[Outcome], tuple[str, ...]] = lambda _: (),
) -> Conversation:
    """Yield the conversation of a run, which emits `Began` and `Ended`, and warns of a block that did nothing."""
    run, place, listener = setup.run, setup.place, setup.listener
    began = time.monotonic()
    token = enter_run(run)
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

    def end(outcome: Outcome | BaseException, signs: tuple[str, ...] = ()) -> None:
        leave_run(token)
        seconds = time.monotonic() - began
        listener(Ended(run, time.time(), outcome, seconds, observe(), redact, signs))

    try:
        outcome = yield from conversation
    except BaseException as error:
        if isinstance(error, NaturalError):
            add_place(error, place)
        end(error)
        raise
    signs = list_warnings(outcome)
    end(outcome, signs)
    for sign in signs:
        file, _, line = place.rpartition(":")
        number = int(line) if line.isdecimal() else 1
        warnings.warn_explicit(sign, BlockWarning, file or place, number, registry=_warned)
    return outcome


_warned: dict[typing.Any, typing.Any] = {}
"""The warnings that were shown: each once by default."""


def with_rollback(
    conversation: Conversation, scope: Scope, on_error: OnError | None
) -> Conversation:
    """Yield the conversation on a scope that is restored after an error with `rollback`.

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


def set_default_temperature(block: Block, protocol: Protocol) -> Block:
    """Ask models of the text protocol, mostly small ones, at temperature 0 unless the block sets one.

    They write better code at 0; the conversation raises it when the same answer fails twice.
    """
    if protocol == "tools" or block.options.temperature is not None:
        return block
    return replace(block, options=replace(block.options, temperature=0.0))
