"""The conversation with a model about one block, as a generator without I/O.

    Request   ──yielded──>  the driver asks a model   ──sent back──>  Reply
    Snippet   ──yielded──>  the driver runs the code  ──sent back──>  Execution
    PendingEffect  ──────>  interceptors are asked    ──sent back──>  Interception

It returns the block's `Outcome`. One generator serves both the synchronous and the asynchronous
driver; it uses neither network nor clock, so a test can drive it by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from itertools import chain, count, repeat

from njrt.block.agent.answer import AnswerForm, parse_answer
from njrt.block.agent.prompt import build_answer_prompt, build_direct_prompt
from njrt.block.agent.text_protocol import parse_text_effects
from njrt.block.agent.tools import DIRECT, DIRECT_TOOLS, Operation, make_tools, parse_tool_call
from njrt.block.block import Block
from njrt.data.decisions import Interception, PendingEffect
from njrt.data.media import Attachment
from njrt.data.outcome import Outcome
from njrt.data.records import record
from njrt.effects import Answer, Effect, EffectResult, NeedsCode, Refusal
from njrt.errors import ReplyError
from njrt.execution.execute import Execution, Snippet
from njrt.messages import (
    Message,
    ModelMessage,
    Protocol,
    Reply,
    Request,
    Tool,
    ToolMessage,
    ToolResult,
    UserMessage,
)

MAX_REPLY_CHARACTERS = 200_000
"""Longer replies are not read; text and call arguments count together."""

MAX_UNUSABLE_REPLIES = 3
"""The number of consecutive replies without an effect after which the block fails."""

MAX_REPEATS = 4
"""The number of equal mistakes that fail the block: consecutive equal answers or equal refusals."""


ConversationStep = Request | Snippet | PendingEffect
StepResult = Reply | Execution | Interception
Conversation = Generator[ConversationStep, StepResult, Outcome]


@record
class CodeNeeded:
    """The end of a conversation without code, at this turn, because the model asked for code."""

    turn: int


AnswerConversation = Generator[ConversationStep, StepResult, Outcome | CodeNeeded]
ServedEffect = Generator[ConversationStep, StepResult, EffectResult]
EffectServer = Callable[[Effect | Refusal, int], ServedEffect]
"""Serves one effect of a turn: yields its steps for the driver, and returns the result."""


def converse(
    block: Block,
    protocol: Protocol,
    opening: str,
    serve: EffectServer,
    form: AnswerForm | InterfaceForm | None = None,
    first_turn: int = 1,
    attachments: tuple[Attachment, ...] = (),
    reopen: Callable[[], str] | None = None,
) -> AnswerConversation:
    """Run a block's conversation: ask the model and serve its effects until one ends the block.

    The replies have the `form`: without one they are code. A model that answers may end the
    conversation by asking for code. If it repeats a mistake before any effect has succeeded, the
    conversation restarts from a new opening with the current values, written by `reopen`.
    """
    messages: tuple[Message, ...] = (UserMessage(opening, attachments),)
    detector = RepeatDetector(block.options.temperature)
    unusable = 0
    has_answers = False
    for turn in count(first_turn):
        reply = yield make_request(block, protocol, messages, detector.temperature, turn, form)
        assert isinstance(reply, Reply)
        requested = read_effects(reply, form, protocol, messages)
        if problem := find_reply_problem(reply, requested):
            unusable += 1
            if reply.stop == "refusal" or unusable >= MAX_UNUSABLE_REPLIES:
                raise ReplyError(f"{problem}; the model was asked {turn} time(s)")
            advice = UserMessage(format_retry_advice(reply, form, protocol))
            messages = (*messages, *keep_reply_text(reply), advice)
            continue
        unusable = 0
        results: list[EffectResult] = []
        refusals: list[Refusal] = []
        for effect in requested:
            result = NOT_CARRIED_OUT if refusals else (yield from serve(effect, turn))
            if isinstance(result, NeedsCode):
                return CodeNeeded(turn)
            if isinstance(result, Refusal):
                refusals.append(result)
            elif not isinstance(result, Answer):
                return result
            results.append(result)
        if detector.detect_repeat(reply, bool(refusals)):
            messages = messages[:-2]  # shown only once: models copy what repeats
        times = max((refusal.times for refusal in refusals), default=0)
        refuse_repeated_mistake(refusals, max(detector.repeats, times))
        has_answers = has_answers or len(refusals) < len(results)
        if isinstance(form, AnswerForm) and refusals and (restart := refusals[0].restart):
            # Models copy a reply that they have read, even a refused one.
            messages = (UserMessage(f"{opening}\n\n{restart}", attachments),)
        elif reopen is not None and not has_answers and times > 1:
            results_text = "\n\n".join(map(format_result, results))
            messages = (UserMessage(f"{reopen()}\n\n{results_text}", attachments),)
        else:
            ending = ONE_BLOCK if form is None and protocol == "text" else ""
            messages = (*messages, reply.message, make_results_message(reply, results, ending))
    raise AssertionError("a conversation ends by its outcome")


def refuse_repeated_mistake(refusals: Sequence[Refusal], times: int) -> None:
    """Raise `ReplyError` if the model has made the last refused mistake too often."""
    if times >= MAX_REPEATS:
        mistake = _COUNTED.sub("", refusals[-1].message.split("\n")[0])
        raise ReplyError(f"the model made the same mistake {times} times: {mistake}")


@record
class InterfaceForm:
    """The system prompt and the operations of a block with an interface."""

    system: str
    operations: tuple[Operation, ...]


def make_request(
    block: Block,
    protocol: Protocol,
    messages: tuple[Message, ...],
    temperature: float | None,
    turn: int,
    form: AnswerForm | InterfaceForm | None,
) -> Request:
    """Return the next request to the model: the conversation under a byte-stable system prompt."""
    options, schema = block.options, None
    tools: tuple[Tool, ...] = ()
    match form:
        case AnswerForm():
            system, schema = build_answer_prompt(options), form.schema
        case InterfaceForm():
            system, tools = form.system, make_tools(form.operations)
        case None:
            system, tools = build_direct_prompt(protocol, options.reasoning), DIRECT_TOOLS
    return Request(
        system,
        messages,
        tools if protocol == "tools" else (),
        temperature,
        options.max_reply_tokens or 4096,
        options.max_call_seconds or 120.0,
        place=block.place,
        turn=turn,
        schema=schema,
    )


def read_effects(
    reply: Reply,
    form: AnswerForm | InterfaceForm | None,
    protocol: Protocol,
    messages: tuple[Message, ...],
) -> tuple[Effect | Refusal, ...]:
    """Return a reply's requested effects, in order; in the text protocol, parsed from its text.

    A fenced block that only repeats one of the `messages` shown to the model is not an effect.
    """
    if is_too_long(reply):
        return ()
    if isinstance(form, AnswerForm):
        return parse_answer(reply, form)
    operations = DIRECT if form is None else form.operations
    if reply.message.calls:
        return tuple([parse_tool_call(call, operations) for call in reply.message.calls])
    if protocol == "tools":
        return ()
    shown = [message.text for message in messages if isinstance(message, UserMessage)]
    return parse_text_effects(reply.message.text, operations, shown)


NOT_CARRIED_OUT = Refusal("not carried out, because an earlier call of this reply failed")


def find_reply_problem(reply: Reply, requested: Sequence[Effect | Refusal]) -> str | None:
    """Return why a reply cannot be used at all, or None."""
    if reply.stop == "refusal":
        words = " ".join(reply.message.text.split())[:300]
        return "the model refuses" + (f": {words}" if words else " to answer")
    if reply.stop == "length":
        return "the reply was cut off at its token limit (raise max_reply_tokens)"
    if requested:
        return None
    if is_too_long(reply):
        return f"the reply is longer than {MAX_REPLY_CHARACTERS:,} characters"
    is_empty = not reply.message.text.strip()
    return "the reply was empty" if is_empty else "the reply holds no code and no call"


def format_retry_advice(
    reply: Reply, form: AnswerForm | InterfaceForm | None, protocol: Protocol
) -> str:
    """Return the message to the model after a reply that could not be used."""
    if isinstance(form, AnswerForm):
        missing, way = "JSON object", "reply with one JSON object"
    elif protocol == "tools":
        missing, way = "call" if form else "code", "call a tool"
    elif form is None:
        missing, way = "code", "answer with one ```python block"
    else:
        missing, way = "call", "answer with one ```json block that is a call"
    if reply.stop == "length":
        return f"Your reply was cut off, and nothing of it was carried out. Be brief: {way}."
    if is_too_long(reply):
        return f"Your reply was too long, and nothing of it was carried out. Be brief: {way}."
    return f"Nothing was carried out: your reply holds no {missing}. Now {way}."


def keep_reply_text(reply: Reply) -> tuple[Message, ...]:
    """Return a reply's text as a message, unless it is empty or would leave a call unanswered."""
    text = reply.message.text.strip()
    is_kept = text and not reply.message.calls and not is_too_long(reply)
    return (ModelMessage(text),) if is_kept else ()


