"""Assemble replies that arrive in pieces, as server-sent events.

    data: {"choices": [{"delta": {"content": "total = "}}]}
    data: {"choices": [{"delta": {"content": "7"}, "finish_reason": "stop"}]}
        ->  {"choices": [{"message": {"content": "total = 7", ...}, "finish_reason": "stop"}], ...}

The formats: https://platform.openai.com/docs/api-reference/chat-streaming and
https://docs.anthropic.com/en/docs/build-with-claude/streaming. Anything else is a `BrokenStreamError`.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from njrt.models.response import MalformedReplyError, parse_json, validate_reply
from njrt.records import record

REPORT_SECONDS = 0.1
"""The minimal time between two reports of a text so far."""

OnText = Callable[[str], None]
"""Called with a reply's text so far, in the network's thread."""


class BrokenStreamError(Exception):
    """A streamed reply has no usable end."""


async def assemble_reply(
    chunks: AsyncIterator[bytes], assembler: ReplyAssembler, on_text: OnText
) -> Any:
    """Return the reply assembled from a stream's bytes; `on_text` receives the text so far as it grows."""
    reported = 0.0
    async with aclosing(read_event_data(chunks)) as events:
        async for data in events:
            if data == "[DONE]":
                break
            assembler.add(parse_json(data))
            if time.monotonic() - reported >= REPORT_SECONDS and assembler.text:
                reported = time.monotonic()
                on_text(assembler.text)
    if not assembler.is_complete:
        raise BrokenStreamError("it ended too early")
    on_text(assembler.text)
    return assembler.build()


async def read_event_data(chunks: AsyncIterator[bytes]) -> AsyncGenerator[str, None]:
    """Yield the data of each event; https://html.spec.whatwg.org/multipage/server-sent-events.html."""
    parts: list[bytes] = []
    data: list[str] = []
    chunk: bytes | None = b""
    while chunk is not None:
        chunk = await anext(chunks, None)
        for line in take_lines(parts, b"\n\n" if chunk is None else chunk):
            if line.startswith("data:"):
                data.append(line.removeprefix("data:").removeprefix(" "))
            elif not line and data:
                yield "\n".join(data)
                data = []


def take_lines(parts: list[bytes], chunk: bytes) -> list[str]:
    """Return the UTF-8 lines that end in a chunk; `parts` keeps the rest. U+2028 and the like do not end a line."""
    parts.append(chunk)
    if b"\n" not in chunk and b"\r" not in chunk:
        return []
    *lines, rest = re.split(rb"\r\n|\n|\r(?!\Z)", b"".join(parts))
    parts[:] = [rest]
    return [line.decode(errors="replace") for line in lines]


@record
class ChunkFunction:
    """A piece of the function that a model calls."""

    name: str | None = None
    arguments: str | None = None


@record
class ChunkCall:
    """A piece of the tool call with this `index`."""

    index: int = 0
    id: str | None = None
    function: ChunkFunction | None = None


@record
class Delta:
    """A piece of a message."""

    content: str | None = None
    refusal: str | None = None
    tool_calls: list[ChunkCall] | None = None


@record
class ChunkChoice:
    """A piece of a choice; only the first choice is used."""

    index: int = 0
    delta: Delta | None = None
    finish_reason: str | None = None


@record
class CompletionChunk:
    """An event of a streamed completion; the usage comes with the last."""

    choices: list[ChunkChoice] | None = None
    usage: dict[str, Any] | None = None
    model: str | None = None


@dataclass(slots=True)
class _CallParts:
    id: str | None = None
    name: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)


