"""PydanticAI's models of Bedrock, Vertex, Groq, Mistral, Ollama and others; tested with its OpenAI model.

    PydanticAI("groq:llama-3.3-70b-versatile")      model="pydantic-ai:groq:llama-3.3-70b-versatile"
    PydanticAI(FunctionModel(reply))                njrt.using(model=FunctionModel(reply))

PydanticAI's providers manage the connection, the key and the retries. A response with more than text and calls goes
back to the same model exactly as it came (`VendorContent`). (https://ai.pydantic.dev/models/overview/)
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, assert_never

from njrt.errors import (
    AuthenticationError,
    ConfigurationError,
    ModelError,
    ModelNotFoundError,
    RejectedRequestError,
    ServerError,
    require_packages,
)
from njrt.media import Attachment
from njrt.messages import (
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
from njrt.models.network import Client
from njrt.models.remote import (
    THINKING_TOKENS,
    RemoteModel,
    Server,
    add_file_hint,
    describe_files,
    make_key_error,
    make_model_error,
    shorten_message,
)
from njrt.models.request_parts import (
    make_sendable_arguments,
    normalize_messages,
    parse_arguments,
    read_text,
)
from njrt.models.response import MalformedReplyError, check_token_counts, escape_surrogates
from njrt.models.retries import RetryingSender, was_sent
from njrt.models.streaming import REPORT_SECONDS, BrokenStreamError, OnText
from njrt.models.strict_schema import make_strict_schema, restore_strict_reply

if TYPE_CHECKING:
    from pydantic_ai import messages as ai
    from pydantic_ai.models import Model as AIModel
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings


class PydanticAI(RemoteModel):
    """A model of PydanticAI: an object, or its name such as `groq:llama-3.3-70b-versatile`."""

    sdk: ClassVar[str] = "pydantic_ai"
    unstreamable = (NotImplementedError, AssertionError)

    def __init__(self, model: AIModel | str) -> None:
        name = model if isinstance(model, str) else f"{model.system}:{model.model_name}"
        provider = name.partition(":")[0]
        self._given = model
        self._connected: tuple[int, AIModel] | None = None
        require_packages(f"model `pydantic-ai:{name}`", "njpy-runtime[pydantic-ai]", self.sdk)
        connected = self._get_model()
        key_variable = f"{provider.upper().replace('-', '_')}_API_KEY"
        server = Server(connected.base_url or provider, key_variable)
        super().__init__(f"pydantic-ai:{name}", "tools", server, None)
        profile = connected.profile
        self.can_force_tools = bool(profile.get("supports_tools", True))
        self.has_native_schemas = bool(profile.get("supports_json_schema_output", False))
        self.always_thinks = bool(profile.get("thinking_always_enabled", False))
        if not self.can_force_tools or connected.system == "ollama":
            self.protocol = "text"

    def get_failure_types(self) -> tuple[type[Exception], ...]:
        from pydantic_ai.exceptions import AgentRunError, UserError

        return (AgentRunError, UserError)

    def connect(self) -> Client:
        raise AssertionError("PydanticAI connects by itself")

    def explain_failure(self, failure: Exception) -> ModelError:
        from pydantic_ai import exceptions

        where = f"{self.server.url} for {self.name}"
        error: ModelError
        match failure:
            case exceptions.ModelAuthenticationError():
                error = AuthenticationError(
                    f"{self.server.url} refused the key for {self.name}; check {self.server.key_variable}"
                )
            case exceptions.ModelNotFoundError():
                error = ModelNotFoundError(
                    f"{self.server.url} does not know {self.name}; check the model's name"
                )
            case exceptions.ModelHTTPError():
                error = make_model_error(failure, self.name, self.server, self._key)
            case exceptions.ModelRequestRejectedError() | exceptions.UserError():
                reason = shorten_message(failure.message)
                error = RejectedRequestError(f"the request to {where} was rejected: {reason}")
            case exceptions.ModelConnectionError():
                error = ServerError(f"cannot reach {where}; check the URL and that the server runs")
            case exceptions.ModelAPIError():
                error = ServerError(f"no reply from {where}: {shorten_message(failure.message)}")
            case _:
                error = ServerError(f"{where} sent an unreadable reply ({type(failure).__name__})")
        if isinstance(error, ServerError):
            error.retry_after = getattr(failure, "retry_after", None)
            error.was_sent = was_sent(failure)
        return error

    async def exchange(self, request: Request, sender: RetryingSender) -> Reply:
        return await self.exchange_schema(request, partial(self._exchange_once, sender))

    async def _exchange_once(self, sender: RetryingSender, request: Request) -> Reply:
        from pydantic_ai.exceptions import ContentFilterError

        request = replace(request, system=escape_surrogates(request.system))
        known: tuple[type[Exception], ...] = (
            *self.get_failure_types(),
            MalformedReplyError,
            ServerError,
        )
        try:
            response = await self._ask_or_stream(request, sender)
        except ContentFilterError as error:
            return Reply(ModelMessage(shorten_message(error.message)), "refusal", model=self.name)
        except known:
            raise
        except (NotImplementedError, RuntimeError, ValueError) as error:
            if not describe_files(request):
                raise self._explain_other(error) from self._choose_cause(error)
            reason = shorten_message(str(error))
            rejected = RejectedRequestError(f"{self.name} cannot be sent this: {reason}")
            raise add_file_hint(rejected, request) from None
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise self._explain_other(error) from None  # the model has cancelled itself
        except Exception as error:  # from the provider's SDK, or from the program's own model
            raise self._explain_other(error) from self._choose_cause(error)
        try:
            reply = self._make_reply(response, len(request.messages))
        except MalformedReplyError:
            raise
        except Exception as error:  # the program's own model may reply with any objects
            raise self._explain_other(error) from self._choose_cause(error)
        return reply if request.schema is None else restore_strict_reply(reply, request.schema)

    def _explain_other(self, error: BaseException) -> ModelError:
        return ServerError(f"{self.name} failed to reply ({type(error).__name__})")

    def _choose_cause(self, error: Exception) -> Exception | None:
        """Return an error from the program's own model; None for an SDK's error, which may contain the key."""
        return None if isinstance(self._given, str) else error

    async def _ask_or_stream(self, request: Request, sender: RetryingSender) -> ai.ModelResponse:
        from pydantic_ai.direct import model_request

        model = self._get_model()
        messages = list(build_messages(request, self.name))
        settings, parameters = self._make_settings(request), self._make_parameters(request)
        stream = partial(self._stream_response, model, messages, settings, parameters)
        whole = partial(model_request, model, messages, model_settings=settings)
        whole = partial(whole, model_request_parameters=parameters)
        return await self.stream_or_wait(request, sender, stream, whole)

    async def _stream_response(
        self,
        model: AIModel,
        messages: list[ai.ModelMessage],
        settings: ModelSettings,
        parameters: ModelRequestParameters,
        on_text: OnText,
    ) -> ai.ModelResponse:
        """Return the streamed response; raise BrokenStreamError if the stream broke off after it started."""
        from pydantic_ai.direct import model_request_stream

        has_begun, reported = False, 0.0
        try:
            async with model_request_stream(
                model, messages, model_settings=settings, model_request_parameters=parameters
            ) as stream:
                async for _ in stream:
                    has_begun = True
                    if time.monotonic() - reported >= REPORT_SECONDS:
                        reported = time.monotonic()
                        report_text(stream.get(), on_text)
                response = stream.get()
        except Exception:
            if has_begun:
                raise BrokenStreamError("no end") from None
            raise
        if response.state != "complete":
            raise BrokenStreamError("no end")
        report_text(response, on_text)
        return response

    def _make_settings(self, request: Request) -> ModelSettings:
        model = self._get_model()
        settings: ModelSettings = {
            "max_tokens": request.max_reply_tokens + (THINKING_TOKENS if self.always_thinks else 0),
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
            return ModelRequestParameters(
                output_mode="native",
                output_object=OutputObjectDefinition(schema, name="reply", strict=True),
            )
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

    def _make_reply(self, response: ai.ModelResponse, position: int) -> Reply:
        usage = response.usage
        cached = usage.cache_read_tokens
        check_token_counts(usage.input_tokens, usage.output_tokens, cached)
        used = Usage(
            usage.input_tokens,
            usage.output_tokens,
            min(cached, usage.input_tokens),
            compute_response_cost(response),
        )
        message = parse_response(response, self.name, position)
        stop = _STOP_REASONS.get(response.finish_reason, "end")
        return Reply(message, stop, used, response.model_name or self.name)

    def _get_model(self) -> AIModel:
        """Return the model object; a forked process, which cannot use its connections, makes a named model again."""
        if not isinstance(self._given, str):
            return self._given
        if self._connected is None or self._connected[0] != os.getpid():
            self._connected = os.getpid(), infer_model(self._given)
        return self._connected[1]


def infer_model(name: str) -> AIModel:
    """Return the model object of a name; raises a ConfigurationError or AuthenticationError with the missing part."""
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
    except UserError as error:
        make = make_key_error if "_API_KEY" in error.message else ConfigurationError
        raise make(
            f"cannot use model `pydantic-ai:{name}`: {shorten_message(error.message)}"
        ) from None
    except Exception as error:  # from a provider that finds no credentials or no region
        raise ConfigurationError(
            f"cannot use model `pydantic-ai:{name}`: {type(error).__name__}: {shorten_message(str(error))}"
        ) from None


# ── messages and replies in PydanticAI's form, and back ──────────────────────────────────────────


def build_messages(request: Request, name: str) -> Iterator[ai.ModelMessage]:
    """Yield the conversation in PydanticAI's form, for the model `name`; consecutive requests become one."""
    from pydantic_ai.messages import ModelRequest

    parts: list[ai.ModelRequestPart] = []
    for message in normalize_messages(request.messages):
        if not isinstance(message, ModelMessage):
            parts += build_request_parts(message)
            continue
        if parts:
            yield ModelRequest(parts=parts, instructions=request.system or None)
        parts = []
        yield build_response(message, name)
    if parts:
        yield ModelRequest(parts=parts, instructions=request.system or None)


