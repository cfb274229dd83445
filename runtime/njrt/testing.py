"""A model with fixed replies, for tests.

    model = Scripted([run("total = sum(prices)"), run("", done=True)])      replies in order
    model = Scripted(lambda request: "```python\nx = 1\n```", protocol="text")  or computed
    model.requests[0].messages                                              the messages sent to it

The parts of requests and replies are here too, for computed replies and their tests.

A reply is a `Reply` or part of one: a text, a dict (the JSON object of a block that answers, or the
probabilities of the answers to a block that decides), a tool call (`run(...)`, `call(...)`), a list
of tool calls, or an exception, which is raised.
"""

from __future__ import annotations

import json
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from njrt.errors import ConfigurationError, ModelError
from njrt.messages import (
    ModelMessage,
    Protocol,
    Question,
    Reply,
    Request,
    Tool,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
)
from njrt.values.questions import LETTERS, choose_answer

__all__ = [
    "ModelMessage",
    "Protocol",
    "Question",
    "Reply",
    "Request",
    "Said",
    "Scripted",
    "Tool",
    "ToolCall",
    "ToolMessage",
    "ToolResult",
    "Usage",
    "UserMessage",
    "call",
    "run",
]

Said: TypeAlias = (
    Reply | ModelMessage | str | Mapping[str, Any] | ToolCall | Sequence[ToolCall] | Exception
)
"""One entry of a script."""


def run(code: str, done: bool = False) -> ToolCall:
    """Return a call of the tool `run`, the only tool of the effect set `direct`."""
    return call("run", code=code, done=done)


def call(name: str, /, **arguments: Any) -> ToolCall:
    """Return a call of the tool `name`; the model numbers it when it replies."""
    return ToolCall("", name, arguments, json.dumps(arguments))


class Scripted:
    """A model that replies from `script`; `requests` lists the requests so far.

    `delay` is the time in seconds that each reply takes.
    """

    can_decide = True

    def __init__(
        self,
        script: Iterable[Said] | Callable[[Request], Said],
        *,
        name: str = "scripted",
        protocol: Protocol = "tools",
        delay: float = 0.0,
    ) -> None:
        self.name = name
        self.protocol: Protocol = protocol
        self.requests: list[Request] = []
        if isinstance(script, str | Mapping):
            raise ConfigurationError(f"a script is a list of replies; write Scripted([{script!r}])")
        self._script = script if callable(script) else tuple(script)
        self._delay = delay
        self._lock = threading.RLock()

    def ask(self, request: Request) -> Reply:
        turn = self._record_request(request)
        if self._delay:
            time.sleep(self._delay)
        return self._make_reply(turn, request)

    async def aask(self, request: Request) -> Reply:
        turn = self._record_request(request)
        if self._delay:
            import asyncio

            await asyncio.sleep(self._delay)
        return self._make_reply(turn, request)

    def _record_request(self, request: Request) -> int:
        """Store `request`; return its index, which is the index of its reply in the script."""
        with self._lock:
            self.requests.append(request)
            return len(self.requests) - 1

    def _make_reply(self, turn: int, request: Request) -> Reply:
        if callable(self._script):
            entry = self._script(request)
        elif turn < len(self._script):
            entry = self._script[turn]
        else:
            raise ModelError(
                f"{request.place or 'the program'} asks for reply {turn + 1}, but the script has "
                f"{len(self._script)}; add one{_format_last_answer(request)}"
            )
        if isinstance(entry, Exception):
            raise entry
        match entry:
            case Reply():
                return replace(entry, message=_number_calls(entry.message, turn))
            case ModelMessage():
                message = entry
            case str():
                message = ModelMessage(entry)
            case Mapping():
                if request.question is not None:
                    return _make_decision(entry, request.question, self.name)
                message = ModelMessage(json.dumps(entry, ensure_ascii=False))
            case ToolCall():
                message = ModelMessage("", (entry,))
            case [*calls]:
                message = ModelMessage("", tuple(calls))
            case _:
                raise ConfigurationError(
                    f"reply {turn + 1} of the script is {entry!r}; a reply is a text, a dict of"
                    " outputs, a call, a list of calls, or a Reply"
                )
        return Reply(_number_calls(message, turn), model=self.name, source="script")


def _make_decision(given: Mapping[str, Any], question: Question, model: str) -> Reply:
    """Return the reply to a question; the answers that are not given share the rest."""
    if unknown := given.keys() - {*question.answers}:
        name, known = min(unknown), ", ".join(question.answers)
        raise ModelError(f"the script answers {question.name} by {name!r}; the answers are {known}")
    rest = max(0.0, 1.0 - sum(given.values())) / max(1, len(question.answers) - len(given))
    found = tuple(float(given.get(answer, rest)) for answer in question.answers)
    message = ModelMessage(LETTERS[choose_answer(found)])
    return Reply(message, model=model, source="script", probabilities=found)


def _format_last_answer(request: Request) -> str:
    """Return the answer to a script's last reply, such as why it was refused; empty without one."""
    match request.messages[1:] and request.messages[-1]:
        case UserMessage(text):
            answer = text
        case ToolMessage(results):
            answer = "\n".join(result.text for result in results)
            if not any(result.failed for result in results):
                return f", or end the block by done=True; the last code ran: {answer[:500]}"
        case _:
            return ""
    return f"; the last reply was answered:\n{textwrap.shorten(answer, 500)}"


def _number_calls(message: ModelMessage, turn: int) -> ModelMessage:
    """Give an id to every call that lacks one; ids are unique in the whole script."""
    calls = list(message.calls)
    for position, call in enumerate(calls, 1):
        if not call.id:
            calls[position - 1] = replace(call, id=f"call_{turn + 1}_{position}")
    return replace(message, calls=tuple(calls)) if calls else message
