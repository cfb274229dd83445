"""Replies that must fit a JSON schema: enforced by the vendors, by servers of one's own, or by nobody."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, NamedTuple, TypedDict

import pytest

from anthropic_server import AnthropicServer, message, tool_use
from njrt.messages import ModelMessage, Reply, Request, UserMessage, make_object_schema
from njrt.models.anthropic import Anthropic
from njrt.models.openai import OpenAI
from njrt.models.strict_schema import make_strict_schema, restore_reply, restore_strict_reply
from njrt.values.json_forms import make_json_form
from openai_server import KEY, OpenAIServer, says, schema_complaints

pytest.importorskip("openai")
pytest.importorskip("anthropic")


class Color(enum.Enum):
    RED = 1
    BLUE = (2, 3)


class Point(NamedTuple):
    x: int
    color: Color


@dataclass(frozen=True)
class Order:
    dish: str
    count: int = 1
    extras: tuple[str, ...] = ()


class Movie(TypedDict):
    title: str
    year: int


@dataclass
class Tree:
    value: int
    children: list[Tree]


@dataclass
class Size:
    size: str | None = "medium"


@dataclass
class Counted:
    values: dict[str, int]


@dataclass
class Written:
    value: str


@dataclass
class Chain:
    rest: Chain | Knot | None
    tag: int


@dataclass
class Knot:
    rest: Chain | Knot | None
    label: str


FORMS: list[tuple[Any, Any, Any]] = [
    (str, "a", "a"),
    (Literal["a", "b"], "a", "a"),
    (Color, "BLUE", "BLUE"),
    (Point, {"x": 1, "color": "RED"}, {"x": 1, "color": "RED"}),
    (
        Order,
        {"dish": "soup"},
        {"dish": "soup", "count": None, "extras": None},
    ),
    (Movie, {"title": "M", "year": 1931}, {"title": "M", "year": 1931}),
    (dict[str, int], {"a": 1}, [{"key": "a", "value": 1}]),
    (dict[Color, list[int]], {"RED": [1]}, [{"key": "RED", "value": [1]}]),
    (dict[str, dict[str, int]], {"a": {"b": 1}}, [{"key": "a", "value": [{"key": "b", "value": 1}]}]),
    (list[dict[str, int]], [{"a": 1}, {}], [[{"key": "a", "value": 1}], []]),
    (tuple[int, str], [1, "a"], [1, "a"]),
    (dict[str, int] | None, {"a": 1}, [{"key": "a", "value": 1}]),
    (dict[str, int] | None, None, None),
    (date, "2024-02-29", "2024-02-29"),
    (dict[str, int] | list[int], [1, 2], [1, 2]),
    (list[int] | dict[str, int], {"a": 1}, [{"key": "a", "value": 1}]),
    (Size, {"size": None}, {"size": None}),
    (Written | Counted, {"values": {"a": 1}}, {"values": [{"key": "a", "value": 1}]}),
    (Counted | Written, {"value": "a"}, {"value": "a"}),
    (
        Tree,
        {"value": 1, "children": [{"value": 2, "children": []}]},
        {"value": 1, "children": [{"value": 2, "children": []}]},
    ),
]  # fmt: skip
"""A type, a value in its JSON form, and the same value under the strict schema."""


@pytest.mark.parametrize(("declared", "plain", "strict"), FORMS)
def test_a_strict_reply_is_restored_to_the_plain_form(declared, plain, strict):
    schema = make_json_form(declared).schema
    assert list(schema_complaints(make_strict_schema(schema), "schema")) == []
    assert restore_reply({"reply": strict}, schema) == plain


def request(declared: Any) -> Request:
    schema = make_json_form(declared).schema
    body = {name: part for name, part in schema.items() if name != "$defs"}
    whole = make_object_schema({"it": body})
    if "$defs" in schema:
        whole["$defs"] = schema["$defs"]
    return Request("Reply.", (UserMessage("hello"),), schema=whole)


@pytest.mark.parametrize(("declared", "plain", "strict"), FORMS)
def test_openai_enforces_the_strict_schema(ask, declared, plain, strict):
    with OpenAIServer([says(json.dumps({"reply": {"it": strict}}))]) as server:
        model = OpenAI("gpt-4.1", vendor_url=server.base_url, key=KEY)
        assert json.loads(ask(model, request(declared)).message.text) == {"it": plain}


@pytest.mark.parametrize(("declared", "plain", "strict"), FORMS)
def test_anthropic_is_made_to_call_one_strict_tool(ask, declared, plain, strict):
    reply = message(tool_use("toolu_1", "reply", {"reply": {"it": strict}}))
    with AnthropicServer([reply]) as server:
        model = Anthropic("claude-sonnet-4-6", vendor_url=server.url, key=server.key)
        answer = ask(model, request(declared))
        assert server.seen[0].body["tool_choice"] == {"type": "tool", "name": "reply"}
    assert json.loads(answer.message.text) == {"it": plain}
    assert answer.message.calls == ()


def test_a_server_of_ones_own_gets_the_plain_schema(ask):
    with OpenAIServer([says('{"it": {"a": 1}}')], vendor=False, models=("local",)) as server:
        ask(OpenAI("local", base_url=server.base_url), request(dict[str, int]))
        sent = server.seen[0].body["response_format"]["json_schema"]["schema"]
    assert sent == request(dict[str, int]).schema


def test_a_server_that_cannot_enforce_a_schema_is_asked_for_it_once(ask):
    replies = [says('{"it": "a"}'), says('{"it": "b"}')]
    with OpenAIServer(replies, vendor=False, models=("local",), enforces_schemas=False) as server:
        model = OpenAI("local", base_url=server.base_url)
        assert ask(model, request(str)).message.text == '{"it": "a"}'
        assert ask(model, request(str)).message.text == '{"it": "b"}'
        sent = ["response_format" in seen.body for seen in server.seen]
    assert sent[-3:] == [
        True,
        False,
        False,
    ]  # one that wants a stream is first asked for without it


@pytest.mark.timeout(20)
@pytest.mark.parametrize("depth", [60, 3000])
def test_alternatives_inside_alternatives_are_told_apart_in_little_time(depth):
    """Each part of a reply is looked at once for each alternative, and what is nested too deeply is left as it is."""
    value: Any = None
    for number in range(depth):
        value = {"rest": value, **({"tag": number} if number % 2 else {"label": "a"})}
    schema = make_json_form(Chain | Knot).schema
    try:
        text = json.dumps({"reply": value})
    except RecursionError:
        text = '{"reply": ' + '{"rest": ' * depth + "null" + ', "tag": 1}' * depth + "}"
    reply = Reply(ModelMessage(text))
    restored = restore_strict_reply(reply, schema).message.text
    assert restored == text or json.loads(restored) == value
