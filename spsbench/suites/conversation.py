"""A task as a conversation: the user's turns, the model's replies, and their effects.

    JSON_CALLS.play(task, bench, model, SuiteLimits())    ->  the value of the last turn

A kind of conversation consists of a system prompt, the tools of its requests, and a function that reads replies: a
reply is answered with a message, or ends the turn.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from njrt.errors import CallLimitError, ReplyError
from njrt.message_json import message_to_json
from njrt.messages import Message, ModelMessage, Request, Tool, UserMessage
from njrt.models.model import Model
from njrt.models.scripted import Said
from spsbench.suites.task import Bench, SuiteLimits, SuiteTask, read_value

SHOWN_CHARS = 2000
"""The maximum number of characters of one result that are shown to the model, in all conversations."""
DONE = "Done."
MAX_EQUAL = 3
"""The number of consecutive equal replies with the same effect that fails a task, like `max_repeats` of blocks."""


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """The end of a turn, with the value that the model returns."""

    value: Any = None


Act = Callable[[ModelMessage], Message | TurnEnd]
"""Performs the actions of a reply."""


@dataclass(frozen=True, slots=True)
class ConversationKind:
    """The prompt of a conversation, and the functions that read its replies."""

    write_system: Callable[[SuiteTask, Bench], str]
    make_act: Callable[[SuiteTask, Bench], Act]
    script: Callable[[SuiteTask, int], Sequence[Said]]
    """Returns the right replies in a turn."""
    make_tools: Callable[[SuiteTask, Bench], tuple[Tool, ...]] = lambda task, bench: ()
    """Returns the tools of a request; by default none, because the system prompt has everything."""

    def play(self, task: SuiteTask, bench: Bench, model: Model, limits: SuiteLimits) -> Any:
        """Play all turns of a task, and return the value of the last turn."""
        act = self.make_act(task, bench)
        request = Request(
            self.write_system(task, bench),
            (),
            self.make_tools(task, bench),
            max_reply_tokens=limits.reply_tokens,
            place=task.name,
        )
        value = None
        for turn in task.turns:
            bench.log.start_turn()
            request, value = _play_turn(_add(request, UserMessage(turn)), act, model, limits.calls)
        return value


def _play_turn(request: Request, act: Act, model: Model, calls: int) -> tuple[Request, Any]:
    """Ask until the model ends the turn; return the conversation so far and the value."""
    seen: list[object] = []
    for _ in range(calls):
        message = model.ask(request).message
        step = act(message)
        request = _add(request, message)
        if isinstance(step, TurnEnd):
            return request, step.value
        request = _add(request, step)
        seen.append((message_to_json(message), message_to_json(step)))
        if seen[-MAX_EQUAL:] == [seen[-1]] * MAX_EQUAL:
            raise ReplyError(f"the model gave the same reply {MAX_EQUAL} times, to the same effect")
    raise CallLimitError(f"a turn took {calls} calls of the model")


def _add(request: Request, message: Message) -> Request:
    return replace(request, messages=(*request.messages, message))


def end_turn(text: str, task: SuiteTask) -> TurnEnd:
    """Return the end of a turn that ends with a text, which is the value if the task has one and the text fits."""
    try:
        return TurnEnd(read_value(text, task.result) if task.result is not None else None)
    except ValueError:
        return TurnEnd()


def clip(text: str) -> str:
    """Return a result as the model sees it."""
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}... (cut)"


def parse_call(text: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the named arguments of a call with literal arguments; ValueError for other text."""
    match ast.parse(text.strip(), mode="eval").body:
        case ast.Call(ast.Name(name), [], keywords):
            return name, {each.arg: ast.literal_eval(each.value) for each in keywords if each.arg}
    raise ValueError(f"{text} is not a call with named arguments")
