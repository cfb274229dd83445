"""OpenAI's models, and servers with OpenAI's chat completions API.

    OpenAI("gpt-4.1")                                       OPENAI_API_KEY, OPENAI_BASE_URL
    OpenAI("local", base_url="http://127.0.0.1:8000/v1")    vLLM, Ollama, a proxy; NJC_API_KEY

    UserMessage(text)          <->  {"role": "user", "content": text}
    ModelMessage(text, calls)  <->  {"role": "assistant", "content": text, "tool_calls": [...]}
    ToolMessage(results)        ->  {"role": "tool", "tool_call_id": ..., "content": ...}, ...

Models behind a base_url are asked in plain text unless `protocol` is set, with the older fields.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal, assert_never

from njrt.data.media import Attachment
from njrt.data.message_json import format_json_line
from njrt.data.records import replace
from njrt.errors import ConfigurationError, ModelNotFoundError
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
from njrt.models.decision_endpoints import ask_openai
from njrt.models.prices import add_price
from njrt.models.remote import MAX_RETRIES, THINKING_TOKENS, VendorModel
from njrt.models.request_parts import (
    build_file,
    make_sendable_arguments,
    normalize_messages,
    parse_arguments,
)
from njrt.models.response import MalformedReplyError, parse_json, read_field, read_token_count
from njrt.models.server import OWN_KEY_VARIABLE, Server
from njrt.models.strict_schema import is_strict, make_strict_schema, unwrap_reply
from njrt.values.questions import LETTERS, read_letters

Body = dict[str, Any]
"""JSON on its way to a server."""

VENDOR_URL = "https://api.openai.com/v1"

DECISION_MODELS = ("gpt-6-luna",)
"""OpenAI's models with the endpoint `/v1/decisions`."""


THINKING_FAMILIES: Mapping[str, Literal["thinking", "unthinking", "never"]] = {
    "o1": "thinking",
    "o3": "thinking",
    "o4": "thinking",
    "gpt-5": "thinking",
    "gpt-5.4": "unthinking",
    "gpt-5.5": "unthinking",
    "gpt-5.6": "unthinking",
    "gpt-6": "unthinking",
    "gpt-6-astra": "never",
    "gpt-6.1": "never",
}
"""Models that think before they reply, at no temperature, within the limit of tokens.

The values are when chat completions lets them call tools: always, only without thinking, or never.
"""


def find_tools_of_thinking_model(model: str) -> str | None:
    """Return when a thinking model may call tools, by the longest prefix; None for other models."""
    prefixes = [prefix for prefix in THINKING_FAMILIES if model.startswith(prefix)]
    return THINKING_FAMILIES[max(prefixes, key=len)] if prefixes else None


class OpenAI(VendorModel):
    """The model `model` of OpenAI or of the server at `base_url`; None is the first that it lists.

    Without `key` the SDK reads its own variables, but only for the vendor; OPENAI_BASE_URL is the
    vendor's URL.
    """

    sdk = "openai"
    client_name, error_name = "AsyncOpenAI", "OpenAIError"
    api_path = "chat.completions"

    def __init__(
        self,
        model: str | None,
        *,
        base_url: str | None = None,
        vendor_url: str | None = None,
        key: str | None = None,
        retries: int = MAX_RETRIES,
        allow_http: bool = False,
    ) -> None:
        thinking = find_tools_of_thinking_model(model or "")
        textual = base_url is not None or thinking == "never"
        variable = "OPENAI_API_KEY" if base_url is None else OWN_KEY_VARIABLE
        url = base_url or vendor_url or os.environ.get("OPENAI_BASE_URL") or VENDOR_URL
        super().__init__(
            f"openai/{model}" if model else f"the first model of {base_url}",
            "text" if textual else "tools",
            Server(url, variable, allow_http),
            key,
            retries,
        )
        self._model = model
        self.is_own_server = base_url is not None
        self.has_decisions = base_url is None and model in DECISION_MODELS
        self.can_decide = self.has_decisions or base_url is not None or not thinking

    async def exchange(self, request: Request) -> Reply:
        if self._model is None:
            self._model = await self._find_first_model()
        if request.question is None or not self.has_decisions:
            return await super().exchange(request)
        with self.explained():
            reply = await ask_openai(self.get_client(), self._model, request, request.question)
        return replace(reply, usage=add_price(self.name, reply.usage, 0))

    async def _find_first_model(self) -> str:
        client = self.get_client()
        with self.explained():
            response = await client.models.with_raw_response.list()
        match parse_json(response.http_response.content):
            case {"data": [{"id": str(model)}, *_]}:
                return model
        raise ModelNotFoundError(f"{self.server.url} lists no model; set NJC_MODEL to its name")

    def make_body(self, request: Request) -> Body:
        if self._model is None:
            raise ConfigurationError(f"name the model of {self.server.url} in NJC_MODEL")
        return make_completion_body(request, self._model, self.is_own_server)

    @asynccontextmanager
    async def open_stream(self, api: Any, arguments: Body) -> AsyncIterator[tuple[Any, Any]]:
        from openai.lib.streaming.chat import ChatCompletionStreamState

        streamed = arguments | {"stream": True, "stream_options": {"include_usage": True}}
        async with await api.create(**streamed) as stream:
            yield stream, ChatCompletionStreamState()

    def read_piece(self, state: Any, event: Any) -> str:
        # The SDK keeps only the usage of the last event.
        event.usage = state.usage = event.usage or getattr(state, "usage", None)
        pieces = ""
        for made in state.handle_chunk(event):
            match made.type:
                case "content.delta":
                    pieces += made.delta
                case "tool_calls.function.arguments.delta":
                    pieces += made.arguments_delta
        return pieces

    def get_snapshot(self, state: Any) -> tuple[Any, bool]:
        completion = state.current_completion_snapshot
        return completion, any(choice.finish_reason for choice in completion.choices[:1])

    def read_response(self, response: Any, request: Request) -> Reply:
        if not (choices := read_field(response, "choices", list)):
            raise MalformedReplyError("choices: empty")
        message, stop = parse_choice(choices[0], len(request.messages))
        usage = self.read_usage(response.get("usage"))
        name = read_field(response, "model", str) or self._model or ""
        reply = Reply(message, stop, usage, name)
        if request.question is not None:
            likeliest = read_likeliest(choices[0])
            self.can_decide = bool(likeliest) or stop == "refusal"
            probabilities = read_letters(likeliest, request.question)
            return replace(reply, stop="end", probabilities=probabilities)
        if request.schema is None or self.is_own_server:
            return reply
        return unwrap_reply(reply)

    def read_usage(self, usage: Any) -> Usage:
        if usage is None:
            return Usage()
        prompt = read_token_count(usage, "prompt_tokens")
        cached = min(read_token_count(usage, "prompt_tokens_details", "cached_tokens"), prompt)
        written = read_token_count(usage, "prompt_tokens_details", "cache_write_tokens")
        found = Usage(prompt, read_token_count(usage, "completion_tokens"), cached)
        return found if self.is_own_server else add_price(self.name, found, written)


