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

This module drives the conversation; what it drives neither asks a model nor waits.
"""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Coroutine, Generator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, assert_never, cast

from njrt.agent.conversation import ConversationStep, PredictionRequest, StepResult
from njrt.agent.handlers import find_secrets
from njrt.block import Block, extract_code, extract_instruction
from njrt.decisions import PendingEffect
from njrt.errors import ConfigurationError, NaturalError
from njrt.execution.contracts import make_contract
from njrt.execution.execute import (
    Execution,
    Snippet,
    aexecute,
    end_by_error,
    end_by_result,
    execute,
    start_snippet,
)
from njrt.interface import Interface
from njrt.jumps import Break, Continue, Return
from njrt.messages import Request
from njrt.outcome import Broke, Completed, Continued, Outcome, Raised, Returned, UserValue
from njrt.rendering.redaction import Redactor
from njrt.scope.scope import Scope, make_scope
from njrt.session.interception import intercept
from njrt.session.question import AnswerType, ask_model
from njrt.session.recursion_room import recursion_room
from njrt.session.run_setup import RunSetup, add_place_note, set_up_run
from njrt.session.session import CanaryObserver, Session, make_session
from njrt.session.tuning import NO_TUNING, NOT_TUNED, choose_tuning, find_model_name
from njrt.timeouts import call_with_timeout

StepAnswerer = Callable[[ConversationStep, Session], Coroutine[Any, Any, StepResult]]
"""Gives the conversation what it asks for, with or without awaiting it."""

VariablesLambda = Callable[[], tuple[Any, ...]]
"""A lambda that names the variables of a block: only its closure and its globals are ever looked at."""


class FrameHider:
    """A `with` that removes the runtime's own frames from the traceback of a `NaturalError`."""

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if isinstance(error, NaturalError):
            error.__traceback__ = None


hidden_frames = FrameHider()

_NO_INTERFACE = object()
"""The block names no interface. An interface that is None is a mistake of the program, and an error."""


def run(
    prompt: str,
    variables: VariablesLambda,
    *,
    at: str = "",
    reraises: bool = False,
    **arguments: Any,
) -> bool:
    """Carry out one natural block on the variables of the program around it.

      `variables` is a lambda over every variable that the prompt names; it is never called: its closure and
      its globals are what is shared. `at` is the block's place. The other arguments are those of `start_session`.

      Raises `Break`, `Continue` or `Return` for the jumps, whatever the block raises in the program, or a
    `NaturalError` when the block cannot be carried out. With `reraises`, as in an `except*` suite, it returns
      True where the program is to execute `raise`; otherwise False.
    """
    # The code is run here, not in the coroutine, and by as few calls as possible: blocks may call each other
    # recursively, and each level of that should cost little of Python's recursion limit.
    snippet = execution = None
    ending: list[Outcome] = []
    with hidden_frames, recursion_room:
        session = start_session(prompt, variables, at=at, is_async=False, **arguments)
        coroutine = drive_conversation(session, answer_step)
        try:
            snippet = coroutine.send(None)
            while True:
                try:
                    if snippet.is_contained:
                        with recursion_room, recursion_room:  # for the frames of the door
                            execution = execute(snippet, seconds=session.code_seconds())
                    else:
                        try:
                            result = call_with_timeout(
                                session.code_seconds(), start_snippet(snippet)
                            )
                        except BaseException as error:
                            execution = end_by_error(snippet, error)
                        else:
                            execution = end_by_result(snippet, result)
                            del result
                except BaseException as error:
                    snippet = coroutine.throw(error)
                else:
                    snippet = coroutine.send(execution)
        except StopIteration as end:
            ending.append(end.value)
        finally:
            del (
                snippet,
                execution,
            )  # an exception in them keeps this frame alive, and so the program's values
        return apply_outcome(ending.pop(), at, reraises)


