"""Anthropic's models, by the messages API.

    Anthropic("claude-sonnet-5-5")          ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL

    UserMessage(text)          <->  user: [{"type": "text", ...}]
    ModelMessage(text, calls)  <->  assistant: [{"type": "text", ...}, {"type": "tool_use", ...}, ...]
    ToolMessage(results)        ->  user: [{"type": "tool_result", ...}, ...]     and then any text

The system prompt carries the mark that lets the vendor keep it, and the tools before it, in its prompt
cache. Its current API knows no temperature, so none is sent. Where a model has thought before it spoke,
its message goes back exactly as it came, signatures and all (`VendorContent`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, assert_never

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
from njrt.models.conversation import make_sendable_arguments, normalize_messages
from njrt.models.network import Client, get_network
from njrt.models.prices import PRICES, Price, compute_cost
from njrt.models.remote import (
    MAX_RETRIES,
    THINKING_TOKENS,
    RemoteModel,
    Server,
    make_missing_key_error,
    make_unreadable_reply_error,
)
from njrt.models.strict_schema import make_strict_schema, restore_strict_reply

Body = dict[str, Any]
"""JSON on its way to the server."""

VENDOR_URL = "https://api.anthropic.com"

NON_THINKING_PREFIXES = ("claude-3", "claude-haiku-4", "claude-sonnet-4", "claude-opus-4")
"""Models that think only when told to; all later ones may think before any reply."""


class Anthropic(RemoteModel):
    """The model `model` of Anthropic. Without `key` the SDK looks for one as it always does."""

    sdk = "anthropic"

    def __init__(
        self,
        model: str,
        *,
        vendor_url: str | None = None,
        key: str | None = None,
        retries: int = MAX_RETRIES,
        prices: Mapping[str, Price] = PRICES,
    ) -> None:
        server = Server(vendor_url or VENDOR_URL, "ANTHROPIC_API_KEY")
        super().__init__(f"anthropic/{model}", "tools", server)
        self._model = model
        self._key = key
        self._retries = retries
        self._prices = prices

    def failures(self) -> tuple[type[Exception], ...]:
        import anthropic

        return anthropic.AnthropicError, json.JSONDecodeError

    async def exchange(self, request: Request) -> Reply:
        client = get_network().get_client(self, self._connect)

        async def exchange(request: Request) -> Reply:
            body = make_message_body(request, self._model)
            try:
                message = await client.messages.create(**body, timeout=request.timeout)
            except TypeError as error:
                if "authentication" in str(error):  # the SDK's way to say that it has found no key
                    raise make_missing_key_error(self.name, self.server) from None
                raise
            if not hasattr(message, "to_dict"):
                raise make_unreadable_reply_error(self.name, self.server)
            reply = self._reply(message.to_dict(warnings=False))
            return reply if request.schema is None else restore_strict_reply(reply, request.schema)

        return await self.exchange_schema(request, exchange)

    def _connect(self) -> Client:
        from anthropic import AsyncAnthropic

        return AsyncAnthropic(
            api_key=self._key, base_url=self.server.url, max_retries=self._retries
        )

    def _reply(self, message: Body) -> Reply:
        content = message.get("content")
        if not isinstance(content, list):
            raise make_unreadable_reply_error(self.name, self.server)
        usage, written = parse_message_usage(message.get("usage") or {})
        usage = replace(usage, usd=compute_cost(self.name, usage, written, self._prices))
        return Reply(
            parse_content(content, self.name),
            _parse_stop_reason(message.get("stop_reason")),
            usage,
            message.get("model") or self._model,
        )


def make_message_body(request: Request, model: str) -> Body:
    """Write `request` as the body of a message."""
    thinks = not model.startswith(NON_THINKING_PREFIXES)
    body: Body = {
        "model": model,
        "max_tokens": request.max_reply_tokens + (THINKING_TOKENS if thinks else 0),
        "messages": _build_messages(request, f"anthropic/{model}"),
    }
    if request.tools:
        body["tools"] = [_build_tool(tool) for tool in request.tools]
    if request.schema is not None:
        reply = _build_tool(Tool("reply", "Reply.", make_strict_schema(request.schema)))
        body["tools"] = [reply | {"strict": True}]
        body["tool_choice"] = {"type": "tool", "name": "reply"}
    if request.system:
        cached = {"cache_control": {"type": "ephemeral"}}
        body["system"] = [{"type": "text", "text": request.system} | cached]
    return body


def _build_messages(request: Request, name: str) -> list[Body]:
    """The conversation, in which the two roles take turns: neighbours of one role become one message."""
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
        case UserMessage(text):
            return _build_text(text)
        case ModelMessage(vendor_content=VendorContent(owner, blocks)) if owner == name:
            return list(blocks)
        case ModelMessage(text, calls):
            return _build_text(text) + [_build_tool_use(call) for call in calls]
        case ToolMessage(results):
            return [_build_tool_result(result) for result in results]
        case _:
            assert_never(message)


def _build_text(text: str) -> list[Json]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _build_tool_use(call: ToolCall) -> Body:
    return {
        "type": "tool_use",
        "id": call.id,
        "name": call.name,
        "input": make_sendable_arguments(call),
    }


def _build_tool_result(result: ToolResult) -> Body:
    block: Body = {"type": "tool_result", "tool_use_id": result.id}
    if content := _build_text(result.text):
        block["content"] = content
    if result.failed:
        block["is_error"] = True
    return block


def _build_tool(tool: Tool) -> Body:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
    }


def parse_content(content: list[Body], name: str) -> ModelMessage:
    """Read the blocks of a message of the model `name`; they are kept as they are if it has thought."""
    text = "".join(block.get("text") or "" for block in content if block.get("type") == "text")
    calls = tuple(_parse_call(block) for block in content if block.get("type") == "tool_use")
    thought = any(block.get("type") not in ("text", "tool_use") for block in content)
    return ModelMessage(text, calls, VendorContent(name, tuple(content)) if thought else None)


def _parse_call(block: Body) -> ToolCall:
    arguments = block.get("input")
    raw = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(
        block.get("id") or "",
        block.get("name") or "",
        arguments if isinstance(arguments, dict) else None,
        raw,
    )


def _parse_stop_reason(reason: str | None) -> StopReason:
    match reason:
        case "max_tokens" | "model_context_window_exceeded":
            return "length"
        case "refusal":
            return "refusal"
        case _:  # end_turn, tool_use, stop_sequence, pause_turn
            return "end"


def parse_message_usage(usage: Body) -> tuple[Usage, int]:
    """Read what a message used, its input in full as our `Usage` counts it, and what a cache was given."""
    cached = usage.get("cache_read_input_tokens") or 0
    written = usage.get("cache_creation_input_tokens") or 0
    plain, output = usage.get("input_tokens") or 0, usage.get("output_tokens") or 0
    return Usage(input=plain + cached + written, output=output, cached=cached), written
