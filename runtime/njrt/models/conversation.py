"""The normal form of a conversation, which both wire formats need before they can be written.

    user  "count"               user "count ... please answer"
    model ""             ──>
    user  "please answer"

Vendors refuse empty messages, and the chat templates of some models refuse one role twice in a row. Also
here: the arguments of tool calls, which models write as text, rightly or wrongly.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from njrt.messages import Json, Message, ModelMessage, ToolCall, UserMessage


def normalize_messages(messages: Iterable[Message]) -> list[Message]:
    """Leave out what is empty, and join user messages that then follow each other."""
    joined: list[Message] = []
    for message in messages:
        match message:
            case ModelMessage(text, ()) | UserMessage(text) if not text.strip():
                continue
            case UserMessage(text) if joined and isinstance(joined[-1], UserMessage):
                joined[-1] = UserMessage(f"{joined[-1].text}\n\n{text}")
            case _:
                joined.append(message)
    return joined


def parse_arguments(raw: str) -> Json | None:
    """Read a tool call's arguments; None if `raw` is no JSON object. Nothing at all means no arguments."""
    if not raw.strip():
        return {}
    try:
        # Small models put bare line breaks into JSON strings; those are clear enough.
        arguments = json.loads(raw, strict=False)
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) else None


def make_sendable_arguments(call: ToolCall) -> Json:
    """The arguments of `call` as an object, even where the model wrote none.

    Servers that render a conversation by a chat template read old calls as JSON and fail on anything else.
    """
    return call.arguments if call.arguments is not None else {"malformed": call.raw}