async def arun(
    prompt: str,
    variables: VariablesLambda,
    *,
    at: str = "",
    reraises: bool = False,
    **arguments: Any,
) -> bool:
    """Do what `run` does, in an `async` function, without blocking the event loop."""
    with hidden_frames:
        session = start_session(prompt, variables, at=at, is_async=True, **arguments)
        return apply_outcome(await adrive(session), at, reraises)


def drive(session: Session) -> Outcome:
    """Carry out a session that runs no code, in this thread, without an event loop."""
    try:
        drive_conversation(session, answer_step).send(None)
    except StopIteration as end:
        return cast(Outcome, end.value)
    raise AssertionError("a session without code never waits")


def adrive(session: Session) -> Coroutine[Any, Any, Outcome]:
    """Carry out a session without blocking the event loop while the model answers or code awaits."""
    return drive_conversation(session, aanswer_step)


def get_answer(session: Session) -> UserValue:
    """Drive the session of a question; give its value."""
    outcome = drive(session)
    assert isinstance(outcome, Returned)
    return outcome.value


async def aget_answer(session: Session) -> UserValue:
    """Do the same without blocking the event loop."""
    outcome = await adrive(session)
    assert isinstance(outcome, Returned)
    return outcome.value


def make_asker(scope: Scope, setup: RunSetup, is_async: bool) -> Callable[..., Any]:
    """Return the function `ask` for the code of one run: a question to its model, as a part of the run, redacted."""
    redactor = Redactor(setup.options.redact is None or setup.options.redact)

    def ask(question: str, type: AnswerType = None) -> Any:
        """Ask the model a question; give text, or a value of a type, such as bool or list[str]."""
        if "ask" not in scope.lent:
            raise RuntimeError("`ask` works only while its block runs")
        find_secrets(scope, redactor)
        shown = redactor.redact_whole(str(question))
        # A rejection is an error of the code, so that the model is told of it.
        conversation = ask_model(shown, type, setup, is_async, rejection=RuntimeError)
        code_seconds = setup.meter.seconds_left
        session = Session(conversation, setup.model, code_seconds, setup.interceptors, setup.record)
        return aget_answer(session) if is_async else get_answer(session)

    return ask


async def drive_conversation(session: Session, answer: StepAnswerer) -> Outcome:
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
                proceed = partial(conversation.send, await answer(step, session))
            except BaseException as error:
                proceed = partial(conversation.throw, error)
    finally:
        del proceed  # an exception in it would keep this frame alive, and so the program's values


async def answer_step(step: ConversationStep, session: Session) -> StepResult:
    """Ask the model or the interceptors in this thread, or have `run` run the code."""
    match step:
        case Request():
            return session.model.ask(step)
        case PredictionRequest(model, request):
            return model.ask(request)
        case PendingEffect():
            return await intercept(step, session.interceptors, session.record)
        case _:
            return await request_execution(step)


@types.coroutine
def request_execution(snippet: Snippet) -> Generator[Snippet, Execution, Execution]:
    """Suspend the coroutine until `run` has run the code."""
    return (yield snippet)


def aanswer_step(step: ConversationStep, session: Session) -> Coroutine[Any, Any, StepResult]:
    """Ask the model or the interceptors or run the code, without blocking the event loop."""
    match step:
        case Request():
            return session.model.aask(step)
        case PredictionRequest(model, request):
            return model.aask(request)
        case PendingEffect():
            return intercept(step, session.interceptors, session.record)
        case _:
            return aexecute(step, seconds=session.code_seconds())


def apply_outcome(outcome: Outcome, place: str, reraises: bool = False) -> bool:
    """Leave the block according to its outcome: return, jump, or raise in the program.

    With `reraises`, return True where the program is to re-raise what it handles.
    """
    match outcome:
        case Completed():
            return False
        case Raised(is_reraise=True) if reraises:
            return True
        case Broke():
            raise Break
        case Continued():
            raise Continue
        case Returned(value):
            raise Return(value)
        case Raised(exception, is_reraise):
            if not is_reraise:
                add_place_note(exception, place)
            context = exception.__context__
            try:
                raise exception
            finally:
                exception.__context__ = context  # as `raise` in the code of the block has set it
                del exception, outcome, context  # its traceback holds this frame
        case _:
            assert_never(outcome)


