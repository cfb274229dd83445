"""`run` and `arun`: what a compiled file calls where a natural block stood.

    try:
        _nj.run(
            \"\"\"natural
            Put the sum of <prices> into <:total>; break if one is missing.
            \"\"\",
            lambda: (prices, total),
            writes="total",
            labels="break",
            at="shop.njpy:12",
        )
    except _nj.Break:
        break

    Block + Scope -> (Request <-> Reply) -> Effect -> Result -> Outcome -> return, jump or raise

This module is the edge of the runtime: it reads the environment and the clock, puts the pieces together and
drives the conversation. Everything that it drives is free of I/O.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Mapping, MutableMapping
from dataclasses import replace
from functools import partial
from typing import Any, assert_never, cast

from njrt.agent.conversation import ConversationStep
from njrt.block import Block, extract_instruction
from njrt.errors import NaturalError
from njrt.execution.execute import Execution, aexecute, execute
from njrt.jumps import Break, Continue, Return
from njrt.messages import Reply, Request
from njrt.models.model import run_without_waiting
from njrt.outcome import (
    Broke,
    Completed,
    Continued,
    Outcome,
    Raised,
    Returned,
)
from njrt.scope.scope import make_scope
from njrt.session.session import Session, add_place, add_place_note, make_session
from njrt.session.settings import (
    find_recorder,
    get_listener,
    get_settings,
    make_layers,
    resolve_model,
    resolve_options,
)

StepAnswerer = Callable[[ConversationStep, Session], Coroutine[Any, Any, Reply | Execution]]
"""Gives the conversation what it asks for: at once, or by awaiting it."""

VariablesLambda = Callable[[], tuple[Any, ...]]
"""A lambda that names the variables of a block: only its closure and its globals are ever looked at."""


def run(prompt: str, variables: VariablesLambda, *, at: str = "", **arguments: Any) -> None:
    """Carry out one natural block on the variables of the program around it.

    `variables` is a lambda over every variable that the prompt names; it is never called: its closure and
    its globals are what is shared. `at` is the block's place. The other arguments are those of `start_session`.

    Raises `Break`, `Continue` or `Return` for the jumps, whatever the block raises in the program, or a
    `NaturalError` when the block cannot be carried out.
    """
    try:
        apply_outcome(
            drive(start_session(prompt, variables, at=at, is_async=False, **arguments)), at
        )
    except NaturalError as error:
        error.__traceback__ = None  # the way through the runtime tells a user nothing
        raise


async def arun(prompt: str, variables: VariablesLambda, *, at: str = "", **arguments: Any) -> None:
    """Do what `run` does, in an `async` function: the event loop runs on while the model thinks."""
    try:
        apply_outcome(
            await adrive(start_session(prompt, variables, at=at, is_async=True, **arguments)), at
        )
    except NaturalError as error:
        error.__traceback__ = None
        raise


def drive(session: Session) -> Outcome:
    """Carry a session out in this thread; nothing in it is awaited."""
    return run_without_waiting(drive_conversation(session, answer_step))


async def adrive(session: Session) -> Outcome:
    """Carry a session through; the event loop runs on while the model thinks and while code awaits."""
    return await drive_conversation(session, aanswer_step)


async def drive_conversation(session: Session, answered: StepAnswerer) -> Outcome:
    """Answer everything that the conversation asks for, until it returns the block's outcome."""
    conversation = session.conversation
    proceed = partial(next, conversation)
    try:
        while True:
            try:
                step = proceed()
            except StopIteration as end:
                return cast(Outcome, end.value)
            try:
                proceed = partial(conversation.send, await answered(step, session))
            except BaseException as error:
                proceed = partial(conversation.throw, error)
    finally:
        del proceed  # an exception in it would hold this frame, and so the program's values


async def answer_step(step: ConversationStep, session: Session) -> Reply | Execution:
    """Ask the model, or run the code, and return only then."""
    if isinstance(step, Request):
        return session.model.ask(step)
    return execute(step, seconds=session.code_seconds())


async def aanswer_step(step: ConversationStep, session: Session) -> Reply | Execution:
    """Ask the model, or run the code, while the event loop runs on."""
    if isinstance(step, Request):
        return await session.model.aask(step)
    return await aexecute(step, seconds=session.code_seconds())


def apply_outcome(outcome: Outcome, place: str) -> None:
    """Leave the block as its outcome says: return, jump, or raise in the program."""
    match outcome:
        case Completed():
            return
        case Broke():
            raise Break
        case Continued():
            raise Continue
        case Returned(value):
            raise Return(value)
        case Raised(exception):
            add_place_note(exception, place)
            try:
                raise exception
            finally:
                del exception, outcome  # its traceback holds this frame
        case _:
            assert_never(outcome)


def start_session(
    prompt: str,
    variables: VariablesLambda,
    *,
    at: str,
    is_async: bool,
    writes: str = "",
    types: Callable[[], Mapping[str, Any]] | None = None,
    labels: str = "",
    cls: str | None = None,
    me: str | None = None,
    ns: MutableMapping[str, Any] | None = None,
    own: str = "",
    nl: str = "",
    project: Mapping[str, Any] | None = None,
    tried: str = "",
    **options: Any,
) -> Session:
    """Put one run of a block together, from what compiled code says of it and from what surrounds it.

    `writes` are the outputs and `labels` the legal jumps, both separated by blanks; `types` maps outputs to
    their types; `cls`, `me`, `ns`, `own` and `nl` describe a block in a class body or a method; `tried` says
    how code fared that was tried first; `project` and the other keywords are options.
    """
    try:
        settings = get_settings()
        chosen = resolve_options(options, project, settings, at)
        recorder = find_recorder(settings, os.environ)
        model = resolve_model(settings, chosen, recorder)
        layers = make_layers(settings, chosen, model, recorder)
    except NaturalError as error:
        raise add_place(error, at) from None
    scope_here = partial(
        make_scope,
        variables,
        writes=writes,
        types=types,
        cls=cls,
        me=me,
        ns=ns,
        own=own,
        nl=nl,
        at=at,
        shadowing=chosen.effects != "direct",
    )
    block = Block(extract_instruction(prompt), tuple(labels.split()), at, is_async, chosen)
    session = make_session(block, scope_here(), model, layers, get_listener(settings), tried)
    file = settings.examples or os.environ.get("NJC_EXAMPLES")
    if not file:
        return session
    from njrt.session.examples import make_example_writer, with_example_recording

    keep = make_example_writer(file)
    seen = with_example_recording(session.conversation, scope_here(), at, block.instruction, keep)
    return replace(session, conversation=seen)
