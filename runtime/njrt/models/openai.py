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
    Stop,
    Tool,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from njrt.models.conversation import arguments_in, arguments_to_send, normal
from njrt.models.network import Client, network
from njrt.models.prices import PRICES, Price, cost
from njrt.models.remote import RETRIES, THINKING_ROOM, Remote, Server, unreadable

Body = dict[str, Any]
"""JSON on its way to a server."""

VENDOR_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Family:
    """Models that think before they speak: they take no temperature, and a limit that counts thinking.

    `tools` says whether chat completions lets them call tools: as others do, only when they do not
    think, or never.
    """

    prefix: str
    tools: Literal["thinking", "unthinking", "never"] = "thinking"


THINKING_FAMILIES = (
    Family("o1"),
    Family("o3"),
    Family("o4"),
    Family("gpt-5"),
    Family("gpt-5.4", tools="unthinking"),
    Family("gpt-5.5", tools="unthinking"),
    Family("gpt-5.6", tools="unthinking"),
    Family("gpt-6", tools="unthinking"),
    Family("gpt-6-astra", tools="never"),
    Family("gpt-6.1", tools="never"),
)


def thinking_family(model: str) -> Family | None:
    """The family of a model that thinks, by the longest prefix of its name; None for all others."""
    families = [family for family in THINKING_FAMILIES if model.startswith(family.prefix)]
    return max(families, key=lambda family: len(family.prefix), default=None)


class OpenAI(Remote):
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
        retries: int = RETRIES,
        prices: Mapping[str, Price] = PRICES,
    ) -> None:
        family = thinking_family(model or "")
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
        client = network().client(self, self._connect)
        if self._model is None:
            async with self._listing:
                self._model = self._model or await self._first_model(client)
        body = body_of(request, self._model, self._foreign)
        completion = await client.chat.completions.create(**body, timeout=request.timeout)
        if not hasattr(completion, "to_dict"):
            raise unreadable(self.name, self.server)
        return self._reply(completion.to_dict(warnings=False), request, self._model)

    def _connect(self) -> Client:
        from openai import AsyncOpenAI

        return AsyncOpenAI(api_key=self._key, base_url=self.server.url, max_retries=self._retries)

    async def _first_model(self, client: Any) -> str:
        listed = await client.models.list()
        for model in getattr(listed, "data", None) or ():
            return str(model.id)
        raise ModelNotFoundError(f"{self.server.url} lists no model; set NJC_MODEL to its name")

    def _reply(self, completion: Body, request: Request, model: str) -> Reply:
        choices = completion.get("choices")
        if not choices:
            raise unreadable(self.name, self.server)
        message, stop = said_in(choices[0], len(request.messages))
        usage, written = usage_in(completion.get("usage") or {})
        usage = replace(usage, usd=cost(self.name, usage, written, self._prices))
        return Reply(message, stop, usage, completion.get("model") or model)


def body_of(request: Request, model: str, foreign: bool = False) -> Body:
    """Write `request` as the body of a chat completion; `foreign` servers know only older fields."""
    body: Body = {"model": model, "messages": list(_messages(request))}
    if request.tools:
        body |= {"tools": [_tool(tool) for tool in request.tools], "tool_choice": "auto"}
    if family := thinking_family(model):
        body["max_completion_tokens"] = request.max_reply_tokens + THINKING_ROOM
        if request.tools and family.tools == "unthinking":
            body["reasoning_effort"] = "none"
        return body
    body["max_tokens" if foreign else "max_completion_tokens"] = request.max_reply_tokens
    if request.temperature is not None:
        body["temperature"] = request.temperature
    return body


def _messages(request: Request) -> Iterator[Body]:
    if request.system:
        yield {"role": "system", "content": request.system}
    for message in normal(request.messages):
        yield from _written(message)


def _written(message: Message) -> Iterator[Body]:
    match message:
        case UserMessage(text):
            yield {"role": "user", "content": text}
        case ModelMessage(text, ()):
            yield {"role": "assistant", "content": text}
        case ModelMessage(text, calls):
            yield {
                "role": "assistant",
                "content": text or None,
                "tool_calls": [_call(call) for call in calls],
            }
        case ToolMessage(results):
            for result in results:
                yield {"role": "tool", "tool_call_id": result.id, "content": result.text}
        case _:
            assert_never(message)


def _call(call: ToolCall) -> Body:
    arguments = json.dumps(arguments_to_send(call), ensure_ascii=False)
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def _tool(tool: Tool) -> Body:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "strict": True,
        },
    }


def said_in(choice: Body, position: int) -> tuple[ModelMessage, Stop]:
    """Read one choice of a completion; `position` in the conversation numbers calls that have no id."""
    said = choice.get("message") or {}
    calls = tuple(
        _call_in(call, f"call_{position}_{number}")
        for number, call in enumerate(said.get("tool_calls") or (), 1)
    )
    refused = said.get("refusal")
    match choice.get("finish_reason"):
        case "length":
            stop: Stop = "length"
        case "content_filter":
            stop = "refusal"
        case _:
            stop = "refusal" if refused else "end"
    return ModelMessage(said.get("content") or refused or "", calls), stop


def _call_in(call: Body, otherwise: str) -> ToolCall:
    function = call.get("function") or {}
    raw = function.get("arguments") or ""
    if not isinstance(raw, str):  # some servers send the object itself
        raw = json.dumps(raw, ensure_ascii=False)
    return ToolCall(call.get("id") or otherwise, function.get("name") or "", arguments_in(raw), raw)


def usage_in(usage: Body) -> tuple[Usage, int]:
    """Read what a completion used; servers may leave out all of it. Also the tokens written to a cache."""
    details = usage.get("prompt_tokens_details") or {}
    read = Usage(
        input=usage.get("prompt_tokens") or 0,
        output=usage.get("completion_tokens") or 0,
        cached=details.get("cached_tokens") or 0,
    )
    return read, details.get("cache_write_tokens") or 0
