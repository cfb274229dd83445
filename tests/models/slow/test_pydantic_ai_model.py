"""The adapter for PydanticAI: with its test models, and with its OpenAI model against a strict server."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import replace
from typing import Any

import pytest

import njrt
from conversations import CONVERSATIONS, PLAIN, TOOLS
from loopback import Drop, Garbage, Hang, Raw, Response, Status
from njrt.data.options import Options
from njrt.messages import Request, Usage, UserMessage, make_object_schema
from njrt.models.choose import choose_model
from openai_server import OpenAIServer, calls, completion, says
from processes import run_python
from waiting import HANG_SECONDS

pytest.importorskip("pydantic_ai")

from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import RequestUsage

from njrt.models.pydantic_ai import PydanticAI, infer_model

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

SCHEMA = {"anyOf": [make_object_schema({"team": {"enum": ["a", "b"]}})]}
STRUCTURED = replace(PLAIN, schema=SCHEMA)


def connect(server: OpenAIServer, model: str = "gpt-4.1", retries: int = 0) -> PydanticAI:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(
        base_url=server.base_url, api_key=server.key or "none", max_retries=retries
    )
    return PydanticAI(OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client)))


def answer(*parts: Any, **fields: Any) -> FunctionModel:
    """Return a model that always replies with these parts."""
    return FunctionModel(lambda messages, info: ModelResponse(parts=list(parts), **fields))


class LenientServer(OpenAIServer):
    """Takes the fields that PydanticAI sends besides ours."""

    def find_refusal(self, seen: Any) -> Status | None:
        body = dict(seen.body or {})
        for name in ("prompt_cache_key", "prompt_cache_retention", "store", "stream_options"):
            body.pop(name, None)
        return super().find_refusal(replace(seen, body=body))


@pytest.mark.parametrize("request_", CONVERSATIONS.values(), ids=CONVERSATIONS)
def test_the_vendor_accepts_every_conversation(request_):
    with LenientServer([says("fine")]) as server:
        assert connect(server).ask(request_).message.text == "fine"


def test_a_reply_has_text_calls_usage_and_the_name_of_the_model(ask):
    with LenientServer([calls(("run", '{"code": "x = 1", "done": true}'))]) as server:
        reply = ask(connect(server), TOOLS)
    (call,) = reply.message.calls
    assert (call.name, call.arguments) == ("run", {"code": "x = 1", "done": True})
    assert (reply.usage.input, reply.usage.output, reply.usage.cached) == (1000, 20, 600)
    assert reply.usage.usd == pytest.approx((400 * 2 + 600 * 0.5 + 20 * 8) / 1e6)
    assert reply.model == "gpt-4.1-2025-04-14"


def test_settings_are_those_of_the_request():
    with LenientServer([says("fine")]) as server:
        connect(server).ask(replace(PLAIN, temperature=0.0, max_reply_tokens=7))
        body = server.seen[0].body
    assert body["temperature"] == 0.0
    assert body["max_completion_tokens"] == 7
    assert body["messages"][0]["content"] == "Be brief."


TEAM = calls(("reply", '{"reply": {"team": "b"}}'))


def test_a_schema_is_enforced_by_a_tool(ask):
    with LenientServer([TEAM]) as server:
        assert ask(connect(server), STRUCTURED).message.text == '{"team": "b"}'
        (tool,) = server.seen[0].body["tools"]
        assert tool["function"]["strict"] is True
        assert server.seen[0].body["tool_choice"] == "required"


def test_a_server_that_rejects_the_tool_is_asked_without_it_from_then_on():
    refusal = Status(400, body={"error": {"message": "no tools"}})
    script = [refusal, says('{"team": "a"}'), says('{"team": "b"}')]
    with LenientServer(script) as server:
        model = connect(server)
        assert model.ask(STRUCTURED).message.text == '{"team": "a"}'
        assert model.ask(STRUCTURED).message.text == '{"team": "b"}'
        assert ["tools" in seen.body for seen in server.seen] == [True, False, False]


def test_a_model_without_tools_is_asked_in_plain_text():
    profile = {"supports_tools": False}
    model = PydanticAI(
        FunctionModel(lambda m, i: ModelResponse(parts=[TextPart("{}")]), profile=profile)
    )
    assert model.protocol == "text"
    assert model.ask(STRUCTURED).message.text == "{}"


def test_a_reply_is_not_streamed():
    with LenientServer([says("a long reply")]) as server:
        reply = connect(server).ask(replace(PLAIN, on_text=lambda text: None))
        assert not server.seen[0].body["stream"]
    assert reply.message.text == "a long reply"
    assert reply.usage.input == 1000


@pytest.mark.parametrize(("part", "stop"), [("length", "length"), ("content_filter", "refusal"), ("stop", "end"), (None, "end"), ("tool_call", "end"), ("error", "end")])  # fmt: skip
def test_the_reason_why_a_reply_ended(part, stop):
    assert PydanticAI(answer(TextPart("hm"), finish_reason=part)).ask(PLAIN).stop == stop


def test_cached_tokens_beyond_the_prompt_are_not_counted():
    usage = RequestUsage(input_tokens=10, cache_read_tokens=50, output_tokens=1)
    used = PydanticAI(answer(TextPart("hm"), usage=usage)).ask(PLAIN).usage
    assert (used.input, used.output, used.cached, used.usd) == (10, 1, 10, None)


@pytest.mark.parametrize(
    "arguments",
    ['{"code": "x = 1"}', {"code": "x = 1"}, '{"code": ', "[]", "", None, '{"code": "\\ud800"}', '{"n": 1e999}'],
    ids=repr,
)  # fmt: skip
def test_arguments_of_any_form_are_read_and_can_be_sent_back(arguments):
    model = PydanticAI(answer(ToolCallPart("run", arguments)))
    reply = model.ask(TOOLS)
    (call,) = reply.message.calls
    json.dumps(call.arguments, allow_nan=False).encode()
    assert (call.arguments is None) == (arguments in ('{"code": ', "[]", '{"n": 1e999}'))
    results = njrt.messages.ToolMessage((njrt.messages.ToolResult(call.id, "run", "ok"),))
    model.ask(replace(TOOLS, messages=(*TOOLS.messages, reply.message, results)))


def test_signed_thinking_goes_back_to_the_same_model_only():
    seen: list[Any] = []

    def reply(messages: Any, info: AgentInfo) -> ModelResponse:
        seen.append(messages)
        return ModelResponse(parts=[ThinkingPart("hm", signature="s1"), TextPart("yes")])

    model, other = (
        PydanticAI(FunctionModel(reply)),
        PydanticAI(FunctionModel(reply, model_name="other")),
    )
    first = model.ask(PLAIN)
    further = replace(PLAIN, messages=(*PLAIN.messages, first.message, UserMessage("go on")))
    model.ask(further)
    other.ask(further)
    assert [part.part_kind for part in seen[1][1].parts] == ["thinking", "text"]
    assert seen[1][1].parts[0].signature == "s1"
    assert [part.part_kind for part in seen[2][1].parts] == ["text"]


FAILURES: dict[str, tuple[Response, type[njrt.ModelError], str]] = {
    "401": (Status(401, body={"error": {"message": "wrong sk-secret"}}), njrt.AuthenticationError, "refused the key"),
    "403": (Status(403, body={}), njrt.AuthenticationError, "refused the key"),
    "404": (Status(404, body={"error": {"message": "gone"}}), njrt.ModelNotFoundError, "does not know"),
    "400": (Status(400, body={"error": {"message": "bad field"}}), njrt.RejectedRequestError, "bad field"),
    "422": (Status(422, body={"error": {"message": "no"}}), njrt.RejectedRequestError, "rejected"),
    "413": (Status(413, body={"error": {"message": "too large"}}), njrt.RejectedRequestError, "rejected"),
    "408": (Status(408, body={}), njrt.ServerError, ""),
    "429": (Status(429, retry_after=7, body={"error": {"message": "slow"}}), njrt.ServerError, "no reply from"),
    "500": (Status(500, body={}), njrt.ServerError, "no reply from"),
    "503": (Status(503, body={}), njrt.ServerError, "no reply from"),
    "529": (Status(529, body={}), njrt.ServerError, ""),
    "reset": (Drop(), njrt.ServerError, "no reply from"),
    "garbage": (Garbage(b"\x00\x01 not HTTP"), njrt.ServerError, ""),
    "not JSON": (Raw("<html>"), njrt.ServerError, ""),
    "another JSON": (Raw("[]"), njrt.ServerError, ""),
    "no choices": (Raw('{"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": []}'), njrt.ServerError, ""),
    "no reply": (Hang(), njrt.ServerError, "within 0.3 s"),
}  # fmt: skip


@pytest.mark.parametrize("failure", FAILURES)
def test_failures_are_model_errors(failure, ask):
    response, kind, words = FAILURES[failure]
    with LenientServer([response, response]) as server:
        model = connect(server)
        timeout = 0.3 if isinstance(response, Hang) else 100
        with pytest.raises(kind, match=words) as caught:
            ask(model, replace(PLAIN, timeout=timeout))
    assert type(caught.value) is kind
    assert "sk-secret" not in str(caught.value)
    if failure == "429":
        assert caught.value.retry_after == 7


def test_an_error_of_the_programs_own_model_is_kept_as_the_cause():
    def reply(messages: Any, info: AgentInfo) -> ModelResponse:
        raise ZeroDivisionError("oops")

    with pytest.raises(njrt.ServerError, match="ZeroDivisionError") as caught:
        PydanticAI(FunctionModel(reply)).ask(PLAIN)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (KeyboardInterrupt(), RuntimeError),
        (SystemExit(3), RuntimeError),
        (StopIteration(), njrt.ServerError),
        (StopAsyncIteration(), njrt.ServerError),
        (TimeoutError(), njrt.ServerError),
        (RecursionError(), njrt.ServerError),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("is_async", [False, True])
def test_whatever_the_programs_own_model_raises_the_next_call_is_made(error, kind, is_async, ask):
    async def fail_async(messages: Any, info: AgentInfo) -> ModelResponse:
        raise error

    def fail(messages: Any, info: AgentInfo) -> ModelResponse:
        raise error

    model = PydanticAI(FunctionModel(fail_async if is_async else fail))
    with pytest.raises(kind):
        # Inside of an event loop of the test, these exceptions would end that loop too.
        (ask if kind is njrt.ServerError else PydanticAI.ask)(model, PLAIN)
    assert ask(PydanticAI(answer(TextPart("hi"))), PLAIN).message.text == "hi"


ENDLESS: dict[str, Any] = {}
ENDLESS["self"] = ENDLESS

NO_REPLIES = {
    "none": None,
    "a text": "text",
    "arguments that are no JSON": ModelResponse([ToolCallPart("run", {"code": {1, 2}}, "a")]),
    "arguments that hold themselves": ModelResponse([ToolCallPart("run", ENDLESS, "a")]),
    "keys that are no text": ModelResponse([ToolCallPart("run", {(1, 2): 3}, "a")]),
    "a text that is none": ModelResponse([TextPart(b"bytes")]),  # type: ignore[arg-type]
    "parts that are none": ModelResponse(["text"]),  # type: ignore[list-item]
    "negative counts": ModelResponse([TextPart("x")], usage=RequestUsage(input_tokens=-5)),
    "counts that are none": ModelResponse([TextPart("x")], usage=RequestUsage(input_tokens="7")),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("given", NO_REPLIES)
def test_what_is_no_reply_of_the_programs_own_model_is_an_error(given):
    model = PydanticAI(FunctionModel(lambda messages, info: NO_REPLIES[given]))
    with pytest.raises(njrt.ServerError, match=r"failed to reply|unreadable"):
        model.ask(PLAIN)


def test_a_model_that_blocks_the_network_thread_is_an_error_and_no_deadlock():
    inner = PydanticAI(answer(TextPart("hi")))

    async def reply(messages: Any, info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart(inner.ask(PLAIN).message.text)])

    with pytest.raises(njrt.ServerError, match="RuntimeError") as caught:
        PydanticAI(FunctionModel(reply)).ask(PLAIN)
    assert "await `aask`" in str(caught.value.__cause__)


def test_a_cancelled_call_leaves_nothing_running():
    async def cancel() -> None:
        with LenientServer([Hang()]) as server:
            task = asyncio.create_task(connect(server).aask(PLAIN))
            while not server.seen:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(cancel())


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("pydantic-ai:nosuchvendor:x", njrt.ConfigurationError, "Unknown model"),
        ("pydantic-ai:x", njrt.ConfigurationError, "x"),
        ("pydantic-ai:openai:gpt-4.1", njrt.ConfigurationError, "OPENAI_API_KEY"),
        ("pydantic-ai:", njrt.ConfigurationError, "no vendor is known"),
        ("pydantic-ai", njrt.ConfigurationError, "no vendor is known"),
    ],
)
def test_a_name_that_cannot_be_used_says_why(name, kind, words, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(kind, match=words):
        choose_model(Options(model=name), {})


def test_a_vendors_missing_sdk_names_the_package(monkeypatch):
    for module in ("models", "providers"):
        monkeypatch.delitem(sys.modules, f"pydantic_ai.{module}.groq", raising=False)
    monkeypatch.setitem(sys.modules, "groq", None)
    with pytest.raises(njrt.ConfigurationError, match=r'pip install "pydantic-ai-slim\[groq\]"'):
        infer_model("groq:llama-3.3-70b-versatile")


def test_a_name_is_one_model_for_the_whole_process():
    model = choose_model(Options(model="pydantic-ai:test"), {})
    assert model is choose_model(Options(model="pydantic-ai:test"), {})
    assert model.name == "pydantic-ai:test"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork")
def test_a_forked_process_makes_a_named_model_again():
    with LenientServer([says("fine")] * 3) as server:
        code = (
            "import os, sys\n"
            f"os.environ |= {{'OPENAI_API_KEY': {server.key!r}, 'OPENAI_BASE_URL': {server.base_url!r}}}\n"
            "from njrt.messages import Request, UserMessage\n"
            "from njrt.models.pydantic_ai import PydanticAI\n"
            "model = PydanticAI('openai-chat:gpt-4.1')\n"
            "request = Request('', (UserMessage('hello'),), timeout=100)\n"
            "model.ask(request)\n"
            "child = os.fork()\n"
            "assert model.ask(request).message.text == 'fine'\n"
            "if not child: os._exit(7)\n"
            "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        )
        assert run_python("-Wignore", "-c", code, timeout=HANG_SECONDS).returncode == 7
    assert server.connections == 2


PROMPT = """natural
Put the team of <ticket> into <:team>.
"""


@pytest.mark.parametrize("effects", ["direct", "answer"])
def test_a_block_is_carried_out_by_a_model_object(effects):
    def reply(messages: Any, info: AgentInfo) -> ModelResponse:
        if effects == "answer":
            return ModelResponse(parts=[TextPart('{"reply": {"team": "billing"}}')])
        code = {"code": "team = 'billing'", "done": True}
        return ModelResponse(parts=[ToolCallPart("run", code)])

    ticket, team = "I was charged twice.", ""
    with njrt.using(model=FunctionModel(reply)):
        njrt.run(PROMPT, lambda: (ticket, team), writes="team", at="shop.njpy:1", effects=effects)
    assert team == "billing"


def test_test_models_reply_calls_the_tool():
    reply = PydanticAI(TestModel(call_tools=["run"])).ask(TOOLS)
    assert reply.message.calls[0].name == "run"


@pytest.mark.parametrize("given", [42, object(), "", [], PydanticAI])
def test_what_is_no_model_is_refused_where_it_is_given(given):
    with pytest.raises(njrt.ConfigurationError), njrt.using(model=given):
        njrt.llm("hello")


def test_text_that_utf_8_cannot_encode_is_sent_escaped():
    with LenientServer([says("fine")]) as server:
        request = Request("Be \ud800.", (UserMessage("a \udfff b"),), timeout=100)
        assert connect(server).ask(request).message.text == "fine"
        assert server.seen[0].body["messages"][1]["content"] == "a \\udfff b"


def test_a_reply_is_counted_as_the_server_counts_it():
    with LenientServer([completion({"role": "assistant", "content": "hi"}, usage=None)]) as server:
        assert connect(server).ask(PLAIN).usage == Usage(usd=None)
