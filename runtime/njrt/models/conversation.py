"""The normal form of a conversation, which both wire formats need.

    user  "count"               user "count ... please answer"
    model ""             ──>
    user  "please answer"

Vendors reject empty messages, and the chat templates of some models reject two messages of one role in a row.
Also here: the arguments of tool calls, which models write as text that may not be JSON.
"""

from __future__ import annotations

from collections.abc import Iterable

from njrt.messages import Json, Message, ModelMessage, ToolCall, UserMessage
from njrt.models.response import MalformedReplyError, parse_json


def normalize_messages(messages: Iterable[Message]) -> list[Message]:
    """Drop empty messages, and join user messages that then follow each other."""
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
    """The arguments of a tool call; None if `raw` is not a JSON object. Blank text means no arguments."""
    if not raw.strip():
        return {}
    try:
        arguments = parse_json(raw)
    except MalformedReplyError:
        return None
    return arguments if isinstance(arguments, dict) else None


def make_sendable_arguments(call: ToolCall) -> Json:
    """The arguments of `call` as an object, also where the model's are not one.

    Servers that render a conversation with a chat template read earlier calls as JSON and fail on anything else.
    """
    return call.arguments if call.arguments is not None else {"malformed": call.raw}
