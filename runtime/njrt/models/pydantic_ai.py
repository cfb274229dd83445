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
from dataclasses import replace
from typing import TYPE_CHECKING, Any, assert_never

from njrt.errors import (
    AuthenticationError,
    ConfigurationError,
    ModelError,
    NaturalError,
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
from njrt.models.http_client import current_bill, was_sent
from njrt.models.remote import (
    THINKING_TOKENS,
    RemoteModel,
    add_file_hint,
    list_files,
    make_reporter,
)
from njrt.models.request_parts import (
    make_sendable_arguments,
    normalize_messages,
    parse_arguments,
    read_text,
)
from njrt.models.response import MalformedReplyError, escape_surrogates, read_token_count
from njrt.models.server import Server, make_key_error, make_model_error, shorten_message
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

        request = replace(request, system=escape_surrogates(request.system))
        try:
            response = await self._ask(request)
            return self._make_reply(response, request)
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
            raise ServerError(
                f"{self.name} failed to reply (CancelledError)"
            ) from None  # the model has cancelled itself
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

        where = f"{self.server.url} for {self.name}"
        match failure:
            case exceptions.ModelHTTPError() | exceptions.ModelConnectionError():
                error = make_model_error(failure, self.name, self.server)
            case exceptions.ModelAuthenticationError():  # its message may repeat the key
                place = f"check {self.server.key_variable}"
                error = AuthenticationError(f"{self.server.url} refused the key; {place}")
            case exceptions.ModelRequestRejectedError() | exceptions.UserError():
                reason = shorten_message(failure.message)
                error = RejectedRequestError(f"the request to {where} was rejected: {reason}")
            case exceptions.ModelAPIError():
                error = ServerError(f"no reply from {where}: {shorten_message(failure.message)}")
            case _:
                error = ServerError(f"{where} sent an unreadable reply ({type(failure).__name__})")
        if isinstance(error, ServerError):
            error.retry_after = getattr(failure, "retry_after", None)
            error.was_sent = was_sent(failure)
        return error

    async def _ask(self, request: Request) -> ai.ModelResponse:
        from pydantic_ai.direct import model_request, model_request_stream

        model, messages = self._get_model(), list(build_messages(request, self.name))
        settings, parameters = self._make_settings(request), self._make_parameters(request)
        if request.on_text is None:
            return await model_request(
                model, messages, model_settings=settings, model_request_parameters=parameters
            )
        stream, report = None, make_reporter(request)
        try:
            async with model_request_stream(
                model, messages, model_settings=settings, model_request_parameters=parameters
            ) as opened:
                async for _ in opened:
                    stream = opened
                    report(lambda: format_text(opened.get()))
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
        report(lambda: format_text(response), is_last=True)
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

    def _make_reply(self, response: ai.ModelResponse, request: Request) -> Reply:
        message = parse_response(response, self.name, len(request.messages))
        stop = _STOP_REASONS.get(response.finish_reason, "end")
        model = response.model_name or self.name
        reply = Reply(message, stop, read_usage(response) or Usage(), model)
        return reply if request.schema is None else restore_strict_reply(reply, request.schema)

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
    except UserError as error:
        text = f"cannot use model `pydantic-ai:{name}`: {shorten_message(error.message)}"
        is_key = "_API_KEY" in error.message
        raise (
            make_key_error(text, is_missing=True) if is_key else ConfigurationError(text)
        ) from None
    except Exception as error:  # from a provider that finds no credentials or no region
        raise ConfigurationError(
            f"cannot use model `pydantic-ai:{name}`: {type(error).__name__}: "
            f"{shorten_message(str(error))}"
        ) from None


# ── messages and replies in PydanticAI's form, and back ──────────────────────────────────────────


def build_messages(request: Request, name: str) -> Iterator[ai.ModelMessage]:
    """Yield the conversation in PydanticAI's form; consecutive requests become one."""
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
