"""Ask a model a question: one value of a given type.

    njrt.llm(f"Is this mail spam? {mail.body}", bool)         True or False
    await njrt.allm(f"Read this order: {letter}", Order)      a dataclass, pydantic model, list, ...
    ask(f"Is this an insult? {item}", bool)                   the same in a block's code

A question is repeated if its answer does not fit. In compiled files `llm_at("mail.njpy:12",
model=...)` gives the function its place and options.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from njrt.block.agent.answer import describe_form, list_meanings, unfence
from njrt.block.agent.conversation import Conversation, ServedEffect
from njrt.block.agent.secrets import find_secrets
from njrt.block.session.run import BaseRun
from njrt.block.session.session import Session, complete_error, open_session
from njrt.block.session.settings import freeze_options
from njrt.data.outcome import Outcome, Returned, UserValue
from njrt.effects import AskModel, Effect, Refusal
from njrt.errors import NaturalError, PolicyError, ReplyError
from njrt.execution.scope.scope import Scope
from njrt.messages import (
    ANSWER_DECODER,
    Json,
    Message,
    Reply,
    Request,
    UserMessage,
    make_object_schema,
)
from njrt.values.json_forms import (
    JsonForm,
    describe_object,
    describe_schema,
    make_json_form,
    move_definitions,
)
from njrt.values.rendering.redaction import Redactor

Asker = Callable[..., UserValue]
AsyncAsker = Callable[..., Awaitable[UserValue]]
AnswerType = Any
"""The expected answer: a type with a JSON form; None means text."""

QUESTION_SYSTEM_PROMPT = """\
You are a function in a running program. Answer the question with exactly what it asks for: no \
explanation, no greeting, nothing around it."""

MAX_ANSWERS = 2
"""How many answers are read: the first, and one more if it does not fit."""


def llm(prompt: str, schema: AnswerType = None) -> UserValue:
    """Ask the model `prompt`; give text, or a value that fits `schema`.

    `schema` is a type with a JSON form (`bool`, an Enum, a dataclass, `dict[str, int]`, ...), as
    for the outputs of blocks that answer. Raises `ReplyError` if the second answer does not fit
    either.
    """
    return llm_at("")(prompt, schema)


def allm(prompt: str, schema: AnswerType = None) -> Awaitable[UserValue]:
    """Do what `llm` does, in an `async` function, without blocking the event loop."""
    return allm_at("")(prompt, schema)


def llm_at(place: str, *, project: Mapping[str, Any] | None = None, **options: Any) -> Asker:
    """Return the `llm` for one place, with the options of its block, file and project."""
    layers = freeze_options(options), freeze_options(project)

    def llm(prompt: str, schema: AnswerType = None) -> UserValue:
        try:
            session = open_session(place, *layers)
            return read_outcome(QuestionRun(session, prompt, schema, is_async=False).drive())
        except (NaturalError, RecursionError) as error:
            complete_error(error)
            raise

    return llm


def allm_at(place: str, *, project: Mapping[str, Any] | None = None, **options: Any) -> AsyncAsker:
    """Return the `allm` for one place in a program."""
    layers = freeze_options(options), freeze_options(project)

    async def allm(prompt: str, schema: AnswerType = None) -> UserValue:
        try:
            session = open_session(place, *layers)
            run = QuestionRun(session, prompt, schema, is_async=True)
            return read_outcome(await run.adrive())
        except (NaturalError, RecursionError) as error:
            complete_error(error)
            raise

    return allm


def make_asker(
    scope: Scope, session: Session, redactor: Redactor, is_async: bool
) -> Callable[..., Any]:
    """Return the function `ask` for one run's code, which asks its model a redacted question."""

    def begin(question: str, type: AnswerType) -> InnerQuestionRun:
        if not scope.is_lent("ask"):
            raise RuntimeError("`ask` works only while its block runs")
        find_secrets(scope, redactor)
        return InnerQuestionRun(session, redactor.redact(str(question)), type, is_async)

    def ask(question: str, type: AnswerType = None) -> Any:
        """Ask the model a question; give text, or a value of a type, such as bool or list[str]."""
        return read_outcome(begin(question, type).drive())

    async def ask_later(question: str, type: AnswerType = None) -> Any:
        return read_outcome(await begin(question, type).adrive())

    return functools.update_wrapper(ask_later, ask) if is_async else ask


def read_outcome(outcome: Outcome) -> UserValue:
    """Return the answer with which a question's conversation has ended."""
    assert isinstance(outcome, Returned)
    return outcome.value


