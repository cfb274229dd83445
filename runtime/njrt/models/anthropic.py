"""Anthropic's models, through the messages API.

    Anthropic("claude-sonnet-5-5")          ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL

    UserMessage(text)          <->  user: [{"type": "text", ...}]
    ModelMessage(text, calls)  <->  assistant: [{"type": "text", ...}, {"type": "tool_use", ...}]
    ToolMessage(results)        ->  user: [{"type": "tool_result", ...}, ...]     and then any text

The system prompt and the end of a conversation that has gone on are marked for the vendor's prompt
cache. The current API has no temperature. A message with thinking goes back exactly as it came
(`VendorContent`).
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, assert_never

from njrt.data.media import Attachment
from njrt.data.message_json import format_json_line
from njrt.messages import (
    Json,
    Message,
    ModelMessage,
    Reply,
    Request,
    StopReason,
    Tool,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
    VendorContent,
)
from njrt.models.prices import add_price
from njrt.models.remote import MAX_RETRIES, THINKING_TOKENS, VendorModel
from njrt.models.request_parts import (
    build_file,
    make_sendable_arguments,
    normalize_messages,
)
from njrt.models.response import MalformedReplyError, read_field, read_token_count
from njrt.models.server import Server
from njrt.models.strict_schema import is_strict, make_strict_schema, unwrap_reply

Body = dict[str, Any]
"""JSON on its way to the server."""

VENDOR_URL = "https://api.anthropic.com"

NON_THINKING_PREFIXES = ("claude-3", "claude-haiku-4", "claude-sonnet-4", "claude-opus-4")
"""Models that think only on request; later ones may think before any reply."""


def count_thinking_tokens(model: str) -> int:
    """Return the tokens that a model may use for thinking, beyond its reply."""
    return 0 if model.startswith(NON_THINKING_PREFIXES) else THINKING_TOKENS


class Anthropic(VendorModel):
    """Anthropic's model `model`.

    Without `key` the SDK reads its own variables; ANTHROPIC_BASE_URL is the URL.
    """

    sdk = "anthropic"
    client_name, error_name = "AsyncAnthropic", "AnthropicError"
    api_path = "messages"

    def __init__(
        self,
        model: str,
        *,
        vendor_url: str | None = None,
        key: str | None = None,
        retries: int = MAX_RETRIES,
        allow_http: bool = False,
    ) -> None:
        url = vendor_url or os.environ.get("ANTHROPIC_BASE_URL") or VENDOR_URL
        server = Server(url, "ANTHROPIC_API_KEY", allow_http)
        super().__init__(f"anthropic/{model}", "tools", server, key, retries)
        self._model = model

    def make_body(self, request: Request) -> Body:
        return make_message_body(request, self._model)

    @asynccontextmanager
    async def open_stream(self, api: Any, arguments: Body) -> AsyncIterator[tuple[Any, Any]]:
        async with api.stream(**arguments) as stream:
            yield stream, stream

    def read_piece(self, state: Any, event: Any) -> str:
        match event.type:
            case "text":
                return str(event.text)
            case "input_json":
                return str(event.partial_json)
        return ""

    def get_snapshot(self, state: Any) -> tuple[Any, bool]:
        message = state.current_message_snapshot
        return message, bool(message.stop_reason)

    def read_response(self, response: Any, request: Request) -> Reply:
        if (content := read_field(response, "content", list)) is None:
            raise MalformedReplyError("content: it is missing")
        reply = Reply(
            parse_content(content, self.name),
            _STOP_REASONS.get(read_field(response, "stop_reason", str), "end"),
            self.read_usage(response.get("usage")),
            read_field(response, "model", str) or self._model,
        )
        return reply if request.schema is None else unwrap_reply(reply)

    def read_usage(self, usage: Any) -> Usage:
        if usage is None:
            return Usage()
        names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        uncached, cached, written = (read_token_count(usage, name) for name in names)
        output = read_token_count(usage, "output_tokens")
        return add_price(self.name, Usage(uncached + cached + written, output, cached), written)


def make_message_body(request: Request, model: str) -> Body:
    """Return the body of a request for a message."""
    body: Body = {
        "model": model,
        "max_tokens": request.max_reply_tokens + count_thinking_tokens(model),
        "messages": _build_messages(request, f"anthropic/{model}"),
    }
    if request.tools:
        body["tools"] = [_build_tool(tool) for tool in request.tools]
    if request.schema is not None:
        schema = make_strict_schema(request.schema)
        reply = _build_tool(Tool("reply", "Reply.", schema))
        body["tools"] = [reply | {"strict": is_strict(schema)}]
        body["tool_choice"] = {"type": "tool", "name": "reply"}
    if request.system:
        body["system"] = [{"type": "text", "text": request.system} | CACHED]
    if len(request.messages) > 1:
        *before, last = body["messages"][-1]["content"]
        body["messages"][-1]["content"] = [*before, last | CACHED]
    return body


CACHED: Body = {"cache_control": {"type": "ephemeral"}}
"""Marks the end of a prefix that the vendor keeps in its prompt cache."""


def _build_messages(request: Request, name: str) -> list[Body]:
    """Return the conversation with alternating roles: messages with one role are joined."""
    turns: list[Body] = []
    for message in normalize_messages(request.messages):
        role = "assistant" if isinstance(message, ModelMessage) else "user"
        content = _build_content(message, name)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += content
        else:
            turns.append({"role": role, "content": content})
    return turns


def _build_content(message: Message, name: str) -> list[Json]:
    match message:
        case UserMessage(text, attachments):
            files = [part for it in attachments for part in build_file(it, _make_file, TAKEN)]
            return files + _build_text(text)
        case ModelMessage(vendor_content=VendorContent(owner, blocks)) if owner == name:
            return list(blocks)
        case ModelMessage(text, calls):
            return _build_text(text) + [_build_call(call) for call in calls]
        case ToolMessage(results):
            return [_build_tool_result(result) for result in results]
        case _:
            assert_never(message)


def _build_call(call: ToolCall) -> Body:
    arguments = make_sendable_arguments(call)
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def _make_file(attachment: Attachment) -> Body | None:
    media = attachment.media
    if media.url and (media.kind == "image" or media.media_type == "application/pdf"):
        return {"type": media.kind, "source": {"type": "url", "url": media.url}}
    if media.media_type not in TAKEN_TYPES:
        return None
    source = {"type": "base64", "media_type": media.media_type, "data": media.base64}
    return {"type": media.kind, "source": source}


TAKEN = "the messages API takes PNG, JPEG, GIF, WebP and PDF"
TAKEN_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"}


def _build_text(text: str) -> list[Json]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _build_tool_result(result: ToolResult) -> Body:
    block: Body = {"type": "tool_result", "tool_use_id": result.id}
    if content := _build_text(result.text):
        block["content"] = content
    if result.failed:
        block["is_error"] = True
    return block


def _build_tool(tool: Tool) -> Body:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def parse_content(blocks: list[Any], name: str) -> ModelMessage:
    """Return a message of the model `name`, with the blocks as they came if some are thinking."""
    texts, calls, has_thought = list[str](), list[ToolCall](), False
    for block in blocks:
        match read_field(block, "type", str):
            case "text":
                texts.append(read_field(block, "text", str) or "")
            case "tool_use":
                calls.append(_parse_call(block))
            case _:
                has_thought = True
    kept = VendorContent(name, tuple(blocks)) if has_thought else None
    return ModelMessage("".join(texts), tuple(calls), kept)


def _parse_call(block: Any) -> ToolCall:
    id, name = (read_field(block, field, str) for field in ("id", "name"))
    if not id or not name:
        raise MalformedReplyError("content: a tool call without id or name")
    given = block.get("input")
    return ToolCall(id, name, given if isinstance(given, dict) else None, format_json_line(given))


_STOP_REASONS: Mapping[str | None, StopReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
"""The stop reasons other than a normal end."""
