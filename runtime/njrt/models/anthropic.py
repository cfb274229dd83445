"""Anthropic's models, by the messages API.

    Anthropic("claude-sonnet-5-5")          ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL

    UserMessage(text)          <->  user: [{"type": "text", ...}]
    ModelMessage(text, calls)  <->  assistant: [{"type": "text", ...}, {"type": "tool_use", ...}, ...]
    ToolMessage(results)        ->  user: [{"type": "tool_result", ...}, ...]     and then any text

The system prompt carries the mark that lets the vendor keep it, and the tools before it, in its prompt
cache. Its current API knows no temperature, so none is sent. Where a model has thought before it spoke,
its message goes back exactly as it came, signatures and all (`Sealed`).
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
    Sealed,
    Stop,
    Tool,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
)
from njrt.models.conversation import arguments_to_send, normal
from njrt.models.network import Client, network
from njrt.models.prices import PRICES, Price, cost
from njrt.models.remote import RETRIES, THINKING_ROOM, Remote, Server, no_key, unreadable

Body = dict[str, Any]
"""JSON on its way to the server."""

VENDOR_URL = "https://api.anthropic.com"

UNTHINKING_FAMILIES = ("claude-3", "claude-haiku-4", "claude-sonnet-4", "claude-opus-4")
"""Models that think only when told to; all later ones may think before any reply."""


class Anthropic(Remote):
    """The model `model` of Anthropic. Without `key` the SDK looks for one as it always does."""

    sdk = "anthropic"

    def __init__(
        self,
        model: str,
        *,
        vendor_url: str | None = None,
        key: str | None = None,
        retries: int = RETRIES,
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
        client = network().client(self, self._connect)
        body = body_of(request, self._model)
        try:
            message = await client.messages.create(**body, timeout=request.timeout)
        except TypeError as error:
            if "authentication" in str(error):  # the SDK's way to say that it has found no key
                raise no_key(self.name, self.server) from None
            raise
        if not hasattr(message, "to_dict"):
            raise unreadable(self.name, self.server)
        return self._reply(message.to_dict(warnings=False))

    def _connect(self) -> Client:
        from anthropic import AsyncAnthropic

        return AsyncAnthropic(
            api_key=self._key, base_url=self.server.url, max_retries=self._retries
        )

    def _reply(self, message: Body) -> Reply:
        content = message.get("content")
        if not isinstance(content, list):
            raise unreadable(self.name, self.server)
        usage, written = usage_in(message.get("usage") or {})
        usage = replace(usage, usd=cost(self.name, usage, written, self._prices))
        return Reply(
            said_in(content, self.name),
            _stop(message.get("stop_reason")),
            usage,
            message.get("model") or self._model,
        )


def body_of(request: Request, model: str) -> Body:
    """Write `request` as the body of a message."""
    thinks = not model.startswith(UNTHINKING_FAMILIES)
    body: Body = {
        "model": model,
        "max_tokens": request.max_reply_tokens + (THINKING_ROOM if thinks else 0),
        "messages": _messages(request, f"anthropic/{model}"),
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.system:
        cached = {"cache_control": {"type": "ephemeral"}}
        body["system"] = [{"type": "text", "text": request.system} | cached]
    return body


def _messages(request: Request, name: str) -> list[Body]:
    """The conversation, in which the two roles take turns: neighbours of one role become one message."""
    turns: list[Body] = []
    for message in normal(request.messages):
        role = "assistant" if isinstance(message, ModelMessage) else "user"
        content = _content(message, name)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += content
        else:
            turns.append({"role": role, "content": content})
    return turns


def _content(message: Message, name: str) -> list[Json]:
    match message:
        case UserMessage(text):
            return _text(text)
        case ModelMessage(sealed=Sealed(by=by, blocks=blocks)) if by == name:
            return list(blocks)
        case ModelMessage(text, calls):
            return _text(text) + [_tool_use(call) for call in calls]
        case ToolMessage(results):
            return [_tool_result(result) for result in results]
        case _:
            assert_never(message)


def _text(text: str) -> list[Json]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _tool_use(call: ToolCall) -> Body:
    return {
        "type": "tool_use",
        "id": call.id,
        "name": call.name,
        "input": arguments_to_send(call),
    }


def _tool_result(result: ToolResult) -> Body:
    block: Body = {"type": "tool_result", "tool_use_id": result.id}
    if content := _text(result.text):
        block["content"] = content
    if result.failed:
        block["is_error"] = True
    return block


def _tool(tool: Tool) -> Body:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
    }


def said_in(content: list[Body], name: str) -> ModelMessage:
    """Read the blocks of a message of the model `name`; they are kept as they are if it has thought."""
    text = "".join(block.get("text") or "" for block in content if block.get("type") == "text")
    calls = tuple(_call_in(block) for block in content if block.get("type") == "tool_use")
    thought = any(block.get("type") not in ("text", "tool_use") for block in content)
    return ModelMessage(text, calls, Sealed(name, tuple(content)) if thought else None)


def _call_in(block: Body) -> ToolCall:
    arguments = block.get("input")
    raw = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(
        block.get("id") or "",
        block.get("name") or "",
        arguments if isinstance(arguments, dict) else None,
        raw,
    )


def _stop(reason: str | None) -> Stop:
    match reason:
        case "max_tokens" | "model_context_window_exceeded":
            return "length"
        case "refusal":
            return "refusal"
        case _:  # end_turn, tool_use, stop_sequence, pause_turn
            return "end"


def usage_in(usage: Body) -> tuple[Usage, int]:
    """Read what a message used, its input in full as our `Usage` counts it, and what a cache was given."""
    cached = usage.get("cache_read_input_tokens") or 0
    written = usage.get("cache_creation_input_tokens") or 0
    plain, output = usage.get("input_tokens") or 0, usage.get("output_tokens") or 0
    return Usage(input=plain + cached + written, output=output, cached=cached), written
