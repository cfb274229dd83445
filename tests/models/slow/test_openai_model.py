"""The adapter for chat completions, against a server as strict as the vendor."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conversations import CONVERSATIONS, PLAIN, TOOLS
from njrt.errors import ModelNotFoundError, RejectedRequestError, ServerError
from njrt.messages import Tool
from njrt.models.openai import OpenAI
from openai_server import KEY, OpenAIServer, calls, says
from vendors import VENDORS

vendor = VENDORS["openai"].connect


def own(server: OpenAIServer, model: str | None = "local") -> OpenAI:
    return OpenAI(model, base_url=server.base_url)


@pytest.mark.parametrize("request_", CONVERSATIONS.values(), ids=CONVERSATIONS)
def test_so_does_a_server_of_ones_own(request_):
    with OpenAIServer([says("fine")], vendor=False, models=("local",)) as server:
        assert own(server).ask(request_).message.text == "fine"


@pytest.mark.parametrize("model", ["o4-mini", "gpt-5-mini", "gpt-6-sol"])
def test_a_thinking_model_gets_no_temperature_and_room_to_think(model):
    with OpenAIServer([says("fine")]) as server:
        vendor(server, model).ask(replace(TOOLS, temperature=0.5, max_reply_tokens=100))
        body = server.seen[0].body
    assert body["max_completion_tokens"] > 10_000
    assert "temperature" not in body


def test_a_model_that_may_not_call_tools_while_thinking_prefers_text():
    with OpenAIServer([says("fine")]) as server:
        model = vendor(server, "gpt-6.1-sol")
        assert model.protocol == "text"
        assert model.ask(PLAIN).message.text == "fine"
        with pytest.raises(RejectedRequestError, match="Function tools"):
            model.ask(TOOLS)


@pytest.mark.parametrize("is_vendor", [True, False])
def test_limit_and_temperature_are_sent_to_all_others(is_vendor):
    with OpenAIServer([says("fine")], vendor=is_vendor) as server:
        model = vendor(server) if is_vendor else own(server, "gpt-4.1")
        model.ask(replace(PLAIN, temperature=0.0, max_reply_tokens=7))
        body = server.seen[0].body
    assert body["temperature"] == 0.0
    assert body["max_completion_tokens" if is_vendor else "max_tokens"] == 7


def test_tools_are_strict_and_the_choice_is_the_models():
    with OpenAIServer([calls(("run", '{"code": "x = 1", "done": true}'))]) as server:
        reply = vendor(server).ask(TOOLS)
        body = server.seen[0].body
    assert body["tools"][0]["function"]["strict"] is True
    assert body["tool_choice"] == "auto"
    (call,) = reply.message.calls
    assert (call.name, call.arguments) == ("run", {"code": "x = 1", "done": True})
    assert reply.stop == "end"


def test_a_schema_that_cannot_be_enforced_is_sent_as_such():
    loose = Tool("run", "Run.", {"type": "object", "properties": {"code": {"type": "string"}}})
    with OpenAIServer([says("fine")]) as server:
        assert vendor(server).ask(replace(PLAIN, tools=(loose,))).message.text == "fine"
        assert server.seen[0].body["tools"][0]["function"]["strict"] is False


def test_several_calls_keep_their_order_and_missing_ids_are_made_up():
    script = [calls(("run", '{"code": "a"}'), ("run", '{"code": "b"}'), ids=False)]
    with OpenAIServer(script) as server:
        first, second = vendor(server).ask(TOOLS).message.calls
    assert (first.arguments, second.arguments) == ({"code": "a"}, {"code": "b"})
    assert first.id
    assert first.id != second.id


ARGUMENTS: dict[str, object] = {
    '{"code": "x = 1"': None,
    '["x = 1"]': None,
    "x = 1": None,
    "null": None,
    "{": None,
    "[" * 100_000: None,
    "": {},
    "{}": {},
    ' {"a": 1} ': {"a": 1},
    '{"code": "x = 1\ny = 2"}': {"code": "x = 1\ny = 2"},
}


@pytest.mark.parametrize("raw", ARGUMENTS, ids=lambda raw: repr(raw[:20]))
def test_arguments_are_read_as_far_as_they_are_json(raw):
    with OpenAIServer([calls(("run", raw))]) as server:
        (call,) = vendor(server).ask(TOOLS).message.calls
    assert call.arguments == ARGUMENTS[raw]
    assert call.raw == raw


def test_an_unknown_tool_is_passed_on():
    with OpenAIServer([calls(("delete_everything", "{}"))]) as server:
        assert vendor(server).ask(TOOLS).message.calls[0].name == "delete_everything"


def test_without_a_name_the_first_model_listed_is_asked_and_the_list_read_once(ask):
    script = [says("a"), says("b")]
    with OpenAIServer(script, vendor=False, models=("qwen", "llama")) as server:
        model = own(server, None)
        ask(model, PLAIN)
        ask(model, PLAIN)
    assert model.protocol == "text"
    assert [seen.path.rpartition("/v1/")[2] for seen in server.seen] == [
        "models", "chat/completions", "chat/completions",
    ]  # fmt: skip
    assert server.seen[1].body["model"] == "qwen"


def test_a_server_without_models(ask):
    with OpenAIServer(models=()) as server, pytest.raises(ModelNotFoundError, match="lists no mod"):
        ask(OpenAI(None, base_url=server.base_url, key=KEY), PLAIN)


def test_a_url_without_v1():
    with OpenAIServer(vendor=False) as server, pytest.raises(ModelNotFoundError, match="/v1"):
        OpenAI("gpt-4.1", base_url=server.url).ask(PLAIN)


def test_no_server(ask):
    with OpenAIServer() as server:
        url = server.base_url
    for model, name in (("gpt-4.1", "openai/gpt-4.1 at"), (None, "the first model of")):
        with pytest.raises(ServerError, match=f"^no reply from {name} {url} .*; check the URL"):
            ask(OpenAI(model, base_url=url, retries=0), PLAIN)
