"""A tool's result as a Python value, and the errors of calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from njrt.values.dataclass_json import InvalidJsonError, validate_value

if TYPE_CHECKING:
    from mcp.types import CallToolResult


class ToolError(RuntimeError):
    """A tool failed; the text is the server's."""


class ToolTimeoutError(ToolError, TimeoutError):
    """A tool did not answer in time. The server was sent a cancellation."""


class ToolConnectionError(ToolError, ConnectionError):
    """The server cannot be reached, or the connection was lost during a call."""


def read_result(result: CallToolResult, expected: Any, is_wrapped: bool) -> Any:
    """Return the value of a result; raise ToolError if the tool failed or its result is wrong.

    `expected` is the type of the structured content, None for a tool without it. With `is_wrapped`
    it is the type of the content's field `result`, which is the value.
    """
    text = "\n".join(
        part.text if part.type == "text" else f"[{part.type}: left out]" for part in result.content
    )
    if result.is_error:
        raise ToolError(text or "the tool has failed")
    content = result.structured_content
    if expected is None and not is_wrapped:
        is_only_content = not result.content and content is not None
        return json.dumps(content, ensure_ascii=False) if is_only_content else text
    try:
        return validate_value((content or {}).get("result") if is_wrapped else content, expected)
    except InvalidJsonError as error:
        raise ToolError(f"the result does not fit the schema: {error}") from None
