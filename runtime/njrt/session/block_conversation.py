"""The conversation of one block run, with its handlers, interceptors and wrappers.

    converse_about(block, scope, session)       a conversation, ready to be driven

Each capability is a wrapper; the model conversation and the handlers know nothing of the wrappers.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from njrt.agent.answer_prompt import (
    PromptProblem,
    find_data_outputs,
    list_inputs,
    make_answer_prompt,
)
from njrt.agent.attachments import find_attachments
from njrt.agent.calls import limit_time
from njrt.agent.conversation import (
    AnswerConversation,
    CodeNeeded,
    Conversation,
    EffectServer,
    converse,
)
from njrt.agent.handlers import Handlers
from njrt.agent.interface_effects import OpenInterface, make_interface_form, open_interface
from njrt.agent.prompt import build_opening
from njrt.agent.secrets import redact_secrets
from njrt.block import Block
from njrt.decisions import PendingEffect
from njrt.effects import Answer, Effect, NeedsCode, Refusal, Run
from njrt.errors import ConfigurationError, ReplyError
from njrt.events import wants_states
from njrt.execution.contracts import Contract
from njrt.gates import is_used
from njrt.outcome import Outcome, Raised
from njrt.rendering.redaction import Redactor
from njrt.scope.scope import SavedBindings, Scope
from njrt.session.session import Session, describe_effect, make_effect_server, with_lifecycle_events
from njrt.session.states import Observe, observe_nothing, observe_scope, render_variables

if typing.TYPE_CHECKING:
    from njrt.session.gate import RunGate


def converse_about(
    block: Block,
    scope: Scope,
    session: Session,
    tried: str = "",
    contract: Contract | None = None,
) -> Conversation:
    """Return a block's conversation; `tried` is the result of its static code, if that was tried first."""
    redact = partial(redact_secrets, scope, Redactor(block.options.redact is not False))
    observe: Observe = observe_nothing
    if wants_states(session.listener):
        observe = observe_scope(session.run, scope, block.options.redact)
    interface = open_interface(block.interface, block, scope) if block.interface else None
    opened: list[Handlers] = []
    gates: list[RunGate] = []

    def begin(block: Block, first_turn: int) -> AnswerConversation:
        """Start the conversation; a conversation without code may be followed by one with code."""
        handlers = Handlers(block, scope, contract, interface)
        describe = partial(make_pending_effect, block, scope, session)
        gate = make_gate(block, scope, session, describe, handlers.redactor)
        gates[:] = [gate] if gate else []
        serve = make_effect_server(
            handlers.serve,
            # Static code is part of the program, so only its gated calls are shown.
            replace(session, interceptors=(), record=None) if block.code else session,
            describe,
            observe,
            redact,
            gate,
            scope,
        )
        if block.code:
            # Raises ReplyError if the code cannot run here, or did not bind the outputs.
            result = yield from serve(Run(block.code, done=True), 1)
            if isinstance(result, Answer | Refusal):
                text = result.text if isinstance(result, Answer) else result.message
                raise ReplyError(f"the static code of this block failed: {text}")
            return typing.cast(Outcome, result)
        opened.append(handlers)
        if block.options.effects == "answer":
            return (yield from answer(block, handlers, serve))
        reopen = partial(build_opening, block, scope, handlers.redactor)
        opening = reopen()
        if block.data_outputs:
            block = replace(block, data_outputs=find_data_outputs(block, scope, opening))
        return (
            yield from converse(
                block,
                session.protocol,
                opening,
                serve,
                make_interface_form(interface, session.protocol) if interface else None,
                first_turn,
                tuple(find_attachments(scope.list_inputs(block.reads), handlers.redactor).found),
                reopen,
            )
        )

    def answer(block: Block, handlers: Handlers, serve: EffectServer) -> AnswerConversation:
        """Ask for data, or end at once if the data cannot be shown."""
        in_time = partial(limit_time, block.options.max_code_seconds)
        inputs = list_inputs(block, scope, handlers.redactor, in_time)
        prompt = make_answer_prompt(block, scope, inputs, handlers.redactor)
        if isinstance(prompt, PromptProblem):
            yield from serve(NeedsCode(prompt.reason), 1)  # an error if no code is allowed
            return CodeNeeded(0)
        handlers.offer(prompt.choices)
        return (
            yield from converse(
                block,
                session.protocol,
                prompt.text,
                serve,
                prompt.form,
                attachments=prompt.attachments,
                reopen=lambda: prompt.text,
            )
        )

    conversation = with_code_on_request(block, begin)
    undo = partial(roll_back, scope, None)
    if block.options.on_error == "rollback":
        undo = partial(roll_back, scope, scope.save_bindings())
        conversation = with_end(conversation, undo)
    if interface is not None:
        conversation = with_end(conversation, partial(close_interface, interface, undo))
    return with_lifecycle_events(
        conversation,
        session,
        block.options.effects or "",
        tried,
        block.instruction,
        observe,
        redact,
        lambda outcome: (
            *(opened[-1].list_warnings(outcome) if opened else ()),
            *(sign for gate in gates for sign in gate.signs),
        ),
        scope.close,
    )


def with_code_on_request(
    block: Block, begin: Callable[[Block, int], AnswerConversation]
) -> Conversation:
    """Yield a block's conversation; if it answers and needs code, it continues as `direct`."""
    outcome = yield from begin(block, 1)
    if isinstance(outcome, CodeNeeded):
        options = replace(block.options, effects="direct")
        with_code = replace(block, options=options, data_outputs=())
        outcome = yield from begin(with_code, outcome.turn + 1)
        assert not isinstance(outcome, CodeNeeded)
    return outcome


def with_end(
    conversation: Conversation, end: Callable[[Outcome | BaseException], None]
) -> Conversation:
    """Yield a conversation, and call `end` with its outcome or the exception that ends it."""
    try:
        outcome = yield from conversation
    except BaseException as error:
        end(error)
        raise
    end(outcome)
    return outcome


def close_interface(
    interface: OpenInterface,
    undo: Callable[[Outcome | BaseException], None],
    ending: Outcome | BaseException,
) -> None:
    """Close an interface; undo the block if its `finally_` ends it with an exception."""
    try:
        interface.close(ending)
    except BaseException as error:
        undo(error)
        raise


def roll_back(scope: Scope, before: SavedBindings | None, ending: Outcome | BaseException) -> None:
    """Restore saved variables, if any, after any exception: the runtime's, the program's, or a cancellation."""
    if before is not None and isinstance(ending, Raised | BaseException):
        scope.restore_bindings(before)


def make_pending_effect(
    block: Block, scope: Scope, session: Session, effect: Effect, turn: int, number: int
) -> PendingEffect:
    """Describe a block's effect to its interceptors."""
    effects = block.options.effects or "direct"
    render = partial(render_variables, scope, block.options)
    return describe_effect(
        session, effect, turn, number, effects, block.instruction, block.is_async, render
    )


def make_gate(
    block: Block,
    scope: Scope,
    session: Session,
    describe: Callable[[Effect, int, int], PendingEffect],
    redactor: Redactor,
) -> RunGate | None:
    """Return a run's gate, if there are gated functions.

    Raises ConfigurationError for rules for functions without the decorator if the code is not contained.
    """
    has_rules = bool(session.settings.calls) and block.options.effects != "answer"
    if has_rules and block.options.policy != "contained":
        raise ConfigurationError(
            'njrt.using(calls=...) decides about calls of contained code: write policy="contained", or @njrt.gated '
            "above the functions"
        )
    if not has_rules and not is_used():
        return None
    from njrt.session.gate import RunGate

    return RunGate(session, scope, describe, redactor)