def build_request_parts(message: UserMessage | ToolMessage) -> Iterator[ai.ModelRequestPart]:
    """Yield a message from the runtime as parts of a request."""
    from pydantic_ai.messages import ToolReturnPart, UserPromptPart

    match message:
        case UserMessage(text, ()):
            yield UserPromptPart(escape_surrogates(text))
        case UserMessage(text, attachments):
            files = [part for file in attachments for part in build_file(file)]
            yield UserPromptPart([*files, escape_surrogates(text)])
        case ToolMessage(results):
            for result in results:
                text = escape_surrogates(result.text)
                part: ToolReturnPart[Any] = ToolReturnPart(result.name, text, result.id)
                yield replace(part, outcome="failed") if result.failed else part
        case _:
            assert_never(message)


def build_file(attachment: Attachment) -> Iterator[ai.UserContent]:
    """Yield the parts of a file: its name, then its contents."""
    from pydantic_ai.messages import AudioUrl, BinaryContent, DocumentUrl, ImageUrl

    media = attachment.media
    yield f"<{attachment.name}>:"
    if media.media_type.startswith("text/") and media.data:
        yield read_text(attachment)
    elif media.data:
        yield BinaryContent(media.data, media_type=media.media_type)
    else:
        kinds = {"image": ImageUrl, "document": DocumentUrl, "audio": AudioUrl}
        media_type = None if media.media_type.endswith("*") else media.media_type
        yield kinds[media.kind](media.url, media_type=media_type)


