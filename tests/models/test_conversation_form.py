"""The normal form of conversations."""

from __future__ import annotations

import pytest

from njrt.messages import ModelMessage, ToolCall, ToolMessage, ToolResult, UserMessage
from njrt.models.request_parts import make_sendable_arguments, normalize_messages

CALLED = ModelMessage("", (ToolCall("a", "run", {}, "{}"),))
RESULT = ToolMessage((ToolResult("a", "run", "ok"),))


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], []),
        ([UserMessage("a"), UserMessage("b")], [UserMessage("a\n\nb")]),
        ([UserMessage("a"), ModelMessage(""), UserMessage("b")], [UserMessage("a\n\nb")]),
        ([UserMessage("a"), UserMessage(" "), UserMessage("b")], [UserMessage("a\n\nb")]),
        ([UserMessage("a"), CALLED, RESULT], [UserMessage("a"), CALLED, RESULT]),
        ([CALLED, RESULT, UserMessage("b")], [CALLED, RESULT, UserMessage("b")]),
    ],
)
def test_normal(messages, expected):
    assert normalize_messages(messages) == expected


def test_what_is_no_object_is_sent_back_inside_one():
    assert make_sendable_arguments(ToolCall("a", "run", None, "{")) == {"malformed": "{"}