def start_session(
    prompt: str,
    variables: VariablesLambda,
    *,
    at: str,
    is_async: bool,
    writes: str = "",
    reads: str = "",
    types: Callable[[], Mapping[str, Any]] | None = None,
    labels: str = "",
    cls: str | None = None,
    me: str | None = None,
    ns: MutableMapping[str, Any] | None = None,
    own: str = "",
    nl: str = "",
    uses: str = "",
    project: Mapping[str, Any] | None = None,
    tried: str = "",
    canary: CanaryObserver | None = None,
    code: str = "",
    lends: Mapping[str, Any] | None = None,
    ensures: Sequence[str] = (),
    given: VariablesLambda | None = None,
    tuned: Mapping[str, Mapping[str, Any]] = NOT_TUNED,
    examples: Sequence[tuple[str, str, str]] = (),
    interface: object = _NO_INTERFACE,
    **options: Any,
) -> Session:
    """Prepare one run of a block, from the arguments in compiled code and the settings around it.

    `writes` are the outputs, `reads` those that the prompt reads as well, and `labels` the legal jumps, all
    separated by blanks; `types` maps outputs to their types; `cls`, `me`, `ns`, `own` and `nl` describe a block
    in a class body or a method; `uses` has the parts of imports that the prompt names; `tried` says how static code fared that was tried first; `canary` compares the run with
    that of the code; `code` is static code, which is run in place of a conversation, and
    `lends` has names for it beside the variables; `ensures` are the asserts that follow the block, as texts, and `given` is a
    lambda over the variables that only they read; `tuned` has options for the block by model, as `njc tune` chose them, and
    `examples` has shown values with replies; `interface` names the effects of the block; `project` and the other keywords
    are options.
    """
    tuning = NO_TUNING
    if tuned:
        tuning = choose_tuning(tuned, examples, find_model_name(at, options, project))
        options |= tuning.options
    setup = set_up_run(at, options, project, bool(code))
    make_block_scope = partial(
        make_scope,
        variables,
        writes=writes,
        types=types,
        cls=cls,
        me=me,
        ns=ns,
        own=own,
        nl=nl,
        uses=uses,
        at=at,
    )
    instruction, jumps = extract_instruction(prompt), tuple(labels.split())
    shown = tuning.examples if tuning.fits(setup.options) else ()
    block = Block(instruction, jumps, at, is_async, setup.options, tuple(reads.split()), shown)
    scope = make_block_scope()
    if interface is not _NO_INTERFACE:
        block = set_interface(block, interface)
    if code:
        block = replace(
            block, options=replace(block.options, effects="direct"), code=extract_code(code)
        )
        for name, value in (lends or {}).items():
            scope.lend(name, value)
    elif block.options.effects in ("direct", "answer"):
        scope.lend("ask", make_asker(scope, setup, is_async))
    contract = None
    if ensures and not code and canary is None:
        contract = make_contract(ensures, variables, given, ns, cls)
    session = make_session(block, scope, setup, tried, canary, contract)
    path = setup.settings.examples or os.environ.get("NJC_EXAMPLES")
    if not path:
        return session
    from njrt.session.examples import make_example_writer, with_example_recording

    redact = block.options.redact
    conversation = with_example_recording(
        session.conversation,
        make_block_scope(),
        at,
        block.instruction,
        make_example_writer(path),
        True if redact is None else redact,
    )
    return replace(session, conversation=conversation)


def set_interface(block: Block, interface: object) -> Block:
    """Return a block with the effects of an interface.

    Raises:
        ConfigurationError: it is something else, such as None. Without this error the model could run Python.
    """
    if not isinstance(interface, Interface):
        raise ConfigurationError(
            f"{block.place}: interface= takes an njrt.Interface, not {type(interface).__name__}"
        )
    options = replace(block.options, effects="interface")
    return replace(block, options=options, interface=interface)
