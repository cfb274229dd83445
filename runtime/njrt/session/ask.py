"""Asking a model from ordinary code: one question, one value that fits what was asked for.

    njrt.llm(f"Translate into French: {text}")                         str
    njrt.llm(f"Is this mail spam? {mail.body}", bool)                  True or False
    njrt.llm(f"Whose job is this? {ticket}", Literal["billing", "it"])
    await njrt.allm(f"Read this order: {letter}", Order)               a dataclass, pydantic model, list, ...

Static code calls it where a judgement is needed. The answer is checked, and asked for once more if it does not
fit. Settings, recordings, the cache, limits, accounts and traces are those of natural blocks; in compiled files
`llm_at("mail.njpy:12", model=...)` gives the function its place and options.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from njrt.agent.conversation import Conversation, ServedEffect
from njrt.decisions import PendingEffect
from njrt.effects import AskModel, Effect, Refusal
from njrt.errors import PolicyError, ReplyError
from njrt.messages import Json, Message, Reply, Request, Tool, UserMessage
from njrt.outcome import Outcome, Returned, UserValue
from njrt.session.drive import adrive, drive, hidden_frames
from njrt.session.session import (
    RunSetup,
    Session,
    make_effect_server,
    set_up_run,
    with_lifecycle_events,
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
"""Answers that are read: the first, and one more if it does not fit."""

Asker = Callable[..., UserValue]
AsyncAsker = Callable[..., Awaitable[UserValue]]


def llm(prompt: str, schema: AnswerType = None) -> UserValue:
    """Ask the model `prompt`; give text, or a value that fits `schema`.

    `schema` is a type that pydantic knows (`bool`, an Enum, a dataclass, `list[str]`, ...). Raises `ReplyError`
    where the second answer does not fit either.
    """
    return llm_at("")(prompt, schema)


def allm(prompt: str, schema: AnswerType = None) -> Awaitable[UserValue]:
    """Do what `llm` does, in an `async` function, without blocking the event loop."""
    return allm_at("")(prompt, schema)


def llm_at(place: str, *, project: Mapping[str, Any] | None = None, **options: Any) -> Asker:
    """The `llm` of one place in a program, with the options of its block, file and project."""

    def llm(prompt: str, schema: AnswerType = None) -> UserValue:
        with hidden_frames:
            return _get_answer(
                drive(_start_question(prompt, schema, place, project, options, False))
            )

    return llm


def allm_at(place: str, *, project: Mapping[str, Any] | None = None, **options: Any) -> AsyncAsker:
    """The `allm` of one place in a program."""

    async def allm(prompt: str, schema: AnswerType = None) -> UserValue:
        with hidden_frames:
            session = _start_question(prompt, schema, place, project, options, True)
            return _get_answer(await adrive(session))

    return allm


def _get_answer(outcome: Outcome) -> UserValue:
    assert isinstance(outcome, Returned)
    return outcome.value


def _start_question(
    prompt: str,
    wanted: AnswerType,
    place: str,
    project: Mapping[str, Any] | None,
    options: Mapping[str, Any],
    is_async: bool,
) -> Session:
    """Prepare one question, with the layers that surround every natural block."""
    setup = set_up_run(place, options, project)
    conversation = ask_model(prompt, wanted, setup, is_async)
    return Session(
        with_lifecycle_events(conversation, setup, "llm"),
        setup.model,
        setup.meter.seconds_left,
        setup.interceptors,
    )


def ask_model(prompt: str, wanted: AnswerType, setup: RunSetup, is_async: bool) -> Conversation:
    """The conversation: one effect, the question; where it is rejected, `PolicyError`."""
    schema = None if wanted is None or wanted is str else make_answer_schema(wanted)

    def serve(effect: Effect | Refusal, turn: int) -> ServedEffect:
        match effect:
            case AskModel(question):
                return (yield from ask_until_valid(question, wanted, schema, setup))
            case Refusal(words):
                raise PolicyError(f"a question to the model was rejected: {words}")
            case _:
                raise AssertionError("a question is the only effect of `llm`")

    def describe(effect: Effect, turn: int, number: int) -> PendingEffect:
        return PendingEffect(
            setup.run, setup.parent, setup.place, turn, number, effect, "llm", "", is_async, dict
        )

    question = AskModel(prompt, "" if schema is None else describe_schema(schema))
    outcome = yield from make_effect_server(serve, setup, describe)(question, 1)
    assert isinstance(outcome, Returned)
    return outcome


def ask_until_valid(
    prompt: str, wanted: AnswerType, schema: Json | None, setup: RunSetup
) -> Conversation:
    """The conversation: a question, asked again with the reason where the answer does not fit."""
    options, uses_tools = setup.options, setup.protocol == "tools"
    question = prompt
    tools: tuple[Tool, ...] = ()
    if schema is not None:
        question += (
            f'\n---\nAnswer with JSON and nothing else: {{"value": {describe_schema(schema)}}}'
        )
        if uses_tools and not any(find_schema_problems(schema)):
            tools = (Tool("answer", "Answer the question.", wrap_schema(schema)),)
    messages: tuple[Message, ...] = (UserMessage(question),)
    problem = ""
    for turn in range(1, MAX_ANSWERS + 1):
        reply = yield Request(
            system=QUESTION_SYSTEM_PROMPT,
            messages=messages,
            tools=tools,
            temperature=options.temperature if uses_tools else options.temperature or 0.0,
            max_reply_tokens=options.max_reply_tokens or 4096,
            timeout=options.max_call_seconds or 120.0,
            place=setup.place,
            turn=turn,
        )
        assert isinstance(reply, Reply)
        try:
            return Returned(_read_answer(reply, wanted if schema is not None else None))
        except ValueError as error:
            problem = str(error)
        text = _get_reply_text(reply)[:1000]
        messages = (UserMessage(f"{question}\n---\nNot {text!r}: {problem}. Answer again."),)
    raise ReplyError(f"the model's answer does not fit what was asked for: {problem}")


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
    """The text of a reply, or of its calls."""
    calls = [call.raw for call in reply.message.calls]
    return reply.message.text or " ".join(calls)
