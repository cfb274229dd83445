"""Asking a model from ordinary code: one question, one value that fits what was asked for.

    njrt.llm(f"Translate into French: {text}")                         str
    njrt.llm(f"Is this mail spam? {mail.body}", bool)                  True or False
    njrt.llm(f"Whose job is this? {ticket}", Literal["billing", "it"])
    await njrt.allm(f"Read this order: {letter}", Order)               a dataclass, pydantic model, list, ...

It is what generated code calls where a judgement is needed. The answer is checked, and sent back once if it
does not fit. Settings, recordings, the cache, limits, accounts and traces are those of natural blocks; in
compiled files `llm_at("mail.njpy:12", model=...)` gives the helper its place and options.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from njrt.agent.conversation import Conversation
from njrt.errors import NaturalError, ReplyError
from njrt.messages import Message, Protocol, Reply, Request, Tool, UserMessage
from njrt.models.model import LayeredModel
from njrt.options import Options
from njrt.outcome import Returned, UserValue
from njrt.session.drive import adrive, drive
from njrt.session.limits import Meter, list_open_meters, read_limits
from njrt.session.session import (
    Metered,
    Notified,
    Session,
    add_place,
    make_run_id,
    with_lifecycle_events,
)
from njrt.session.settings import (
    find_recorder,
    get_listener,
    get_settings,
    make_layers,
    resolve_model,
    resolve_options,
)
from njrt.session.structured_output import (
    AnswerType,
    convert_answer,
    describe_schema,
    find_schema_problems,
    make_answer_schema,
    parse_answer,
    wrap_schema,
)

QUESTION_SYSTEM_PROMPT = """\
You are a function in a running program. Answer the question with exactly what it asks for: no explanation, \
no greeting, nothing around it."""

MAX_ANSWERS = 2
"""Answers that are looked at: the first, and one that mends it."""

Asker = Callable[..., UserValue]
AsyncAsker = Callable[..., Awaitable[UserValue]]


def llm(prompt: str, schema: AnswerType = None) -> UserValue:
    """Ask a model, and return its answer as text or, with `schema`, as a value that fits it.

    `schema` is str, bool, int, float, an Enum, a Literal, a list of such, a dataclass, a pydantic model, or
    a JSON schema as a dict. Raises `ReplyError` where the answer does not fit even when mended.
    """
    return _ask(prompt, schema, "", None, {})


def allm(prompt: str, schema: AnswerType = None) -> Awaitable[UserValue]:
    """Do what `llm` does, in an `async` function: the event loop runs on meanwhile."""
    return _aask(prompt, schema, "", None, {})


def llm_at(place: str, *, project: Mapping[str, Any] | None = None, **options: Any) -> Asker:
    """Give the `llm` of one place in a program, with the options of its block, file and project."""

    def llm(prompt: str, schema: AnswerType = None) -> UserValue:
        return _ask(prompt, schema, place, project, options)

    return llm


def allm_at(place: str, *, project: Mapping[str, Any] | None = None, **options: Any) -> AsyncAsker:
    """Give the `allm` of one place in a program."""

    def allm(prompt: str, schema: AnswerType = None) -> Awaitable[UserValue]:
        return _aask(prompt, schema, place, project, options)

    return allm


def _ask(
    prompt: str,
    wanted: AnswerType,
    place: str,
    project: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> UserValue:
    try:
        outcome = drive(_make_question_session(prompt, wanted, place, project, options))
    except NaturalError as error:
        error.__traceback__ = None
        raise
    assert isinstance(outcome, Returned)
    return outcome.value


async def _aask(
    prompt: str,
    wanted: AnswerType,
    place: str,
    project: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> UserValue:
    try:
        outcome = await adrive(_make_question_session(prompt, wanted, place, project, options))
    except NaturalError as error:
        error.__traceback__ = None
        raise
    assert isinstance(outcome, Returned)
    return outcome.value


def _make_question_session(
    prompt: str,
    wanted: AnswerType,
    place: str,
    project: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> Session:
    """Put one question together, behind the layers that surround every natural block."""
    try:
        settings = get_settings()
        chosen = resolve_options(options, project, settings, place or "njrt.llm")
        recorder = find_recorder(settings, os.environ)
        model = resolve_model(settings, chosen, recorder)
        layers = make_layers(settings, chosen, model, recorder)
    except NaturalError as error:
        raise add_place(error, place or "njrt.llm") from None
    run, tell = make_run_id(), get_listener(settings)
    meter = Meter(read_limits(chosen), place=place, around=list_open_meters())
    conversation = ask_until_valid(prompt, wanted, place, chosen, chosen.protocol or model.protocol)
    return Session(
        with_lifecycle_events(conversation, place, "llm", run, model.name, tell),
        LayeredModel(model, (Metered(meter), Notified(run, tell), *layers)),
        meter.seconds_left,
    )


def ask_until_valid(
    prompt: str, wanted: AnswerType, place: str, options: Options, protocol: Protocol
) -> Conversation:
    """The conversation: a question, and a second one where the answer does not fit."""
    schema = None if wanted is None or wanted is str else make_answer_schema(wanted)
    is_strict = schema is not None and not any(find_schema_problems(schema))
    question = prompt
    if schema is not None:
        question += (
            f'\n---\nAnswer with JSON and nothing else: {{"value": {describe_schema(schema)}}}'
        )
    tools: tuple[Tool, ...] = ()
    if schema is not None and is_strict and protocol == "tools":
        tools = (Tool("answer", "Answer the question.", wrap_schema(schema)),)
    messages: tuple[Message, ...] = (UserMessage(question),)
    trouble = ""
    for turn in range(1, MAX_ANSWERS + 1):
        reply = yield Request(
            system=QUESTION_SYSTEM_PROMPT,
            messages=messages,
            tools=tools,
            temperature=options.temperature if protocol == "tools" else options.temperature or 0.0,
            max_reply_tokens=options.max_reply_tokens or 4096,
            timeout=options.max_call_seconds or 120.0,
            place=place,
            turn=turn,
        )
        assert isinstance(reply, Reply)
        try:
            return Returned(_read_answer(reply, wanted if schema is not None else None))
        except ValueError as error:
            trouble = str(error)
        said = _get_reply_text(reply)[:1000]
        messages = (UserMessage(f"{question}\n---\nNot {said!r}: {trouble}. Answer again."),)
    raise ReplyError(f"the model's answer does not fit what was asked for: {trouble}")


def _read_answer(reply: Reply, wanted: AnswerType) -> UserValue:
    if reply.stop != "end":
        raise ValueError("the answer was cut off" if reply.stop == "length" else "refused")
    if wanted is None:
        text = _get_reply_text(reply).strip()
        if not text:
            raise ValueError("the answer was empty")
        return text
    for call in reply.message.calls:
        if call.arguments is not None and "value" in call.arguments:
            return convert_answer(call.arguments["value"], wanted)
    return parse_answer(_get_reply_text(reply), wanted)


def _get_reply_text(reply: Reply) -> str:
    """What the model said, as text."""
    calls = [call.raw for call in reply.message.calls]
    return reply.message.text or " ".join(calls)
