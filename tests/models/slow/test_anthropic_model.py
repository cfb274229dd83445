"""The adapter for the messages API, against a server as strict as the vendor."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anthropic_server import AnthropicServer, message, text, thinking, tool_use
from conversations import CONVERSATIONS, PLAIN, TOOLS, result
from njrt.messages import Request, ToolMessage, UserMessage
from vendors import VENDORS

FINE = message(text("fine"))


vendor = VENDORS["anthropic"].connect


def test_all_results_of_a_turn_come_first_in_one_message():
    asked = CONVERSATIONS["two calls"]
    with AnthropicServer([FINE]) as server:
        vendor(server).ask(replace(asked, messages=(*asked.messages, UserMessage("go on"))))
        *_, last = server.seen[0].body["messages"]
    assert [block["type"] for block in last["content"]] == ["tool_result", "tool_result", "text"]
    assert [block.get("is_error", False) for block in last["content"]] == [False, True, False]


@pytest.fixture
def bodies():
    """Return what is sent for the beginning of a conversation, and when it has gone on."""
    with AnthropicServer([FINE, FINE]) as server:
        vendor(server).ask(TOOLS)
        vendor(server).ask(CONVERSATIONS["two calls"])
        return [seen.body for seen in server.seen]


def test_the_stable_prefix_is_marked_for_the_cache_and_is_the_same_in_every_request(bodies):
    first, second = bodies
    assert first["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert (first["system"], first["tools"]) == (second["system"], second["tools"])


def test_the_end_of_a_conversation_is_marked_once_it_has_gone_on(bodies):
    blocks = [[block for turn in body["messages"] for block in turn["content"]] for body in bodies]
    marked = [[block for block in sent if "cache_control" in block] for sent in blocks]
    assert marked == [[], [blocks[1][-1]]]


@pytest.mark.parametrize(
    ("model", "room"), [("claude-sonnet-4-6", False), ("claude-sonnet-5-5", True)]
)
def test_no_temperature_is_sent_and_thinking_models_get_room_to_think(model, room):
    with AnthropicServer([FINE]) as server:
        vendor(server, model).ask(replace(PLAIN, temperature=0.5, max_reply_tokens=100))
        assert (server.seen[0].body["max_tokens"] > 10_000) is room


def test_text_and_several_calls():
    code = {"code": "x = 1", "done": True}
    said = message(
        text("let me "), text("see"), tool_use("a", "run", code), tool_use("b", "rm", {})
    )
    with AnthropicServer([said]) as server:
        reply = vendor(server).ask(TOOLS)
    assert reply.message.text == "let me see"
    assert [(call.id, call.name) for call in reply.message.calls] == [("a", "run"), ("b", "rm")]
    assert reply.message.calls[0].arguments == code
    assert reply.stop == "end"


def test_a_message_with_thinking_goes_back_exactly_as_it_came(ask):
    said = message(
        thinking("s1"), text("first"), thinking("s2"), tool_use("a", "run", {"code": "é"})
    )
    with AnthropicServer([said, FINE]) as server:
        model = vendor(server, "claude-sonnet-5-5")
        reply = ask(model, TOOLS)
        assert reply.message.text == "first"
        answered = (*TOOLS.messages, reply.message, ToolMessage((result("a"),)))
        assert ask(model, replace(TOOLS, messages=answered)).message.text == "fine"


def test_another_model_does_not_see_the_thinking():
    said = message(thinking("s1"), text("hm"))
    with AnthropicServer([said, FINE]) as server:
        reply = vendor(server, "claude-sonnet-5-5").ask(PLAIN)
        again = (*PLAIN.messages, reply.message, UserMessage("go on"))
        vendor(server, "claude-sonnet-4-6").ask(replace(PLAIN, messages=again))
        assert server.seen[1].body["messages"][1]["content"] == [text("hm")]


def test_arguments_that_are_no_object():
    with AnthropicServer([message(tool_use("a", "run", "x = 1"))]) as server:
        (call,) = vendor(server).ask(TOOLS).message.calls
    assert (call.arguments, call.raw) == (None, '"x = 1"')


def test_a_long_limit_needs_no_streaming():
    with AnthropicServer([FINE]) as server:
        asked: Request = replace(PLAIN, max_reply_tokens=60_000, timeout=30)
        assert vendor(server).ask(asked).message.text == "fine"
