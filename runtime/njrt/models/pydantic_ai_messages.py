"""Messages and replies in PydanticAI's form, and back.

    build_messages(request, "openai/gpt-4.1")      ModelRequest(parts=[UserPromptPart(...)]), ...
    parse_response(response, name, position)       ModelMessage(text, calls)

The package is imported inside of the functions: it takes a second.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, assert_never

from njrt.media import Attachment
from njrt.messages import (
    ModelMessage,
    Request,
    StopReason,
    ToolCall,
    ToolMessage,
    UserMessage,
    VendorContent,
)
from njrt.models.conversation import (
    make_sendable_arguments,
    normalize_messages,
    parse_arguments,
    read_text,
)
from njrt.models.response import escape_surrogates
from njrt.models.streaming import OnText

if TYPE_CHECKING:
    from pydantic_ai import messages as ai


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
    """Yield a message of the runtime as parts of a request."""
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
    """Return an earlier message of the model; exactly as it came if it was that of the model `name`."""
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
    """Return the message of the model `name`; `position` in the conversation numbers calls without an id."""
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
    """Return a call of a tool."""
    raw = call.args if isinstance(call.args, str) else json.dumps(call.args or {})
    raw = escape_surrogates(raw)
    return ToolCall(call.tool_call_id or default_id, call.tool_name, parse_arguments(raw), raw)


def parse_stop_reason(response: ai.ModelResponse) -> StopReason:
    """Why a response ended."""
    match response.finish_reason:
        case "length":
            return "length"
        case "content_filter":
            return "refusal"
        case _:
            return "end"


def compute_response_cost(response: ai.ModelResponse) -> float | None:
    """Return what a response costs in US dollars: what its provider reports, or by genai-prices; None if not known."""
    if response.usage.cost is not None:
        return float(response.usage.cost)
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None


def report_text(response: ai.ModelResponse, on_text: OnText) -> None:
    """Pass on the text of a response so far: text, then the arguments of its calls."""
    from pydantic_ai.messages import TextPart, ToolCallPart

    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    texts += [call.args if isinstance(call.args, str) else json.dumps(call.args) for call in calls]
    if text := escape_surrogates("\n".join(filter(None, texts))):
        on_text(text)
