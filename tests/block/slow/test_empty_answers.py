"""An empty object from a server does not end a block that answers, whatever the way it arrives."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from programs import PlainProgram

import njrt
from anthropic_server import AnthropicServer, message, text, tool_use
from case_programs import read_program
from loopback import Loopback
from njrt.models.anthropic import Anthropic
from njrt.models.openai import OpenAI
from openai_server import KEY, OpenAIServer, calls, says

pytest.importorskip("openai")
pytest.importorskip("anthropic")


@dataclass(frozen=True)
class Way:
    """A server, a model on it, how this server says a text, and whether its vendor puts answers into `reply`."""

    serve: Callable[[list[Any]], Loopback]
    connect: Callable[[Any], Any]
    say: Callable[[str], Any]
    is_strict: bool = False


serve_own = partial(OpenAIServer, vendor=False, models=("local",))
serve_without_schemas = partial(serve_own, enforces_schemas=False)


def connect_own(server: OpenAIServer) -> OpenAI:
    return OpenAI("local", base_url=server.base_url)


def connect_openai(server: OpenAIServer) -> OpenAI:
    return OpenAI("gpt-4.1", vendor_url=server.base_url, key=KEY)


def connect_anthropic(server: AnthropicServer) -> Anthropic:
    return Anthropic("claude-sonnet-4-6", vendor_url=server.url, key=server.key)


def call_reply(said: str) -> Any:
    return calls(("reply", said))


def use_reply(said: str) -> Any:
    return message(tool_use("toolu_1", "reply", json.loads(said)))


def send_text(said: str) -> Any:
    return message(text(said))


WAYS = {
    "own server": Way(serve_own, connect_own, says),
    "own server, by a call": Way(serve_own, connect_own, call_reply),
    "server without schemas": Way(serve_without_schemas, connect_own, says),
    "openai": Way(OpenAIServer, connect_openai, says, is_strict=True),
    "openai, by a call": Way(OpenAIServer, connect_openai, call_reply, is_strict=True),
    "anthropic": Way(AnthropicServer, connect_anthropic, use_reply, is_strict=True),
    "anthropic, by text": Way(AnthropicServer, connect_anthropic, send_text, is_strict=True),
}


PROGRAM = PlainProgram(read_program("empty_answers"))
EMPTY = ("{}", " {\n} ", "```json\n{}\n```", '{"reply": {}}')
BLOCKS = {"bind": ({"x": 5}, 5), "stay": ({"pass": True}, "stayed")}
"""A function, the reply that ends its block, and what it returns then."""


CASES = [
    pytest.param(way, empty, id=f"{name}: {empty}")
    for name, way in WAYS.items()
    for empty in EMPTY
    if way.say is not use_reply or not empty.startswith("`")
]


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("protocol", ["tools", "text"])
@pytest.mark.parametrize(("way", "empty"), CASES)
def test_an_empty_object_is_sent_back(way: Way, empty: str, protocol: str, name: str) -> None:
    final, expected = BLOCKS[name]
    ended = json.dumps({"reply": final} if way.is_strict else final)
    program = PROGRAM.load()
    with (
        way.serve([way.say(empty), way.say(ended)]) as server,
        njrt.watch() as watch,
        njrt.using(model=way.connect(server), protocol=protocol),
    ):
        assert program[name]("five") == expected
    assert [call.request.turn for call in watch.runs[0].calls] == [1, 2]


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("empty", EMPTY)
def test_an_empty_object_of_any_other_model_is_sent_back(empty: str, name: str) -> None:
    final, expected = BLOCKS[name]
    for protocol in ("tools", "text"):
        assert PROGRAM.call(name, "five", says=[empty, final], protocol=protocol) == expected
        assert len(PROGRAM.model.requests) == 2
