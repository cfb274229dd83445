"""Replies that must fit a JSON schema: enforced by the vendors, by servers of one's own, or by nobody."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import pytest
from pydantic import Field

from anthropic_server import message, tool_use
from njrt.messages import ModelMessage, Reply, Request, UserMessage, make_object_schema
from njrt.models.openai import OpenAI
from njrt.models.strict_schema import is_strict, make_strict_schema, unwrap_reply
from njrt.values.json_forms import make_json_form
from openai_server import OpenAIServer, says, schema_complaints
from vendors import VENDORS


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
class Written:
    value: str


FORMS: list[tuple[Any, Any, bool]] = [
    (str, "a", True),
    (Literal["a", "b"], "a", True),
    (Color, "BLUE", True),
    (Point, {"x": 1, "color": "RED"}, True),
    (Order, {"dish": "soup"}, False),
    (Movie, {"title": "M", "year": 1931}, True),
    (dict[str, int], {"a": 1}, False),
    (dict[Color, list[int]], {"RED": [1]}, False),
    (list[dict[str, int]], [{"a": 1}, {}], False),
    (tuple[int, str], [1, "a"], True),
    (dict[str, int] | None, None, False),
    (date, "2024-02-29", True),
    (Annotated[int, Field(gt=0)], 3, True),
    (Size, {"size": None}, False),
    (Written, {"value": "a"}, True),
    (Tree, {"value": 1, "children": [{"value": 2, "children": []}]}, True),
]
"""A type, a value in its JSON form, and whether a vendor enforces its schema."""


@pytest.mark.parametrize(("declared", "value", "strict"), FORMS)
def test_a_schema_is_strict_if_the_vendors_can_enforce_it(declared, value, strict):
    """A dict, or a field that may be left out, is not what strict mode knows."""
    schema = make_strict_schema(make_json_form(declared).schema)
    assert is_strict(schema) is strict
    assert (list(schema_complaints(schema, "schema")) == []) is strict
    for text in (json.dumps({"reply": value}), json.dumps(value)):
        assert json.loads(unwrap_reply(Reply(ModelMessage(text))).message.text) == value


def request(declared: Any) -> Request:
    schema = make_json_form(declared).schema
    body = {name: part for name, part in schema.items() if name != "$defs"}
    whole = make_object_schema({"it": body})
    if "$defs" in schema:
        whole["$defs"] = schema["$defs"]
    return Request("Reply.", (UserMessage("hello"),), schema=whole)


def call_reply(text: str) -> Any:
    return message(tool_use("toolu_1", "reply", json.loads(text)))


@pytest.mark.parametrize("vendor", VENDORS.values(), ids=VENDORS)
@pytest.mark.parametrize(("declared", "value", "strict"), FORMS)
def test_vendors_enforce_what_they_can(ask, vendor, declared, value, strict):
    """Anthropic is made to call one tool."""
    reply = json.dumps({"reply": {"it": value}})
    with vendor.server([(says if vendor.name == "openai" else call_reply)(reply)]) as server:
        answer = ask(vendor.connect(server), request(declared))
        body = server.seen[0].body
    assert json.loads(answer.message.text) == {"it": value}
    assert answer.message.calls == ()
    if vendor.name == "openai":
        assert body["response_format"]["json_schema"]["strict"] is strict
    else:
        assert body["tool_choice"] == {"type": "tool", "name": "reply"}
        assert body["tools"][0]["strict"] is strict


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
