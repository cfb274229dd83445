"""PydanticAI's models of Bedrock, Vertex, Groq, Mistral, Ollama and others.

    PydanticAI("groq:llama-3.3-70b-versatile")      model="pydantic-ai:groq:llama-3.3-70b-versatile"
    PydanticAI(FunctionModel(reply))                njrt.using(model=FunctionModel(reply))

PydanticAI's providers have the connection, the key and the retries. A response with more than text
and calls goes back to the same model exactly as it came (`VendorContent`). Tested with its OpenAI
model. (https://ai.pydantic.dev/models/overview/)
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, assert_never

from njrt.errors import (
    ConfigurationError,
    ModelError,
    NaturalError,
    RejectedRequestError,
    ServerError,
    require_packages,
)
from njrt.media import Attachment
from njrt.messages import (
    Json,
    ModelMessage,
    Reply,
    Request,
    StopReason,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
    VendorContent,
)
from njrt.models.http_client import current_bill, was_sent
from njrt.models.remote import (
    THINKING_TOKENS,
    RemoteModel,
    add_file_hint,
    list_files,
)
from njrt.models.request_parts import (
    make_sendable_arguments,
    normalize_messages,
    parse_arguments,
    read_text,
)
from njrt.models.response import MalformedReplyError, escape_surrogates, read_token_count
from njrt.models.server import (
    Server,
    make_key_error,
    make_missing_key_error,
    make_model_error,
    shorten_message,
)
from njrt.models.strict_schema import make_strict_schema, restore_strict_reply

if TYPE_CHECKING:
    from pydantic_ai import messages as ai
    from pydantic_ai.models import Model as AIModel
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings


class PydanticAI(RemoteModel):
    """A model of PydanticAI: an object, or its name such as `groq:llama-3.3-70b-versatile`."""

    sdk = "pydantic_ai"

    def __init__(self, model: AIModel | str) -> None:
        name = model if isinstance(model, str) else f"{model.system}:{model.model_name}"
        provider = name.partition(":")[0]
        self._given = model
        self._connected: tuple[int, AIModel] | None = None
        require_packages(f"model `pydantic-ai:{name}`", "njpy-runtime[pydantic-ai]", self.sdk)
        connected = self._get_model()
        key_variable = f"{provider.upper().replace('-', '_')}_API_KEY"
        server = Server(connected.base_url or provider, key_variable)
        super().__init__(f"pydantic-ai:{name}", "tools", server)
        profile = connected.profile
        self.can_force_tools = bool(profile.get("supports_tools", True))
        self.has_native_schemas = bool(profile.get("supports_json_schema_output", False))
        self.thinking_tokens = THINKING_TOKENS if profile.get("thinking_always_enabled") else 0
        if not self.can_force_tools or connected.system == "ollama":
            self.protocol = "text"

    async def exchange(self, request: Request) -> Reply:
        from pydantic_ai.exceptions import AgentRunError, ContentFilterError, UserError

        try:
            response = await self._ask(request)
            reply = Reply(
                parse_response(response, self.name, len(request.messages)),
                _STOP_REASONS.get(response.finish_reason, "end"),
                read_usage(response) or Usage(),
                response.model_name or self.name,
            )
            return reply if request.schema is None else restore_strict_reply(reply, request.schema)
        except (NaturalError, MalformedReplyError):
            raise
        except ContentFilterError as error:
            return Reply(ModelMessage(shorten_message(error.message)), "refusal", model=self.name)
        except (AgentRunError, UserError) as error:
            raise add_file_hint(self._explain(error), request) from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            cancelled = f"{self.name} failed to reply (CancelledError)"  # by itself
            raise ServerError(cancelled) from None
        except Exception as error:  # from the provider's SDK, or from the program's own model
            if list_files(request) and isinstance(error, RuntimeError | ValueError):
                reason = shorten_message(str(error))
                rejected = RejectedRequestError(f"{self.name} cannot be sent this: {reason}")
                raise add_file_hint(rejected, request) from None
            # An SDK's error may contain the key.
            cause = None if isinstance(self._given, str) else error
            raise ServerError(f"{self.name} failed to reply ({type(error).__name__})") from cause

    def _explain(self, failure: Any) -> ModelError:
        from pydantic_ai import exceptions

        where, reason = f"{self.server.url} for {self.name}", shorten_message(str(failure))
        match failure:
            case exceptions.ModelHTTPError() | exceptions.ModelConnectionError():
                error = make_model_error(failure, self.name, self.server)
            case exceptions.ModelAuthenticationError():  # its message may repeat the key
                error = make_missing_key_error(self.name, self.server)
            case exceptions.ModelRequestRejectedError() | exceptions.UserError():
                error = RejectedRequestError(f"the request to {where} was rejected: {reason}")
            case exceptions.ModelAPIError():
                error = ServerError(f"no reply from {where}: {reason}")
            case _:
                error = ServerError(f"{where} sent an unreadable reply ({type(failure).__name__})")
        if isinstance(error, ServerError):
            error.retry_after = getattr(failure, "retry_after", None)
            error.was_sent = was_sent(failure)
        return error

    async def _ask(self, request: Request) -> ai.ModelResponse:
        from pydantic_ai.direct import model_request, model_request_stream
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        built = escape_surrogates(build_messages(request, self.name))
        asked = self._get_model(), ModelMessagesTypeAdapter.validate_python(built)
        options: Any = {
            "model_settings": self._make_settings(request),
            "model_request_parameters": self._make_parameters(request),
        }
        if request.on_text is None:
            return await model_request(*asked, **options)
        stream = None
        try:
            async with model_request_stream(*asked, **options) as opened:
                async for _ in opened:
                    stream = opened
                    request.on_text(format_text(opened.get()))
                response = opened.get()
            if response.state != "complete":
                raise EOFError("it has no end")
        except Exception as failure:
            if stream is not None:
                with suppress(Exception):
                    if (used := read_usage(stream.get())) and (bill := current_bill.get()):
                        bill.report_usage(used, is_whole=False)
                broken = f"the stream of {self.name} broke off ({type(failure).__name__})"
                raise ServerError(f"{broken}; try again") from None
            if isinstance(failure, NotImplementedError | AssertionError):
                raise RejectedRequestError(f"{self.name} cannot stream") from None
            raise
        return response

    def _make_settings(self, request: Request) -> ModelSettings:
        model = self._get_model()
        settings: ModelSettings = {
            "max_tokens": request.max_reply_tokens + self.thinking_tokens,
            # The whole conversation is worth caching at the vendor once it is sent again.
            "cache": {"messages": len(request.messages) > 1},
        }
        if "timeout" not in model.unsupported_settings:
            settings["timeout"] = request.timeout
        if request.temperature is not None:
            settings["temperature"] = request.temperature
        return settings

    def _make_parameters(self, request: Request) -> ModelRequestParameters:
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition
        from pydantic_ai.tools import ToolDefinition

        if request.schema is None or not (self.has_native_schemas or self.can_force_tools):
            return ModelRequestParameters(
                function_tools=[
                    ToolDefinition(
                        name=tool.name,
                        description=tool.description,
                        parameters_json_schema=dict(tool.parameters),
                    )
                    for tool in request.tools
                ]
            )
        schema = make_strict_schema(request.schema)
        if self.has_native_schemas:
            output = OutputObjectDefinition(schema, name="reply", strict=True)
            return ModelRequestParameters(output_mode="native", output_object=output)
        reply = ToolDefinition(
            name="reply",
            description="Reply.",
            parameters_json_schema=schema,
            strict=True,
            kind="output",
        )
        return ModelRequestParameters(
            output_mode="tool", output_tools=[reply], allow_text_output=False
        )

    def _get_model(self) -> AIModel:
        """Return the model object; a forked process makes a named model again."""
        if not isinstance(self._given, str):
            return self._given
        if self._connected is None or self._connected[0] != os.getpid():
            self._connected = os.getpid(), infer_model(self._given)
        return self._connected[1]


def infer_model(name: str) -> AIModel:
    """Return the model object of a name; raise an error that says what is missing."""
    from pydantic_ai import models
    from pydantic_ai.exceptions import UserError

    provider = name.partition(":")[0]
    try:
        return models.infer_model(name)
    except ImportError:
        raise ConfigurationError(
            f"model `pydantic-ai:{name}` needs the SDK of its vendor; "
            f'install it with: pip install "pydantic-ai-slim[{provider}]"'
        ) from None
    except Exception as error:  # such as no credentials or no region
        kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
        text = f"cannot use model `pydantic-ai:{name}`: {kind}{shorten_message(str(error))}"
        if "_API_KEY" in text:
            raise make_key_error(text, is_missing=True) from None
        raise ConfigurationError(text) from None


# ── messages and replies in PydanticAI's form, and back ──────────────────────────────────────────


def build_messages(request: Request, name: str) -> list[Json]:
    """Return the conversation in the JSON form of PydanticAI; consecutive requests become one."""
    turns: list[Json] = []
    for message in normalize_messages(request.messages):
        if isinstance(message, ModelMessage):
            turns.append(build_response(message, name))
            continue
        if not turns or turns[-1]["kind"] == "response":
            turns.append({"kind": "request", "parts": [], "instructions": request.system or None})
        turns[-1]["parts"].extend(build_request_parts(message))
    return turns


def build_request_parts(message: UserMessage | ToolMessage) -> Iterator[Json]:
    """Yield a message from the runtime as parts of a request."""
    match message:
        case UserMessage(text, attachments):
            files = [part for file in attachments for part in build_file(file)]
            yield {"part_kind": "user-prompt", "content": [*files, text] if files else text}
        case ToolMessage(results):
            for result in results:
                part = {"part_kind": "tool-return", "tool_call_id": result.id}
                outcome = "failed" if result.failed else "success"
                yield part | {"tool_name": result.name, "content": result.text, "outcome": outcome}
        case _:
            assert_never(message)


def build_file(attachment: Attachment) -> Iterator[Any]:
    """Yield the parts of a file: its name, then its contents."""
    media = attachment.media
    yield f"<{attachment.name}>:"
    if media.media_type.startswith("text/") and media.data:
        yield read_text(attachment)
    elif media.data:
        yield {"kind": "binary", "data": media.data, "media_type": media.media_type}
    else:
        known = {} if media.media_type.endswith("*") else {"media_type": media.media_type}
        yield {"kind": f"{media.kind}-url", "url": media.url} | known


def build_response(message: ModelMessage, name: str) -> Json:
    """Return an earlier message from a model; unchanged if it came from the model `name`."""
    content = message.vendor_content
    if content is not None and content.model == name:
        (response,) = content.blocks
        return response
    parts: list[Json] = []
    if message.text.strip():
        parts.append({"part_kind": "text", "content": message.text})
    for call in message.calls:
        part = {"part_kind": "tool-call", "tool_name": call.name, "tool_call_id": call.id}
        parts.append(part | {"args": make_sendable_arguments(call)})
    return {"kind": "response", "parts": parts}


def parse_response(response: ai.ModelResponse, name: str, position: int) -> ModelMessage:
    """Return the model `name`'s message; `position` in the conversation numbers its calls."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter, TextPart, ToolCallPart

    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    parsed = tuple(
        parse_call(call, f"call_{position}_{number}") for number, call in enumerate(calls, 1)
    )
    is_plain = all(isinstance(part, TextPart | ToolCallPart) for part in response.parts)
    kept = None
    if not is_plain:
        blocks = ModelMessagesTypeAdapter.dump_python([response], mode="json")
        kept = VendorContent(name, tuple(blocks))
    return ModelMessage(escape_surrogates(text), parsed, kept)


