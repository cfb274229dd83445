"""One question to a model, as a conversation without I/O: the effect, its requests, and the value of the reply.

    ask_model("Is this spam? ...", bool, setup, is_async=False)   ──driven──>   Returned(True)

`njrt.llm` asks it from ordinary code, and `ask` from the code of a block. An answer that does not fit is asked for
once more.
"""

from __future__ import annotations

from njrt.agent.conversation import Conversation, ServedEffect
from njrt.decisions import PendingEffect
from njrt.effects import AskModel, Effect, Refusal
from njrt.errors import PolicyError, ReplyError
from njrt.messages import Json, Message, Reply, Request, Tool, UserMessage
from njrt.outcome import Returned, UserValue
from njrt.session.effect_server import make_effect_server
from njrt.session.run_setup import RunSetup
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


def ask_model(
    prompt: str,
    wanted: AnswerType,
    setup: RunSetup,
    is_async: bool,
    rejection: type[Exception] = PolicyError,
) -> Conversation:
    """The conversation: one effect, the question; where an interceptor rejects it, a `rejection` is raised."""
    schema = None if wanted is None or wanted is str else make_answer_schema(wanted)

    def serve(effect: Effect | Refusal, turn: int) -> ServedEffect:
        match effect:
            case AskModel(question):
                return (yield from ask_until_valid(question, wanted, schema, setup))
            case Refusal(words):
                raise rejection(f"a question to the model was rejected: {words}")
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
