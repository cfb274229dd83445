"""The normal form of a conversation, which all wire formats require.

    user  "count"               user "count ... please answer"
    model ""             ──>
    user  "please answer"

Vendors reject empty messages, and some models' chat templates reject two consecutive messages with
the same role.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from njrt.data.media import Attachment
from njrt.errors import RejectedRequestError
from njrt.messages import Json, Message, ModelMessage, ToolCall, UserMessage
from njrt.models.response import MalformedReplyError, parse_json

Body = dict[str, Any]
"""JSON on its way to a server."""


def normalize_messages(messages: Iterable[Message]) -> list[Message]:
    """Drop empty messages, and join user messages that are then adjacent."""
    joined: list[Message] = []
    for message in messages:
        match message:
            case ModelMessage(text, ()) | UserMessage(text, ()) if not text.strip():
                continue
            case UserMessage(text, files) if joined and isinstance(
                before := joined[-1], UserMessage
            ):
                joined[-1] = UserMessage(f"{before.text}\n\n{text}", before.attachments + files)
            case _:
                joined.append(message)
    return joined


def build_file(
    attachment: Attachment, make_part: Callable[[Attachment], Json | None]
) -> list[Json]:
    """Return a file as parts of a message: its name, then its contents.

    Raises RejectedRequestError if `make_part` returns None.
    """
    media, label = attachment.media, f"<{attachment.name}>:"
    if media.media_type.startswith("text/") and media.data:
        text = media.data.decode(errors="replace")
        return [{"type": "text", "text": f"{label}\n{text}"}]
    if (part := make_part(attachment)) is not None:
        return [{"type": "text", "text": label}, part]
    what = f"{media.media_type} by its URL" if media.url else media.media_type
    raise RejectedRequestError(
        f"`{attachment.name}` is {what}, which this model cannot be sent; convert it, or ask"
        " another model"
    )


def parse_arguments(raw: str) -> Json | None:
    """Return a tool call's arguments; None if `raw` is not a JSON object. Blank text means none."""
    if not raw.strip():
        return {}
    with suppress(MalformedReplyError):
        if isinstance(arguments := parse_json(raw), dict):
            return arguments
    return None


def make_sendable_arguments(call: ToolCall) -> Json:
    """Return the arguments of `call` as an object, as which chat templates read earlier calls."""
    return call.arguments if call.arguments is not None else {"malformed": call.raw}