class QuestionRun(BaseRun):
    """The run of one question, which is its only effect."""

    effects = "llm"
    rejection: type[Exception] = PolicyError
    """Raised if an interceptor rejects the question."""

    def __init__(self, session: Session, prompt: str, wanted: AnswerType, is_async: bool) -> None:
        super().__init__(session, is_async)
        self.prompt, self.wanted = prompt, wanted

    def converse(self) -> Conversation:
        """Ask the question, as an effect that interceptors see."""
        self.form = form = make_question_form(self.wanted)
        shown = "" if form is None else describe_schema(form.schema_with_members)
        outcome = yield from self.serve(AskModel(self.prompt, shown), 1)
        assert isinstance(outcome, Returned)
        return outcome

    def handle(self, effect: Effect | Refusal, turn: int) -> ServedEffect:
        match effect:
            case AskModel(question):
                return ask_until_valid(question, self.form, self.session)
            case Refusal(words):
                raise self.rejection(f"a question to the model was rejected: {words}")
            case _:
                raise AssertionError("a question is the only effect of `llm`")


class InnerQuestionRun(QuestionRun):
    """A question that a block's code asks, as a part of the block's run."""

    rejection = RuntimeError
    """An error in the code, so that the model learns of it."""

    def begin(self) -> None:
        """Stay in the block's run."""

    def end(self, ending: Outcome | BaseException) -> None:
        """Stay in the block's run."""


# ── the conversation ─────────────────────────────────────────────────────────────────────────────


def make_question_form(wanted: AnswerType) -> JsonForm | None:
    """Return an answer's form; None for text. Raise TypeError for a type without a JSON form."""
    if wanted is None or wanted is str:
        return None
    if isinstance(wanted, Mapping):
        raise TypeError("a JSON schema is no type; ask for a type, such as a `TypedDict`")
    try:
        return make_json_form(wanted)
    except TypeError as error:
        raise TypeError(f"{wanted!r} has no JSON form: {error}; ask for another type") from None


def ask_until_valid(prompt: str, form: JsonForm | None, session: Session) -> Conversation:
    """Yield the conversation: a question, repeated with the reason if the answer does not fit."""
    options, question, schema = session.options, prompt, None
    if form is not None:
        example = describe_form([describe_object({"value": form})], list_meanings([form.declared]))
        question = f"{prompt}\n---\n{example}"
        # The answer is the `value` of an object.
        definitions: dict[str, Json] = {}
        inner = move_definitions(form.schema, definitions)
        schema = make_object_schema({"value": inner})
        schema |= {"$defs": definitions} if definitions else {}
    messages: tuple[Message, ...] = (UserMessage(question),)
    problem = ""
    for turn in range(1, MAX_ANSWERS + 1):
        reply = yield Request(
            system=QUESTION_SYSTEM_PROMPT,
            messages=messages,
            temperature=options.temperature
            if session.protocol == "tools"
            else options.temperature or 0.0,
            max_reply_tokens=options.max_reply_tokens or 4096,
            timeout=options.max_call_seconds or 120.0,
            place=session.place,
            turn=turn,
            schema=schema,
        )
        assert isinstance(reply, Reply)
        try:
            return Returned(read_answer(reply, form))
        except ValueError as error:
            problem = str(error)
        text = _get_reply_text(reply)[:1000]
        messages = (UserMessage(f"{question}\n---\nNot {text!r}: {problem}. Answer again."),)
    raise ReplyError(f"the model's answer does not fit what was asked for: {problem}")


def read_answer(reply: Reply, form: JsonForm | None) -> UserValue:
    """Return a reply's value, as JSON with or without the object around it, or as plain text.

    Raises ValueError, with a message for the model, if it does not fit.
    """
    if reply.stop != "end":
        raise ValueError("the answer was cut off" if reply.stop == "length" else "refused")
    text = _get_reply_text(reply).strip()
    if form is None:
        if not text:
            raise ValueError("the answer was empty")
        return text
    text = unfence(text)
    try:
        answer = ANSWER_DECODER.decode(text)
    except (ValueError, RecursionError):
        answer = text
    if not (isinstance(answer, dict) and answer.keys() == {"value"}):
        return form.decode(answer)
    try:
        return form.decode(answer["value"])
    except ValueError:
        with suppress(ValueError):  # the type itself has the one name `value`
            return form.decode(answer)
        raise


def _get_reply_text(reply: Reply) -> str:
    calls = [call.raw for call in reply.message.calls]
    return reply.message.text or " ".join(calls)
