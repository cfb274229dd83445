"""A tool's result as a Python value, and the errors of calls.

structured content, with a type     `Table(name="users", rows=3)`
text                                `"a text"`
text and an image                   `ToolText("a text")`, its `.parts` has both
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from njrt.data.media import Audio, Image
from njrt.values.dataclass_json import InvalidJsonError, validate_value

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ContentBlock


class ToolError(RuntimeError):
    """A tool failed; the text is the server's."""


class ToolTimeoutError(ToolError, TimeoutError):
    """A tool did not answer in time. The server was sent a cancellation."""


class ToolConnectionError(ToolError, ConnectionError):
    """The server cannot be reached, or the connection was lost during a call."""


Part = str | bytes | Image | Audio


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


def read_result(result: CallToolResult, expected: Any, is_wrapped: bool) -> Any:
    """Return the value of a result; raise ToolError if the tool failed, ValueError if it is wrong.

    `expected` is the type of the structured content, None for a tool without it. With `is_wrapped`
    it is the type of the content's field `result`, which is the value.
    """
    parts = tuple(map(_read_part, result.content))
    text = "\n".join(part for part in parts if isinstance(part, str))
    if result.is_error:
        raise ToolError(text or "the tool has failed")
    content = result.structured_content
    if expected is None and not is_wrapped:
        if not parts and content is not None:
            return json.dumps(content, ensure_ascii=False)
        return text if all(isinstance(part, str) for part in parts) else ToolText(text, parts)
    try:
        return validate_value((content or {}).get("result") if is_wrapped else content, expected)
    except InvalidJsonError as error:
        raise ToolError(f"the result does not fit the schema: {error}") from None


def _read_part(part: ContentBlock) -> Part:
    """Return a part; a resource is its content, a link its address."""
    from mcp.types import TextResourceContents

    match part.type:
        case "text":
            return part.text
        case "resource_link":
            return part.uri
        case "resource":
            held = part.resource
            if isinstance(held, TextResourceContents):
                return held.text
            return base64.b64decode(held.blob)
    content = base64.b64decode(part.data)
    try:
        return (Image if part.type == "image" else Audio)(content, part.mime_type)
    except ValueError:  # its bytes are of no kind that models take
        return content