def is_too_long(reply: Reply) -> bool:
    """Return whether a reply is too long to be read."""
    length = len(reply.message.text)
    for call in reply.message.calls:
        length += len(call.raw)
    return length > MAX_REPLY_CHARACTERS


ONE_BLOCK = "Reply with the corrected ```python block, and nothing else."
"""The end of a refusal in plain text: without it, models explain their mistake at length."""


_COUNTED = re.compile(r"^(?:again|refused \d+ times): ")
"""The prefix of a repeated refusal."""


def make_results_message(reply: Reply, results: list[EffectResult], ending: str = "") -> Message:
    """Return results as a message: one per call (extra calls share the last), or text.

    `ending` follows a refusal.
    """
    if not reply.message.calls:
        texts = [format_result(result) for result in results]
        if ending and isinstance(results[-1], Refusal):
            texts[-1] += f"\n{ending}"
        return UserMessage("\n\n".join(texts))
    pairs = zip(reply.message.calls, chain(results, repeat(results[-1])), strict=False)
    return ToolMessage(
        tuple(
            ToolResult(call.id, call.name, format_result(result), isinstance(result, Refusal))
            for call, result in pairs
        )
    )


def format_result(result: EffectResult) -> str:
    """Return the text of a result that resumes the prompt."""
    match result:
        case Answer(text):
            return text or "(nothing)"
        case Refusal(message):
            return message
        case _:
            raise AssertionError("an outcome ends the conversation")


class RepeatDetector:
    """Raises the temperature when a model repeats a failing answer (state: the last failure)."""

    def __init__(self, temperature: float | None) -> None:
        self.temperature = temperature
        self.failed: tuple[object, ...] | None = None
        self.repeats = 0

    def detect_repeat(self, reply: Reply, is_refused: bool) -> bool:
        """Record a reply; return whether it repeats the failing answer of the previous turn."""
        if not is_refused:
            self.failed, self.repeats = None, 0
            return False
        sent = (reply.message.text, *((call.name, call.raw) for call in reply.message.calls))
        repeated = sent == self.failed
        self.repeats = self.repeats + 1 if repeated else 1
        if repeated:  # by 0.5, to at most 1.0; None is the vendor's default, near 1.0
            before = self.temperature
            self.temperature = 1.0 if before is None else max(before, min(1.0, before + 0.5))
        self.failed = sent
        return repeated
