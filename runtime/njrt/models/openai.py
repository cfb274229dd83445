"""OpenAI's models, and every server that speaks OpenAI's chat completions.

    OpenAI("gpt-4.1")                                        the vendor; OPENAI_API_KEY, OPENAI_BASE_URL
    OpenAI("local", base_url="http://127.0.0.1:8000/v1")     vLLM, Ollama, llama.cpp, a proxy
    OpenAI(None, base_url="http://127.0.0.1:8000/v1")        ... and the first model that it lists

    UserMessage(text)          <->  {"role": "user", "content": text}
    ModelMessage(text, calls)  <->  {"role": "assistant", "content": text, "tool_calls": [...]}
    ToolMessage(results)        ->  one {"role": "tool", "tool_call_id": ..., "content": ...} a result

Behind a base_url, models are mostly small and servers simple: they are asked in plain text unless the
program says otherwise, and with the older field names.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, assert_never

from njrt.errors import ModelNotFoundError
from njrt.messages import (
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
)
from njrt.models.conversation import make_sendable_arguments, normalize_messages, parse_arguments
from njrt.models.network import Client, get_network
from njrt.models.prices import PRICES, Price, compute_cost
from njrt.models.remote import (
    MAX_RETRIES,
    THINKING_TOKENS,
    RemoteModel,
    Server,
    make_unreadable_reply_error,
)
from njrt.models.strict_schema import make_strict_schema, restore_strict_reply

Body = dict[str, Any]
"""JSON on its way to a server."""

VENDOR_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class ThinkingFamily:
    """Models that think before they speak: they take no temperature, and a limit that counts thinking.

    `tools` says whether chat completions lets them call tools: as others do, only when they do not
    think, or never.
    """

    prefix: str
    tools: Literal["thinking", "unthinking", "never"] = "thinking"


THINKING_FAMILIES = (
    ThinkingFamily("o1"),
    ThinkingFamily("o3"),
    ThinkingFamily("o4"),
    ThinkingFamily("gpt-5"),
    ThinkingFamily("gpt-5.4", tools="unthinking"),
    ThinkingFamily("gpt-5.5", tools="unthinking"),
    ThinkingFamily("gpt-5.6", tools="unthinking"),
    ThinkingFamily("gpt-6", tools="unthinking"),
    ThinkingFamily("gpt-6-astra", tools="never"),
    ThinkingFamily("gpt-6.1", tools="never"),
)


def find_thinking_family(model: str) -> ThinkingFamily | None:
    """The family of a model that thinks, by the longest prefix of its name; None for all others."""
    families = [family for family in THINKING_FAMILIES if model.startswith(family.prefix)]
    return max(families, key=lambda family: len(family.prefix), default=None)


class OpenAI(RemoteModel):
    """The model `model` of OpenAI, or of the server at `base_url`; the first that it lists if None.

    Without `key` the SDK looks for one as it always does.
    """

    sdk = "openai"

    def __init__(
        self,
        model: str | None,
        *,
        base_url: str | None = None,
        vendor_url: str | None = None,
        key: str | None = None,
        retries: int = MAX_RETRIES,
        prices: Mapping[str, Price] = PRICES,
    ) -> None:
        family = find_thinking_family(model or "")
        textual = base_url is not None or (family is not None and family.tools == "never")
        super().__init__(
            f"openai/{model}" if model else f"the first model of {base_url}",
            "text" if textual else "tools",
            Server(base_url or vendor_url or VENDOR_URL, "OPENAI_API_KEY"),
        )
        self._model = model
        self._foreign = base_url is not None
        # Servers of one's own mostly want no key, but the SDK insists on one.
        self._key = key or ("none" if self._foreign else None)
        self._retries = retries
        self._prices = {} if self._foreign else prices
        self._listing = asyncio.Lock()

    def failures(self) -> tuple[type[Exception], ...]:
        import openai

        return openai.OpenAIError, json.JSONDecodeError

    async def exchange(self, request: Request) -> Reply:
        client = get_network().get_client(self, self._connect)
        if self._model is None:
            async with self._listing:
                self._model = self._model or await self._find_first_model(client)
        model = self._model

        async def exchange(request: Request) -> Reply:
            body = make_completion_body(request, model, self._foreign)
            completion = await client.chat.completions.create(**body, timeout=request.timeout)
            if not hasattr(completion, "to_dict"):
                raise make_unreadable_reply_error(self.name, self.server)
            reply = self._reply(completion.to_dict(warnings=False), request, model)
            if request.schema is None or self._foreign:
                return reply
            return restore_strict_reply(reply, request.schema)

        return await self.exchange_schema(request, exchange)

    def _connect(self) -> Client:
        from openai import AsyncOpenAI

        return AsyncOpenAI(api_key=self._key, base_url=self.server.url, max_retries=self._retries)

    async def _find_first_model(self, client: Any) -> str:
        listed = await client.models.list()
        for model in getattr(listed, "data", None) or ():
            return str(model.id)
        raise ModelNotFoundError(f"{self.server.url} lists no model; set NJC_MODEL to its name")

    def _reply(self, completion: Body, request: Request, model: str) -> Reply:
        choices = completion.get("choices")
        if not choices:
            raise make_unreadable_reply_error(self.name, self.server)
        message, stop = parse_choice(choices[0], len(request.messages))
        usage, written = parse_completion_usage(completion.get("usage") or {})
        usage = replace(usage, usd=compute_cost(self.name, usage, written, self._prices))
        return Reply(message, stop, usage, completion.get("model") or model)


def make_completion_body(request: Request, model: str, foreign: bool = False) -> Body:
    """Write `request` as the body of a chat completion; `foreign` servers know only older fields."""
    body: Body = {"model": model, "messages": list(_build_messages(request))}
    if request.tools:
        body |= {"tools": [_build_tool(tool) for tool in request.tools], "tool_choice": "auto"}
    if request.schema is not None:
        schema = request.schema if foreign else make_strict_schema(request.schema)
        form = {"name": "reply", "schema": schema} | ({} if foreign else {"strict": True})
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    if family := find_thinking_family(model):
        body["max_completion_tokens"] = request.max_reply_tokens + THINKING_TOKENS
        if request.tools and family.tools == "unthinking":
            body["reasoning_effort"] = "none"
        return body
    body["max_tokens" if foreign else "max_completion_tokens"] = request.max_reply_tokens
    if request.temperature is not None:
        body["temperature"] = request.temperature
    return body


def _build_messages(request: Request) -> Iterator[Body]:
    if request.system:
        yield {"role": "system", "content": request.system}
    for message in normalize_messages(request.messages):
        yield from _build_message(message)


def _build_message(message: Message) -> Iterator[Body]:
    match message:
        case UserMessage(text):
            yield {"role": "user", "content": text}
        case ModelMessage(text, ()):
            yield {"role": "assistant", "content": text}
        case ModelMessage(text, calls):
            yield {
                "role": "assistant",
                "content": text or None,
                "tool_calls": [_build_call(call) for call in calls],
            }
        case ToolMessage(results):
            for result in results:
                yield {"role": "tool", "tool_call_id": result.id, "content": result.text}
        case _:
            assert_never(message)


def _build_call(call: ToolCall) -> Body:
    arguments = json.dumps(make_sendable_arguments(call), ensure_ascii=False)
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def _build_tool(tool: Tool) -> Body:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "strict": True,
        },
    }


def parse_choice(choice: Body, position: int) -> tuple[ModelMessage, StopReason]:
    """Read one choice of a completion; `position` in the conversation numbers calls that have no id."""
    said = choice.get("message") or {}
    calls = tuple(
        _parse_call(call, f"call_{position}_{number}")
        for number, call in enumerate(said.get("tool_calls") or (), 1)
    )
    refused = said.get("refusal")
    match choice.get("finish_reason"):
        case "length":
            stop: StopReason = "length"
        case "content_filter":
            stop = "refusal"
        case _:
            stop = "refusal" if refused else "end"
    return ModelMessage(said.get("content") or refused or "", calls), stop


def _parse_call(call: Body, otherwise: str) -> ToolCall:
    function = call.get("function") or {}
    raw = function.get("arguments") or ""
    if not isinstance(raw, str):  # some servers send the object itself
        raw = json.dumps(raw, ensure_ascii=False)
    return ToolCall(
        call.get("id") or otherwise, function.get("name") or "", parse_arguments(raw), raw
    )


def parse_completion_usage(usage: Body) -> tuple[Usage, int]:
    """Read what a completion used; servers may leave out all of it. Also the tokens written to a cache."""
    details = usage.get("prompt_tokens_details") or {}
    read = Usage(
        input=usage.get("prompt_tokens") or 0,
        output=usage.get("completion_tokens") or 0,
        cached=details.get("cached_tokens") or 0,
    )
    return read, details.get("cache_write_tokens") or 0
