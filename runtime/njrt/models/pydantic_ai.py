"""PydanticAI's models of Bedrock, Vertex, Groq, Mistral, Ollama and others.

    PydanticAI("groq:llama-3.3-70b-versatile")      model="pydantic-ai:groq:llama-3.3-70b-versatile"
    PydanticAI(FunctionModel(reply))                njrt.using(model=FunctionModel(reply))

PydanticAI's providers have the connection, the key and the retries; replies are not streamed. A
response with more than text and calls goes back to the same model exactly as it came
(`VendorContent`). Tested with its OpenAI model. (https://ai.pydantic.dev/models/overview/)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from njrt.data.media import Attachment
from njrt.errors import (
    ConfigurationError,
    ModelError,
    NaturalError,
    RejectedRequestError,
    ServerError,
    require_packages,
)
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
from njrt.models.decision_endpoints import ask_pydantic_ai
from njrt.models.network import get_network
from njrt.models.remote import THINKING_TOKENS, RemoteModel, list_files
from njrt.models.request_parts import make_sendable_arguments, normalize_messages, parse_arguments
from njrt.models.response import MalformedReplyError, escape_surrogates, read_token_count
from njrt.models.server import Server, describe_failure, make_missing_key_error, make_model_error
from njrt.models.strict_schema import is_strict, make_strict_schema, unwrap_reply

if TYPE_CHECKING:
    from pydantic_ai import messages as ai
    from pydantic_ai.models import Model as AIModel
    from pydantic_ai.models import ModelRequestParameters


class PydanticAI(RemoteModel):
    """A model of PydanticAI: an object, or its name such as `groq:llama-3.3-70b-versatile`."""

    sdk = "pydantic_ai"

    def __init__(self, model: AIModel | str) -> None:
        name = model if isinstance(model, str) else f"{model.system}:{model.model_name}"
        provider = name.partition(":")[0]
        require_packages(f"model `pydantic-ai:{name}`", "njpy-runtime[pydantic-ai]", self.sdk)
        self._given = model
        connected = infer_model(model) if isinstance(model, str) else model
        variable = f"{provider.upper().replace('-', '_')}_API_KEY"
        server = Server(connected.base_url or provider, variable)
        super().__init__(f"pydantic-ai:{name}", "tools", server)
        profile, self.can_decide = connected.profile, hasattr(connected, "decide")
        self.can_force_tools = bool(profile.get("supports_tools", True))
        self.thinking_tokens = THINKING_TOKENS if profile.get("thinking_always_enabled") else 0
        if not self.can_force_tools or connected.system == "ollama":
            self.protocol = "text"

    async def exchange(self, request: Request) -> Reply:
        from pydantic_ai.exceptions import ContentFilterError

        try:
            if self.can_decide:
                return await ask_pydantic_ai(self.get_model(), self.name, request)
            response = await self._ask(request)
            reply = Reply(
                parse_response(response, self.name),
                _STOP_REASONS.get(response.finish_reason, "end"),
                read_usage(response),
                response.model_name or self.name,
            )
            return reply if request.schema is None else unwrap_reply(reply)
        except (NaturalError, MalformedReplyError):
            raise
        except ContentFilterError as error:
            return Reply(ModelMessage(describe_failure(error)), "refusal", model=self.name)
        except Exception as error:  # also from the provider's SDK, or from the program's own model
            cause = None if isinstance(self._given, str) else error  # an SDK's may have the key
            raise self._explain(error, request) from cause

    def _explain(self, failure: Any, request: Request) -> ModelError:
        from pydantic_ai import exceptions as ai

        said = describe_failure(failure)
        match failure:
            case ai.ModelHTTPError():  # some are also of a kind below
                return make_model_error(failure, self.name, self.server)
            case ai.ModelAuthenticationError():  # its message may repeat the key
                return make_missing_key_error(self.name, self.server)
            case ai.ModelRequestRejectedError() | ai.UserError():
                return RejectedRequestError(f"the request to {self.name} was rejected: {said}")
            case ai.AgentRunError():
                return make_model_error(failure, self.name, self.server)
            case RuntimeError() | ValueError() if list_files(request):
                return RejectedRequestError(f"{self.name} cannot be sent this: {said}")
        return ServerError(f"{self.name} failed to reply ({type(failure).__name__})")

    async def _ask(self, request: Request) -> ai.ModelResponse:
        from pydantic_ai.direct import model_request
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        built = escape_surrogates(build_messages(request, self.name))
        settings: Any = {
            "max_tokens": request.max_reply_tokens + self.thinking_tokens,
            # The whole conversation is worth caching at the vendor once it is sent again.
            "cache": {"messages": len(request.messages) > 1},
        }
        if request.temperature is not None:
            settings["temperature"] = request.temperature
        return await model_request(
            self.get_model(),
            ModelMessagesTypeAdapter.validate_python(built),
            model_settings=settings,
            model_request_parameters=self._make_parameters(request),
        )

    def _make_parameters(self, request: Request) -> ModelRequestParameters:
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.tools import ToolDefinition

        tools = [
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.parameters),
            )
            for tool in request.tools
        ]
        if request.schema is None or not self.can_force_tools:
            return ModelRequestParameters(function_tools=tools)
        schema = make_strict_schema(request.schema)
        reply = ToolDefinition(
            name="reply", parameters_json_schema=schema, strict=is_strict(schema), kind="output"
        )
        return ModelRequestParameters(
            output_mode="tool", output_tools=[reply], allow_text_output=False
        )

    def get_model(self) -> Any:
        """Return the model object; a forked process makes a named model again."""
        given = self._given
        if not isinstance(given, str):
            return given
        return get_network().get_client(self, lambda: infer_model(given))


def infer_model(name: str) -> AIModel:
    """Return the model object of a name; raise an error that says what is missing."""
    from pydantic_ai import models

    try:
        return models.infer_model(name)
    except Exception as error:  # such as no SDK, no credentials or no region
        said = describe_failure(error)
        raise ConfigurationError(f"cannot use model `pydantic-ai:{name}`: {said}") from None


def build_messages(request: Request, name: str) -> list[Json]:
    """Return the conversation in the JSON form of PydanticAI; consecutive requests become one."""
    turns: list[Json] = []
    for message in normalize_messages(request.messages):
        if isinstance(message, ModelMessage):
            turns.append(build_response(message, name))
            continue
        if not turns or turns[-1]["kind"] == "response":
            turns.append({"kind": "request", "parts": [], "instructions": request.system or None})
        parts = turns[-1]["parts"]
        match message:
            case UserMessage(text, attachments):
                files = [part for file in attachments for part in build_file(file)]
                content = [*files, text] if files else text
                parts.append({"part_kind": "user-prompt", "content": content})
            case ToolMessage(results):
                for it in results:
                    outcome = "failed" if it.failed else "success"
                    part = {"part_kind": "tool-return", "tool_call_id": it.id, "tool_name": it.name}
                    parts.append(part | {"content": it.text, "outcome": outcome})
    return turns


def build_file(attachment: Attachment) -> Iterator[Any]:
    """Yield the parts of a file: its name, then its contents."""
    media = attachment.media
    yield f"<{attachment.name}>:"
    if media.data:
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
    text = message.text
    parts: list[Json] = [{"part_kind": "text", "content": text}] if text.strip() else []
    for call in message.calls:
        part = {"part_kind": "tool-call", "tool_name": call.name, "tool_call_id": call.id}
        parts.append(part | {"args": make_sendable_arguments(call)})
    return {"kind": "response", "parts": parts}


def parse_response(response: ai.ModelResponse, name: str) -> ModelMessage:
    """Return the model `name`'s message, with the response as it came if it has other parts."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter, TextPart, ToolCallPart

    calls = []
    for part in response.tool_calls:
        raw = part.args if isinstance(part.args, str) else json.dumps(part.args or {})
        raw = str(escape_surrogates(raw))
        calls.append(ToolCall(part.tool_call_id, part.tool_name, parse_arguments(raw), raw))
    kept = None
    if not all(isinstance(part, TextPart | ToolCallPart) for part in response.parts):
        blocks = ModelMessagesTypeAdapter.dump_python([response], mode="json")
        kept = VendorContent(name, tuple(blocks))
    return ModelMessage(escape_surrogates(response.text or ""), tuple(calls), kept)


_STOP_REASONS: Mapping[str | None, StopReason] = {"length": "length", "content_filter": "refusal"}


def read_usage(response: ai.ModelResponse) -> Usage:
    """Return a response's usage, with the price if it is known; unknown if nothing was counted."""
    used, cost = response.usage, response.usage.cost
    prompt, output = read_token_count(used.input_tokens), read_token_count(used.output_tokens)
    if not prompt + output:
        return Usage()
    with suppress(LookupError, ValueError, AssertionError):
        cost = response.cost().total_price if cost is None else cost
    cached = min(read_token_count(used.cache_read_tokens), prompt)
    return Usage(prompt, output, cached, None if cost is None else float(cost))
