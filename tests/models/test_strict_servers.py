"""The loopback servers refuse what the vendors refuse; else the adapters' tests would prove nothing."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

import pytest

import anthropic_server
import openai_server
from anthropic_server import AnthropicServer
from conversations import RUN
from loopback import Loopback
from openai_server import OpenAIServer


def refusal(server: Loopback, path: str, body: Any, headers: dict[str, str]) -> tuple[int, str]:
    """Post `body`; the status of the answer, and what the server says."""
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=100)
    connection.request("POST", path, json.dumps(body), headers)
    answer = connection.getresponse()
    said = json.loads(answer.read())
    connection.close()
    return answer.status, said["error"]["message"]


def complain(server: Loopback, path: str, body: Any, headers: dict[str, str]) -> str:
    """Return what the server has against the body of a request."""
    status, said = refusal(server, path, body, headers)
    assert status == 400
    return said


USER = {"role": "user", "content": "hello"}
CALL = {"id": "a", "type": "function", "function": {"name": "run", "arguments": "{}"}}
CALLS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "ok"}
TOOL = {"type": "function", "function": {"name": "run", "parameters": RUN.parameters}}


def strict(**parameters: Any) -> dict[str, Any]:
    schema = {"type": "object", "additionalProperties": False} | parameters
    return {"type": "function", "function": {"name": "run", "strict": True, "parameters": schema}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"messages": []}, "empty array"),
        ({"messages": [{"role": "robot", "content": "hi"}]}, "'robot'"),
        ({"messages": [USER | {"mood": "good"}]}, "mood"),
        ({"messages": [USER | {"content": None}]}, "content"),
        ({"messages": [USER | {"content": ""}]}, "empty string"),
        ({"messages": [USER, {"role": "assistant", "content": None}]}, "content"),
        ({"messages": [USER, CALLS]}, "followed by tool messages"),
        ({"messages": [USER, CALLS, USER]}, "followed by tool messages"),
        ({"messages": [USER, RESULT]}, "must be a response"),
        ({"messages": [USER, CALLS, RESULT, RESULT]}, "must be a response"),
        ({"messages": [USER, CALLS | {"tool_calls": []}]}, "empty array"),
        ({"messages": [USER, CALLS | {"tool_calls": [CALL | {"id": "a" * 41}]}]}, "40 char"),
        ({"colour": "red"}, "colour"),
        ({"tool_choice": "auto"}, "only allowed when"),
        ({"tools": [{"type": "function"}]}, "Invalid 'tools'"),
        ({"tools": [strict(properties={"a": {"type": "string"}})]}, "'required'"),
        ({"tools": [strict(additionalProperties=True)]}, "additionalProperties"),
        ({"tools": [strict(properties={"a": {}}, required=["a"])]}, "'type'"),
        ({"max_tokens": 1, "max_completion_tokens": 1}, "at the same time"),
        ({"model": "o4-mini", "max_tokens": 1}, "max_tokens"),
        ({"model": "gpt-5-mini", "temperature": 1}, "temperature"),
        ({"model": "gpt-6-sol", "tools": [TOOL]}, "Function tools"),
    ],
)
def test_what_the_server_for_openai_refuses(change, words):
    body = {"model": "gpt-4.1", "messages": [USER]} | change
    headers = {"authorization": f"Bearer {openai_server.KEY}"}
    with OpenAIServer() as server:
        assert words in complain(server, "/v1/chat/completions", body, headers)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"messages": [USER, USER]}, "alternate"),
        ({"max_completion_tokens": 1}, "max_completion_tokens"),
        ({"reasoning_effort": "none"}, "reasoning_effort"),
    ],
)
def test_what_a_server_of_ones_own_refuses_besides(change, words):
    body = {"model": "gpt-4.1", "messages": [USER]} | change
    with OpenAIServer(vendor=False) as server:
        assert words in complain(server, "/v1/chat/completions", body, {})


ASKED = {"role": "user", "content": [{"type": "text", "text": "hello"}]}
USE = {"type": "tool_use", "id": "a", "name": "run", "input": {}}
USED = {"role": "assistant", "content": [USE]}
DONE = {"type": "tool_result", "tool_use_id": "a", "content": []}
TEXT = {"type": "text", "text": "so"}
VERSION = "2026-10-21"


def user(*content: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"messages": []}, "at least one message"),
        ({"messages": [USED]}, "starting with user"),
        ({"messages": [ASKED, ASKED]}, "alternate"),
        ({"messages": [user()]}, "non-empty content"),
        ({"messages": [user(TEXT | {"text": " "})]}, "text content blocks must be non-empty"),
        ({"messages": [user(TEXT | {"mood": "good"})]}, "mood"),
        ({"messages": [user(USE)]}, "tool_use blocks are not permitted in user"),
        ({"messages": [ASKED, USED]}, "prefill"),
        ({"messages": [ASKED, USED, ASKED]}, "need `tool_result`"),
        ({"messages": [user(DONE)]}, "need `tool_result`"),
        ({"messages": [ASKED, USED, user(TEXT, DONE)]}, "must come first"),
        ({"messages": [ASKED, {"role": "assistant", "content": [USE | {"input": "x"}]}]}, "dict"),
        ({"messages": [ASKED, {"role": "assistant", "content": [USE | {"id": "a b"}]}]}, "pattern"),
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"temperature": 1.0}, "temperature: Extra inputs"),
        ({"system": [{"type": "text", "text": ""}]}, "non-empty"),
        ({"tools": [{"name": "run", "input_schema": {}}]}, "input_schema.type"),
        ({"tools": [{"name": "r n", "input_schema": {"type": "object"}}]}, "tools.name"),
    ],
)
def test_what_the_server_for_anthropic_refuses(change, words):
    body = {"model": "claude-sonnet-4-6", "max_tokens": 9, "messages": [ASKED]} | change
    headers = {"x-api-key": anthropic_server.KEY, "anthropic-version": VERSION}
    with AnthropicServer() as server:
        assert words in complain(server, "/v1/messages", body, headers)


def test_the_server_for_anthropic_wants_a_version_it_knows():
    with AnthropicServer() as server:
        headers = {"x-api-key": anthropic_server.KEY, "anthropic-version": "1"}
        assert refusal(server, "/v1/messages", {}, headers)[0] == 400


def test_both_want_their_key_and_a_model_they_know():
    with OpenAIServer() as server:
        assert refusal(server, "/v1/chat/completions", {}, {})[0] == 401
        headers = {"authorization": f"Bearer {openai_server.KEY}"}
        assert refusal(server, "/v1/chat/completions", {"model": "x"}, headers)[0] == 404
    with AnthropicServer() as server:
        assert refusal(server, "/v1/messages", {}, {})[0] == 401
        headers = {"x-api-key": anthropic_server.KEY, "anthropic-version": VERSION}
        assert refusal(server, "/v1/messages", {"model": "x"}, headers)[0] == 404
