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
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar, assert_never

from njrt.data.media import Attachment
from njrt.data.message_json import format_json_line
from njrt.data.records import replace
from njrt.errors import ModelNotFoundError
from njrt.messages import (
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
from njrt.models.decision_endpoints import ask_openai, read_likeliest
from njrt.models.prices import add_price
from njrt.models.remote import MAX_RETRIES, THINKING_TOKENS, VendorModel
from njrt.models.request_parts import (
    Body,
    build_file,
    make_sendable_arguments,
    normalize_messages,
    parse_arguments,
)
from njrt.models.response import MalformedReplyError, read_field, read_token_count
from njrt.models.server import OWN_KEY_VARIABLE, Server
from njrt.models.strict_schema import is_strict, make_strict_schema, unwrap_reply
from njrt.values.questions import LETTERS, read_letters

VENDOR_URL = "https://api.openai.com/v1"

DECISION_MODELS = ("gpt-6-luna",)
"""OpenAI's models with the endpoint `/v1/decisions`."""

TOOLS_OF_THINKING_MODELS: Mapping[str, str] = {
    **dict.fromkeys(("o1", "o3", "o4", "gpt-5"), "always"),
    **dict.fromkeys(("gpt-5.4", "gpt-5.5", "gpt-5.6", "gpt-6"), "unthinking"),
    **dict.fromkeys(("gpt-6-astra", "gpt-6.1"), "never"),
}
"""Models that think, at no temperature, and when chat completions lets them call tools."""


def find_tools_of_thinking_model(model: str) -> str | None:
    """Return when a thinking model may call tools, by the longest prefix; None for other models."""
    prefixes = [it for it in TOOLS_OF_THINKING_MODELS if model.startswith(it)]
    return TOOLS_OF_THINKING_MODELS[max(prefixes, key=len)] if prefixes else None


class OpenAI(VendorModel):
    """The model `model` of OpenAI or of the server at `base_url`; None is the first that it lists.

    Without `key` the SDK reads its own variables, but only for the vendor; OPENAI_BASE_URL is the
    vendor's URL.
    """

    sdk = "openai"
    sdk_name = "OpenAI"
    api_path = "chat.completions"
    pieces: ClassVar = {
        "content.delta": "delta",
        "tool_calls.function.arguments.delta": "arguments_delta",
    }

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
        variable = "OPENAI_API_KEY" if base_url is None else OWN_KEY_VARIABLE
        url = base_url or vendor_url or os.environ.get("OPENAI_BASE_URL") or VENDOR_URL
        super().__init__(
            f"openai/{model}" if model else f"the first model of {base_url}",
            "text" if thinking == "never" or base_url is not None else "tools",
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
            with self.explained():
                page = await self.get_client().models.list()
                if not page.data:
                    raise ModelNotFoundError(f"{self.server.url} lists no model; set NJC_MODEL")
                self._model = str(page.data[0].id)
        if request.question is None or not self.has_decisions:
            return await super().exchange(request)
        with self.explained():
            reply = await ask_openai(self.get_client(), self._model, request, request.question)
        return replace(reply, usage=add_price(self.name, reply.usage, 0))

    def make_body(self, request: Request) -> Body:
        model, messages = self._model or "", list(_build_messages(request))
        body: Body = {"model": model, "messages": messages}
        if request.tools:
            body |= {"tools": [_build_tool(tool) for tool in request.tools], "tool_choice": "auto"}
        if request.schema is not None:
            form: Body = {"name": "reply", "schema": request.schema}
            if not self.is_own_server:
                schema = make_strict_schema(request.schema)
                form |= {"schema": schema, "strict": is_strict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        if request.question is not None:
            body |= {"logprobs": True, "top_logprobs": len(LETTERS)}
        if tools := find_tools_of_thinking_model(model):
            is_quiet = request.tools and tools == "unthinking"
            body |= {"reasoning_effort": "none"} if is_quiet else {}
            return body | {"max_completion_tokens": request.max_reply_tokens + THINKING_TOKENS}
        limit = "max_tokens" if self.is_own_server else "max_completion_tokens"  # the older field
        given = {} if request.temperature is None else {"temperature": request.temperature}
        return body | {limit: request.max_reply_tokens} | given

    @asynccontextmanager
    async def open_stream(self, api: Any, arguments: Body) -> AsyncIterator[tuple[Any, Any]]:
        from openai.lib.streaming.chat import ChatCompletionStreamState

        streamed = arguments | {"stream": True, "stream_options": {"include_usage": True}}
        async with await api.create(**streamed) as stream:
            yield stream, ChatCompletionStreamState()

    def read_event(self, state: Any, event: Any) -> Sequence[Any]:
        # The SDK keeps only the usage of the last event.
        event.usage = state.usage = event.usage or getattr(state, "usage", None)
        return tuple(state.handle_chunk(event))

    def get_snapshot(self, state: Any) -> tuple[Body, bool]:
        completion = state.current_completion_snapshot
        is_ended = any(choice.finish_reason for choice in completion.choices[:1])
        return completion.to_dict(warnings=False), is_ended

    def read_response(self, response: Any, request: Request) -> Reply:
        if not (choices := read_field(response, "choices", list)):
            raise MalformedReplyError("choices: empty")
        message, stop = parse_choice(choices[0], len(request.messages))
        name = read_field(response, "model", str) or self._model or ""
        reply = Reply(message, stop, self.read_usage(response.get("usage")), name)
        if request.question is not None:
            likeliest = read_likeliest(choices[0])
            self.can_decide = bool(likeliest) or stop == "refusal"
            found = read_letters(likeliest, request.question)
            return replace(reply, stop="end", probabilities=found)
        return reply if request.schema is None or self.is_own_server else unwrap_reply(reply)

    def read_usage(self, usage: Any) -> Usage:
        if usage is None:
            return Usage()
        prompt = read_token_count(usage, "prompt_tokens")
        cached = min(read_token_count(usage, "prompt_tokens_details", "cached_tokens"), prompt)
        written = read_token_count(usage, "prompt_tokens_details", "cache_write_tokens")
        found = Usage(prompt, read_token_count(usage, "completion_tokens"), cached)
        return found if self.is_own_server else add_price(self.name, found, written)


def _build_messages(request: Request) -> Iterator[Body]:
    if request.system:
        yield {"role": "system", "content": request.system}
    for message in normalize_messages(request.messages):
        match message:
            case UserMessage(text, ()):
                yield {"role": "user", "content": text}
            case UserMessage(text, attachments):
                files = [part for it in attachments for part in build_file(it, _make_file)]
                yield {"role": "user", "content": [*files, {"type": "text", "text": text}]}
            case ModelMessage(text, calls):
                made = {"tool_calls": [_build_call(call) for call in calls]} if calls else {}
                yield {"role": "assistant", "content": text or None} | made
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
    stop = _STOP_REASONS.get(reason, "refusal" if refusal else "end")
    return ModelMessage(read_field(message, "content", str) or refusal or "", calls), stop


_STOP_REASONS: Mapping[str | None, StopReason] = {"length": "length", "content_filter": "refusal"}


def _parse_call(call: Any, made_id: str) -> ToolCall:
    function = read_field(call, "function", dict)
    name, raw = read_field(function, "name", str), read_field(function, "arguments", str) or ""
    if name is None:
        raise MalformedReplyError("tool_calls: a call without a name")
    return ToolCall(read_field(call, "id", str) or made_id, name, parse_arguments(raw), raw)