class CompletionAssembler:
    """Assembles a completion of OpenAI's API (state: the chunks so far).

    `text` is the model's output so far: text, then the arguments of tool calls. `add` raises MalformedReplyError or
    BrokenStreamError. `build` returns the reply as the server would have sent it without streaming.
    """

    def __init__(self) -> None:
        self.is_complete = False
        self._content: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, _CallParts] = {}
        self._finish_reason: str | None = None
        self._usage: dict[str, Any] | None = None
        self._model: str | None = None

    @property
    def text(self) -> str:
        arguments = ["".join(call.arguments) for call in self._calls.values()]
        return "\n".join(filter(None, ["".join(self._content), *arguments]))

    def add(self, event: Any) -> None:
        if isinstance(event, dict) and event.get("error"):
            raise BrokenStreamError("the server sent an error")
        chunk = validate_reply(event, CompletionChunk)
        self._model = chunk.model or self._model
        self._usage = chunk.usage or self._usage
        for choice in chunk.choices or ():
            if choice.index == 0:
                self._add_delta(choice.delta or Delta())
                self._finish_reason = choice.finish_reason or self._finish_reason
        self.is_complete = self._finish_reason is not None

    def _add_delta(self, delta: Delta) -> None:
        self._content.append(delta.content or "")
        self._refusal.append(delta.refusal or "")
        for piece in delta.tool_calls or ():
            call = self._calls.setdefault(piece.index, _CallParts())
            function = piece.function or ChunkFunction()
            call.id = call.id or piece.id
            call.name.append(function.name or "")
            call.arguments.append(function.arguments or "")

    def build(self) -> Any:
        calls = [
            {
                "id": call.id,
                "function": {"name": "".join(call.name), "arguments": "".join(call.arguments)},
            }
            for _, call in sorted(self._calls.items())
        ]
        message = {
            "content": "".join(self._content) or None,
            "refusal": "".join(self._refusal) or None,
            "tool_calls": calls or None,
        }
        choice = {"message": message, "finish_reason": self._finish_reason}
        return {"choices": [choice], "usage": self._usage, "model": self._model}


class MessageAssembler:
    """Assembles a message of Anthropic's API in the same way (state: the events so far)."""

    def __init__(self) -> None:
        self.is_complete = False
        self._message: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, list[str]] = {}
        self._texts: dict[tuple[int, str], list[str]] = {}
        """Pieces of texts, by block and by the text's name in it."""

    @property
    def text(self) -> str:
        texts = [self._join_text(index, "text") for index in self._blocks]
        inputs = ["".join(parts) for parts in self._inputs.values()]
        return "\n".join(part for part in (*texts, *inputs) if part)

    def add(self, event: Any) -> None:
        match event:
            case {"type": "message_start", "message": dict(message)}:
                self._message = message
                self._add_usage(message.get("usage"))
            case {"type": "content_block_start", "index": int(index), "content_block": dict(block)}:
                self._blocks[index] = dict(block)
                self._texts = {key: it for key, it in self._texts.items() if key[0] != index}
            case {"type": "content_block_delta", "index": int(index), "delta": dict(delta)}:
                self._add_delta(index, delta)
            case {"type": "message_delta", "delta": dict(delta)}:
                self._message |= delta
                self._add_usage(event.get("usage"))
            case {"type": "message_stop"}:
                self.is_complete = True
            case {"type": "error"}:
                raise BrokenStreamError("the server sent an error")
            case {"type": str()}:  # ping, content_block_stop, and future types
                pass
            case _:
                raise MalformedReplyError("an event without a type")

    def _add_delta(self, index: int, delta: dict[str, Any]) -> None:
        if index not in self._blocks:
            raise MalformedReplyError("a piece of a block that has not begun")
        match delta:  # citations and future types are ignored
            case {"type": "input_json_delta", "partial_json": str(text)}:
                self._inputs.setdefault(index, []).append(text)
            case (
                {"type": "text_delta", "text": str(text)}
                | {"type": "thinking_delta", "thinking": str(text)}
                | {"type": "signature_delta", "signature": str(text)}
            ):
                name = str(delta["type"]).removesuffix("_delta")
                self._texts.setdefault((index, name), []).append(text)

    def _join_text(self, index: int, name: str) -> str:
        first = self._blocks[index].get(name)
        return "".join([str(first or ""), *self._texts.get((index, name), ())])

    def _add_usage(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self._usage |= {name: value for name, value in usage.items() if value is not None}

    def build(self) -> Any:
        for index, parts in self._inputs.items():
            text = "".join(parts)
            try:
                self._blocks[index]["input"] = parse_json(text) if text else {}
            except MalformedReplyError:  # for example, cut off by the token limit
                self._blocks[index]["input"] = text
        for index, name in self._texts:
            self._blocks[index][name] = self._join_text(index, name)
        self._texts.clear()
        content = [block for _, block in sorted(self._blocks.items())]
        return self._message | {"content": content, "usage": self._usage or None}


ReplyAssembler = CompletionAssembler | MessageAssembler