def parse_call(call: ai.ToolCallPart, default_id: str) -> ToolCall:
    """Return a tool call."""
    raw = call.args if isinstance(call.args, str) else json.dumps(call.args or {})
    raw = escape_surrogates(raw)
    return ToolCall(call.tool_call_id or default_id, call.tool_name, parse_arguments(raw), raw)


_STOP_REASONS: Mapping[str | None, StopReason] = {"length": "length", "content_filter": "refusal"}


def read_usage(response: ai.ModelResponse) -> Usage | None:
    """Return a response's usage, with the price if it is known; None if no tokens were counted."""
    used = response.usage
    prompt, output = read_token_count(used.input_tokens), read_token_count(used.output_tokens)
    if not prompt + output:
        return None
    cost = used.cost
    if cost is None:
        with suppress(LookupError, ValueError, AssertionError):
            cost = response.cost().total_price
    cached = min(read_token_count(used.cache_read_tokens), prompt)
    return Usage(prompt, output, cached, None if cost is None else float(cost))


def format_text(response: ai.ModelResponse) -> str:
    """Return a response's text so far: its text, then the arguments of its calls."""
    from pydantic_ai.messages import TextPart, ToolCallPart

    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    calls = [part.args for part in response.parts if isinstance(part, ToolCallPart)]
    texts += [each if isinstance(each, str) else json.dumps(each) for each in calls]
    text: str = escape_surrogates("\n".join(filter(None, texts)))
    return text