def make_completion_body(request: Request, model: str, own_server: bool = False) -> Body:
    """Return the body of a chat completion request; an `own_server` knows only the older fields."""
    body: Body = {"model": model, "messages": list(_build_messages(request))}
    if request.tools:
        body |= {"tools": [_build_tool(tool) for tool in request.tools], "tool_choice": "auto"}
    if request.schema is not None:
        form: Body = {"name": "reply", "schema": request.schema}
        if not own_server:
            schema = make_strict_schema(request.schema)
            form |= {"schema": schema, "strict": is_strict(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    if request.question is not None:
        body |= {"logprobs": True, "top_logprobs": len(LETTERS)}
    if tools := find_tools_of_thinking_model(model):
        body["max_completion_tokens"] = request.max_reply_tokens + THINKING_TOKENS
        if request.tools and tools == "unthinking":
            body["reasoning_effort"] = "none"
        return body
    body["max_tokens" if own_server else "max_completion_tokens"] = request.max_reply_tokens
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
        case UserMessage(text, ()):
            yield {"role": "user", "content": text}
        case UserMessage(text, attachments):
            files = [part for it in attachments for part in build_file(it, _make_file, TAKEN)]
            yield {"role": "user", "content": [*files, {"type": "text", "text": text}]}
        case ModelMessage(text, ()):
            yield {"role": "assistant", "content": text}
        case ModelMessage(text, calls):
            made = [_build_call(call) for call in calls]
            yield {"role": "assistant", "content": text or None, "tool_calls": made}
        case ToolMessage(results):
            for result in results:
                yield {"role": "tool", "tool_call_id": result.id, "content": result.text}
        case _:
            assert_never(message)


def _make_file(attachment: Attachment) -> Body | None:
    media = attachment.media
    match media.kind, AUDIO_FORMATS.get(media.media_type):
        case "image", _:
            return {"type": "image_url", "image_url": {"url": media.data_url}}
        case "document", _ if media.data:
            file = {"filename": f"{attachment.name}{media.suffix}", "file_data": media.data_url}
            return {"type": "file", "file": file}
        case "audio", str(form) if media.data:
            return {"type": "input_audio", "input_audio": {"data": media.base64, "format": form}}
    return None


TAKEN = "chat completions take images, documents, WAV and MP3; by a URL only images"
AUDIO_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}


def _build_call(call: ToolCall) -> Body:
    function = {"name": call.name, "arguments": format_json_line(make_sendable_arguments(call))}
    return {"id": call.id, "type": "function", "function": function}


def _build_tool(tool: Tool) -> Body:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function | {"strict": is_strict(tool.parameters)}}


def parse_choice(choice: Any, position: int) -> tuple[ModelMessage, StopReason]:
    """Return a choice's message; `position` in the conversation numbers calls without an id."""
    message = read_field(choice, "message", dict) or {}
    calls = tuple(
        _parse_call(call, f"call_{position}_{number}")
        for number, call in enumerate(read_field(message, "tool_calls", list) or (), 1)
    )
    refusal, reason = read_field(message, "refusal", str), read_field(choice, "finish_reason", str)
    stop: StopReason = "refusal" if refusal else "end"
    if reason in ("length", "content_filter"):
        stop = "length" if reason == "length" else "refusal"
    content = read_field(message, "content", str, list)
    if isinstance(content, list):  # some servers send parts
        content = "".join(read_field(part, "text", str) or "" for part in content)
    return ModelMessage(content or refusal or "", calls), stop


def _parse_call(call: Any, made_id: str) -> ToolCall:
    function = read_field(call, "function", dict)
    name, raw = read_field(function, "name", str), read_field(function, "arguments", str) or ""
    if name is None:
        raise MalformedReplyError("tool_calls: a call without a name")
    return ToolCall(read_field(call, "id", str) or made_id, name, parse_arguments(raw), raw)


def read_likeliest(choice: Any) -> list[tuple[str, float]]:
    """Return the likeliest first tokens of a choice, with the logarithms of their probabilities."""
    found = []
    match choice:
        case {"logprobs": {"content": [{"top_logprobs": list(likeliest)}, *_]}}:
            for each in likeliest:
                match each:
                    case {"token": str(token), "logprob": float() | int() as it} if abs(it) < 1e6:
                        found.append((token, float(it)))
    return found