def build_response(message: ModelMessage, name: str) -> ai.ModelResponse:
    """Return an earlier message from a model; unchanged if it came from the model `name`."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart

    content = message.vendor_content
    if content is not None and content.model == name:
        (response,) = ModelMessagesTypeAdapter.validate_python(list(content.blocks))
        assert isinstance(response, ModelResponse)
        return response
    text = [TextPart(escape_surrogates(message.text))] if message.text.strip() else []
    calls = [
        ToolCallPart(call.name, escape_surrogates(make_sendable_arguments(call)), call.id)
        for call in message.calls
    ]
    return ModelResponse(parts=[*text, *calls])


def parse_response(response: ai.ModelResponse, name: str, position: int) -> ModelMessage:
    """Return the model `name`'s message; calls without an id are numbered by `position` in the conversation."""
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


def compute_response_cost(response: ai.ModelResponse) -> float | None:
    """Return a response's cost in US dollars, as reported by its provider or by genai-prices; None if not known."""
    if response.usage.cost is not None:
        return float(response.usage.cost)
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None


def report_text(response: ai.ModelResponse, on_text: OnText) -> None:
    """Pass on a response's text so far: its text, then the arguments of its calls."""
    from pydantic_ai.messages import TextPart, ToolCallPart

    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    texts += [call.args if isinstance(call.args, str) else json.dumps(call.args) for call in calls]
    if text := escape_surrogates("\n".join(filter(None, texts))):
        on_text(text)
