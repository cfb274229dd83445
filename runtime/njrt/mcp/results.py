"""A tool's result as a Python value.

    structured content, with a type     `Table(name="users", rows=3)`: validated against the type
    text                                `"a text"`
    text and an image                   `ToolText("a text")`, a str; `.parts` has `Image` objects and resources as well

Source of the fields: `CallToolResult` in the Model Context Protocol, 2025-11-25 and 2026-07-28.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from njrt.dataclass_json import InvalidJsonError, validate_value
from njrt.media import Audio, Image
from njrt.records import record

if TYPE_CHECKING:
    from mcp.types import CallToolResult


@record
class Resource:
    """A resource in a result: its content, or only its address if the server sent a link."""

    uri: str
    content: str | bytes | None = None
    media_type: str = ""


Part = str | Image | Audio | Resource


class ToolText(str):
    """The text of a result that has more than text; `parts` are all its parts, in order."""

    parts: tuple[Part, ...]

    def __new__(cls, text: str, parts: tuple[Part, ...] = ()) -> ToolText:
        """Make the text of a result with these parts."""
        made = super().__new__(cls, text)
        made.parts = parts
        return made

    def __getnewargs__(self) -> Any:
        """Return the arguments that make an equal text, for recordings, `pickle` and `copy`."""
        return str(self), self.parts


def read_result(tool: str, result: CallToolResult, expected: Any, is_wrapped: bool) -> Any:
    """Return the value of a result.

    `tool` is the tool's name in messages, `expected` the type of the structured content, None for a tool without
    structured content; with `is_wrapped` it is the type of the content's field `result`, which is the value.
    Raises ToolError if the tool failed or its result does not fit its schema.
    """
    parts = tuple(_read_parts(result))
    text = "\n".join(part for part in parts if isinstance(part, str))
    if result.is_error:
        raise ToolError(f"{tool}: {text or 'the tool has failed'}")
    content = result.structured_content
    if expected is None and not is_wrapped:
        if not parts and content is not None:
            return json.dumps(content, ensure_ascii=False)
        has_more = any(not isinstance(part, str) for part in parts)
        return ToolText(text, parts) if has_more else text
    if is_wrapped and isinstance(content, dict):
        content = content.get("result")
    try:
        return validate_value(content, expected)
    except InvalidJsonError as error:
        raise ToolError(f"{tool}: the result does not fit the schema: {error}") from None


def _read_parts(result: CallToolResult) -> Iterator[Part]:
    from mcp.types import TextResourceContents

    for block in result.content:
        match block.type:
            case "text":
                yield block.text
            case "image":
                yield _make_media(Image, block.data, block.mime_type)
            case "audio":
                yield _make_media(Audio, block.data, block.mime_type)
            case "resource_link":
                yield Resource(str(block.uri), None, block.mime_type or "")
            case "resource":
                held = block.resource
                if isinstance(held, TextResourceContents):
                    yield Resource(str(held.uri), held.text, held.mime_type or "")
                else:
                    content = base64.b64decode(held.blob)
                    yield Resource(str(held.uri), content, held.mime_type or "")


def _make_media(cls: type[Image] | type[Audio], data: str, media_type: str) -> Part:
    """Return a file, or a resource if its bytes do not fit the class."""
    content = base64.b64decode(data)
    try:
        return cls(content, media_type)
    except ValueError:
        return Resource("", content, media_type)


# ── the errors of tool calls ───────────────────────────────────────────────────────────────────────


class ToolError(RuntimeError):
    """A tool failed; the text is the server's."""


class ToolTimeoutError(ToolError, TimeoutError):
    """A tool did not answer in time. The server was sent a cancellation."""


class ToolConnectionError(ToolError, ConnectionError):
    """The server cannot be reached, or the connection was lost during a call."""
