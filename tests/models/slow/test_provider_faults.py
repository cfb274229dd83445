"""Whatever a server sends, a model replies or raises a `ModelError`; what it replies can be stored and sent on.

The faults are generated: every node of a valid response is replaced by every other kind of value, every number by what
is none in JSON or too large, and the body comes cut off, in other encodings and under other types. test_stream_faults.py
does the same to streams.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from test_structured_replies import Order, request

import anthropic_server
import openai_server
from conversations import PLAIN, TOOLS
from loopback import Garbage, Loopback, Raw, Response
from njrt.data.message_json import (
    format_json_line,
    hash_conversation,
    message_to_json,
    reply_from_json,
    reply_to_json,
)
from njrt.errors import AuthenticationError, ModelError, ServerError
from njrt.messages import Reply, Request, ToolMessage, ToolResult, UserMessage
from njrt.models.anthropic import Anthropic
from njrt.models.openai import OpenAI
from njrt.models.remote import RemoteModel
from njrt.models.response import MAX_TOKENS
from openai_server import OpenAIServer
from vendors import VENDORS

MISSING = object()
DEEP = "[" * 50_000 + "]" * 50_000
VALUES: dict[str, Any] = {
    "missing": MISSING,
    "null": None,
    "true": True,
    "negative": -1,
    "huge": 10**400,
    "infinite": float("inf"),
    "text": "x",
    "surrogate": "\ud800",
    "list": [],
    "list of null": [None],
    "object": {},
    "object of lists": {"text": [], "key": [{}], "reply": [[]]},
    "deep": json.loads("[" * 150 + "]" * 150),
}
"""What stands in place of a node of a valid response."""

NUMBERS = (
    "1e400",
    "-1e400",
    "NaN",
    "Infinity",
    "-Infinity",
    "9" * 5_000,
    "-0",
    "0.5",
    "1e3",
    "1e15",
    "1" + "0" * 18,
)
"""What stands in place of a number, as JSON or what looks like it."""

LITERAL, AGAIN = "@literal@", "@again@"
"""A text that is replaced by a number as written, and a key that is replaced by the one before it."""

CODE = {"code": "x = '\ud83d\ude00'", "done": True}
ORDERS = request(dict[str, Order | None])
ORDER = {"reply": {"it": [{"key": "a", "value": {"dish": "b", "count": None, "extras": ["c"]}}]}}
OPENAI = {
    "text": (PLAIN, openai_server.says("hello")),
    "calls": (TOOLS, openai_server.calls(("run", json.dumps(CODE)), ("run", "{}"))),
    "schema": (ORDERS, openai_server.says(json.dumps(ORDER))),
}
ANTHROPIC = {
    "text": (PLAIN, anthropic_server.message(anthropic_server.text("hello"))),
    "calls": (
        TOOLS,
        anthropic_server.message(
            anthropic_server.thinking("s"), anthropic_server.tool_use("a", "run", CODE)
        ),
    ),
    "schema": (ORDERS, anthropic_server.message(anthropic_server.tool_use("a", "reply", ORDER))),
}


VALID = {"openai": OPENAI, "anthropic": ANTHROPIC}


def list_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    match value:
        case dict():
            for key, inner in value.items():
                yield from list_paths(inner, (*path, key))
        case list():
            for index, inner in enumerate(value):
                yield from list_paths(inner, (*path, index))


def mutate(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return None if new is MISSING else new
    value = copy.deepcopy(value)
    parent = get_node(value, path[:-1])
    if new is MISSING:
        del parent[path[-1]]
    else:
        parent[path[-1]] = new
    return value


def get_node(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def generate_mutations(body: Any) -> Iterator[tuple[str, str]]:
    """Yield every node of a response, and of the JSON inside its texts, with every value; as JSON texts."""
    for path in list_paths(body):
        node, label = get_node(body, path), ".".join(map(str, path))
        for name, new in VALUES.items():
            yield f"{label}: {name}", json.dumps(mutate(body, path, new))
        if isinstance(node, int | float):
            text = json.dumps(mutate(body, path, LITERAL))
            for number in NUMBERS:
                yield f"{label}: {number[:9]}", text.replace(f'"{LITERAL}"', number)
        if isinstance(node, dict):
            yield f"{label}: surrogate key", json.dumps(mutate(body, (*path, "\ud800"), "\udfff"))
            for key in node:
                text = json.dumps(mutate(body, (*path, AGAIN), None))
                yield f"{label}: {key} again", text.replace(AGAIN, key)
        if isinstance(node, str) and node.startswith("{") and node.endswith("}"):
            for name, text in generate_mutations(json.loads(node)):
                yield f"{label}: {name}", json.dumps(mutate(body, path, text))


def use_reply(request: Request, reply: Reply) -> None:
    """Store the reply, read it back, and write the next requests to both vendors; its usage must be possible."""
    usage = reply.usage
    assert 0 <= usage.cached <= usage.input <= 3 * MAX_TOKENS
    assert 0 <= usage.output <= MAX_TOKENS
    assert usage.usd is None or 0 <= usage.usd < float("inf")
    text = format_json_line(reply_to_json(reply))
    text.encode()
    stored = reply_from_json(json.loads(text), reply.model).message
    assert message_to_json(stored) == message_to_json(reply.message)
    results = tuple(ToolResult(call.id, call.name, "ok") for call in reply.message.calls)
    following = ToolMessage(results) if results else UserMessage("go on")
    conversation = (*request.messages, reply.message, following)
    hash_conversation(conversation)
    asked = replace(request, messages=conversation)
    for model in (OpenAI("gpt-4.1"), Anthropic("claude-sonnet-4-6")):
        json.dumps(model.make_body(asked), allow_nan=False, ensure_ascii=False).encode()


def run_faults(
    vendor: str, request: Request, faults: list[tuple[str, Response]], requests: int = 4
) -> tuple[int, dict[str, str]]:
    """Return the number of replies, and the faults that raised anything but a ModelError."""
    replies, undocumented = 0, {}
    with VENDORS[vendor].server() as server:
        model = VENDORS[vendor].connect(server)
        for name, response in faults:
            # A rejected schema is a second request, and so is a broken stream.
            server.script[:] = [response] * requests
            try:
                reply = model.ask(request)
                use_reply(request, reply)
                replies += 1
            except ModelError as error:
                str(error).encode()
                if "max_call_seconds" in str(error):
                    undocumented[name] = "took too long"
            except Exception as error:
                undocumented[name] = f"{type(error).__name__}: {error}"[:200]
    return replies, undocumented


CASES = [(vendor, *case) for vendor in VENDORS for case in VALID[vendor].values()]
IDS = [f"{vendor} {kind}" for vendor in VENDORS for kind in OPENAI]


@pytest.mark.parametrize(("vendor", "request_", "valid"), CASES, ids=IDS)
def test_every_mutation_of_a_response_is_a_reply_or_a_model_error(vendor, request_, valid):
    faults = [(name, Raw(text)) for name, text in generate_mutations(valid.body)]
    replies, undocumented = run_faults(vendor, request_, faults)
    assert undocumented == {}
    assert 0 < replies < len(faults)


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize(
    ("error", "said"),
    [
        ({"message": "the model is down", "code": 502}, r"502 - .*the model is down"),
        ({"message": "the key KEY is spent", "code": 402}, r"\(no explanation\)"),
        ({"message": "the model is down", "code": "down"}, r"502 - .*the model is down"),
        ("rate limited", "502"),
        ({"message": "the key KEY is spent"}, r"\(no explanation\)"),
    ],
)
def test_an_error_with_a_status_of_success_is_the_servers_message(vendor, error, said):
    with VENDORS[vendor].server() as server:
        model = VENDORS[vendor].connect(server)
        key = VENDORS[vendor].key
        server.script[:] = [Raw(json.dumps({"error": error, "user": "me"}).replace("KEY", key))]
        with pytest.raises(ModelError, match=said) as raised:
            model.ask(PLAIN)
    assert server.url in str(raised.value)
    assert key not in str(raised.value)


ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "latin-1", "cp1252", "cp037", "shift_jis")  # fmt: skip
CONTENT_TYPES = ("", ";", "text/plain", "text/html; charset=utf-16", "application/octet-stream", "application/json; charset=\xff",
                 "application/problem+json", "multipart/form-data; boundary=x", "text/event-stream", "x" * 3_000)  # fmt: skip
BODIES = ("", " ", "null", "true", "0", "-0", "1e400", "NaN", "-Infinity", '"text"', '"\\ud800"', "[]", "[{}]", "[[]]", "{}", "{}{}",
          '{"\\ud800": 1}', '{"choices": {}}', '{"content": {}}', '{"error": {}}', '{"error": "busy"}', "[DONE]", "data: {}")  # fmt: skip
"""Whole bodies, most of which are no object."""


def generate_broken_responses(body: Any) -> Iterator[tuple[str, Response]]:
    whole = json.dumps(body, ensure_ascii=False).encode()
    for length in range(0, len(whole), 10):
        yield f"cut after {length}", Raw(whole[:length])
    yield "invalid UTF-8", Raw(whole.replace(b"hello", b"\xff\xfe\xc3"))
    accented = whole.decode().replace("hello", "h\xe9llo \u20ac")
    for encoding in ENCODINGS:
        encoded = accented.encode(encoding, "replace")
        yield encoding, Raw(encoded)
        for charset in (encoding, "utf-8", "utf-16", "latin-1"):
            yield f"{encoding} as {charset}", Raw(encoded, f"application/json; charset={charset}")
        yield f"{encoding} cut", Raw(encoded[:-1])
    yield (
        "surrogates in UTF-8",
        Raw(accented.replace("\xe9", "\ud800").encode("utf-8", "surrogatepass")),
    )
    yield "byte order mark", Raw(b"\xef\xbb\xbf" + whole)
    for kind in CONTENT_TYPES:
        yield f"type {kind}", Raw(whole, kind)
        yield f"type {kind} of text", Raw("no JSON", kind)
    for text in BODIES:
        yield f"body {text[:9]}", Raw(text)
    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(whole)
    yield "no type", Garbage(head + whole)
    yield "no type and no length", Garbage(b"HTTP/1.1 200 OK\r\n\r\n" + whole)
    yield "deep objects", Raw('{"choices":' * 50_000 + "1" + "}" * 50_000)
    yield "deep in a field", Raw(whole.replace(b'"usage"', b'"x": ' + DEEP.encode() + b', "usage"'))
    yield "NUL", Raw(whole + b"\0")
    yield "deep", Raw(DEEP)
    yield "deep arguments", Raw(whole.replace(b'"hello"', DEEP.encode()))
    yield "digits", Raw("9" * 10_000)
    yield "NaN", Raw("NaN")
    yield "HTML", Raw("<html>", "text/html")
    yield "unknown charset", Raw(whole, "application/json; charset=none")
    yield "event stream", Raw(b"data: {}\n\n", "text/event-stream")
    yield "no gzip", Raw(whole, headers={"content-encoding": "gzip"})
    yield "unknown encoding", Raw(whole, headers={"content-encoding": "zip"})
    yield "no HTTP", Garbage(b"\0\xff hello\r\n\r\n")
    yield "long header", Garbage(b"HTTP/1.1 200 OK\r\nx: " + b"x" * 200_000)
    yield "short body", Garbage(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}")
    yield "bad chunk", Garbage(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n")
    for status in (201, 204, 205, 300, 301, 304, 307, 399, 400, 401, 404, 418, 422, 429, 500, 599):
        yield f"status {status}", Raw(b"{}", status=status)
    for status in (302, 307, 308):
        for location in ("/", "http://127.0.0.1:99999/", "//", "\\", "ftp://x", "http://[::1"):
            headers = {"location": location}
            yield f"{status} to {location}", Raw(b"", status=status, headers=headers)
    for wait in ("nan", "inf", "-1", "1e999", "soon", "Fri, 31 Dec 999999 23:59:59 GMT", ""):
        headers = {"retry-after": wait, "retry-after-ms": wait, "x-should-retry": wait}
        yield f"retry after {wait}", Raw(b"{}", status=429, headers=headers)
    messages: list[Any] = [None, [], "x", 5, {"message": 5}, {"message": {"a": []}}, "\ud800"]
    for message in messages:
        yield f"error {message!r}", Raw(json.dumps({"error": message}), status=400)
    for text in (b"", b"\xff", b"null", b"[]", DEEP.encode(), b'"\\ud800"'):
        yield f"error body {text[:9]!r}", Raw(text, status=400)


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("request_", [PLAIN, ORDERS], ids=["text", "schema"])
def test_every_broken_response_is_a_reply_or_a_model_error(vendor, request_):
    valid = VALID[vendor]["text"][1]
    replies, undocumented = run_faults(
        vendor, request_, list(generate_broken_responses(valid.body))
    )
    assert undocumented == {}
    assert replies > 0


URLS = (
    *("http://127.0.0.1:99999/v1", "http://127.0.0.1:65536", "http://127.0.0.1:-1", "http://h:x"),
    *("127.0.0.1:8000", "http://", "ftp://127.0.0.1/", "http://[::1", "http://a b/"),
    *("http://127.0.0.1:0/v1", "http://127.0.0.1\0/", "http://" + "a" * 300, "file:///etc/passwd", "x"),
)  # fmt: skip


@pytest.mark.parametrize("url", URLS, ids=ascii)
@pytest.mark.parametrize(
    "make",
    [
        lambda url: OpenAI("local", base_url=url, retries=0),
        lambda url: OpenAI(None, base_url=url, retries=0),
        lambda url: OpenAI("gpt-4.1", vendor_url=url, key="k", retries=0),
        lambda url: Anthropic("claude-sonnet-4-6", vendor_url=url, key="k", retries=0),
    ],
    ids=["own", "listing", "openai", "anthropic"],
)
def test_a_url_that_is_none_is_a_model_error(make: Callable[[str], RemoteModel], url: str):
    with pytest.raises(ModelError) as caught:
        make(url).ask(PLAIN)
    str(caught.value).encode()


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("key", ["sk\n", "ключ", "sk\0", "\ud800"], ids=ascii)
def test_a_key_that_cannot_be_sent_is_not_shown(vendor, key):
    with VENDORS[vendor].server() as server:
        model = VENDORS[vendor].connect(server, key=key)
        with pytest.raises(AuthenticationError) as caught:
            model.ask(PLAIN)
    assert key not in str(caught.value)
    assert server.seen == []


@pytest.mark.parametrize("vendor", VENDORS)
def test_lone_surrogates_are_sent_as_escapes(vendor):
    valid = VALID[vendor]["text"][1]
    with VENDORS[vendor].server([valid]) as server:
        asked = Request("\udc80", (UserMessage("a \ud800 b"),), timeout=100)
        assert VENDORS[vendor].connect(server).ask(asked).message.text == "hello"
        assert "a \\\\ud800 b" in json.dumps(server.seen[0].body)


LISTS = ({}, {"data": None}, {"data": []}, {"data": [None]}, {"data": [{"id": 5}]}, {"data": "x"}, [], None)  # fmt: skip


@pytest.mark.parametrize("listed", LISTS, ids=repr)
def test_a_malformed_list_of_models_is_a_model_error(listed):
    with Loopback([Raw(json.dumps(listed))]) as server, pytest.raises(ModelError):
        OpenAI(None, base_url=server.url, retries=0).ask(PLAIN)


def test_an_unreadable_reply_names_the_field():
    body = mutate(OPENAI["text"][1].body, ("choices", 0, "message", "content"), 5)
    with OpenAIServer([Raw(json.dumps(body))]) as server, pytest.raises(ServerError) as caught:
        VENDORS["openai"].connect(server).ask(PLAIN)
    assert "(content: it is missing, or not what the API says)" in str(caught.value)
