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
from collections.abc import Mapping
from itertools import groupby
from typing import Any, ClassVar, assert_never

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
    Usage,
    UserMessage,
    VendorContent,
)
from njrt.models.prices import add_price
from njrt.models.remote import MAX_RETRIES, THINKING_TOKENS, VendorModel
from njrt.models.request_parts import (
    Body,
    build_file,
    make_sendable_arguments,
    normalize_messages,
)
from njrt.models.response import MalformedReplyError, read_field, read_token_count
from njrt.models.server import Server
from njrt.models.strict_schema import is_strict, make_strict_schema, unwrap_reply

VENDOR_URL = "https://api.anthropic.com"

NON_THINKING_PREFIXES = ("claude-3", "claude-haiku-4", "claude-sonnet-4", "claude-opus-4")
"""Models that think only on request; later ones may think before any reply."""


class Anthropic(VendorModel):
    """Anthropic's model `model`.

    Without `key` the SDK reads its own variables; ANTHROPIC_BASE_URL is the URL.
    """

    sdk = "anthropic"
    sdk_name = "Anthropic"
    api_path = "messages"
    pieces: ClassVar = {"text": "text", "input_json": "partial_json"}

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
        room = 0 if self._model.startswith(NON_THINKING_PREFIXES) else THINKING_TOKENS
        messages: list[Body] = [
            {"role": role, "content": [part for it in turn for part in _list_parts(it, self.name)]}
            for role, turn in groupby(normalize_messages(request.messages), _get_role)
        ]
        if len(request.messages) > 1:
            *before, last = messages[-1]["content"]
            messages[-1]["content"] = [*before, last | CACHED]
        limit = request.max_reply_tokens + room
        body: Body = {"model": self._model, "max_tokens": limit, "messages": messages}
        if request.tools:
            body["tools"] = [_build_tool(tool) for tool in request.tools]
        if request.schema is not None:
            schema = make_strict_schema(request.schema)
            reply = _build_tool(Tool("reply", "Reply.", schema))
            body["tools"] = [reply | {"strict": is_strict(schema)}]
            body["tool_choice"] = {"type": "tool", "name": "reply"}
        if request.system:
            body["system"] = [{"type": "text", "text": request.system} | CACHED]
        return body

    def get_snapshot(self, state: Any) -> tuple[Body, bool]:
        message = state.current_message_snapshot
        return message.to_dict(warnings=False), bool(message.stop_reason)

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


CACHED: Body = {"cache_control": {"type": "ephemeral"}}
"""Marks the end of a prefix that the vendor keeps in its prompt cache."""


def _get_role(message: Message) -> str:
    return "assistant" if isinstance(message, ModelMessage) else "user"


def _list_parts(message: Message, name: str) -> list[Json]:
    match message:
        case UserMessage(text, attachments):
            files = [part for it in attachments for part in build_file(it, _make_file)]
            return files + _build_text(text)
        case ModelMessage(vendor_content=VendorContent(owner, blocks)) if owner == name:
            return list(blocks)
        case ModelMessage(text, calls):
            return _build_text(text) + [
                {"type": "tool_use", "id": call.id, "name": call.name}
                | {"input": make_sendable_arguments(call)}
                for call in calls
            ]
        case ToolMessage(results):
            return [
                {"type": "tool_result", "tool_use_id": it.id, "is_error": it.failed}
                | {"content": _build_text(it.text)}
                for it in results
            ]
        case _:
            assert_never(message)


def _make_file(attachment: Attachment) -> Body | None:
    media = attachment.media
    if media.url and (media.kind == "image" or media.media_type == "application/pdf"):
        return {"type": media.kind, "source": {"type": "url", "url": media.url}}
    if media.media_type not in TAKEN_TYPES:
        return None
    source = {"type": "base64", "media_type": media.media_type, "data": media.base64}
    return {"type": media.kind, "source": source}


TAKEN_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"}


def _build_text(text: str) -> list[Json]:
    return [{"type": "text", "text": text}] if text.strip() else []


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
