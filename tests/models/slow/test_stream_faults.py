"""Whatever a server streams, a model replies or raises a `ModelError`, and ends in time.

The faults are generated from valid streams: events that are lost, repeated, out of order or replaced, bodies that are cut
off, in other encodings and in chunks of any size. Streams without an end must end with the time limit of the call.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from test_provider_faults import (
    ANTHROPIC,
    CONTENT_TYPES,
    DEEP,
    ENCODINGS,
    OPENAI,
    VALID,
    generate_mutations,
    run_faults,
)

from anthropic_server import message, split_message
from anthropic_server import text as block
from conversations import PLAIN, TOOLS
from loopback import Endless, Garbage, Raw, Response
from njrt.errors import ServerError
from njrt.messages import Request
from openai_server import says, split_completion
from vendors import VENDORS
from waiting import HANG_SECONDS

STREAM = "text/event-stream"
STREAMED = [
    *(("openai", *OPENAI[kind]) for kind in ("text", "calls")),
    *(("anthropic", *ANTHROPIC[kind]) for kind in ("text", "calls")),
]
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded \ud800"}}
DATA = (
    *("", " ", "[DONE]", "null", "[]", "{}", "5", '"\\ud800"', "NaN", "1e400", "9" * 5_000, "{nonsense", "[1, 2]", DEEP),
    *('{"choices": [{}, {}]}', '{"choices": {"index": 0}}', '{"type": "message_start"}', '{"type": "content_block_stop"}'),
    *('{"type": "content_block_delta", "index": 1e400, "delta": {}}', '{"\\ud800": 1, "type": "ping", "type": 5}'),
    json.dumps(ERROR),
)  # fmt: skip
"""Data of an event that is none of a stream, or not there."""


def split(vendor: str, body: Any) -> list[str]:
    """Return the data of each event of a reply that is streamed."""
    events = (split_completion if vendor == "openai" else split_message)(body, 64)
    return [
        event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
        for event in events
    ]


def write(events: Iterable[str], end: str = "\n") -> bytes:
    """Return the body of a stream; Anthropic's SDK reads no data without the name of an event."""
    lines = (f"event: {name_event(data)}{end}data: {data}{end}{end}" for data in events)
    return "".join(lines).encode("utf-8", "surrogatepass")


def name_event(data: str) -> str:
    try:
        return str(json.loads(data)["type"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return "content_block_delta"


def write_chunks(body: bytes, size: int) -> Garbage:
    """Return a body in chunks of so many bytes, which may end inside of a character or a line."""
    pieces = (body[start : start + size] for start in range(0, len(body), size))
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return Garbage(HEAD + b"transfer-encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")


def stream(events: Iterable[str]) -> Raw:
    return Raw(write(events), STREAM)


def generate_event_faults(events: list[str]) -> Iterator[tuple[str, Response]]:
    """Events that are lost, repeated, out of order, or replaced by others."""
    for index in range(len(events)):
        before, here, after = events[:index], events[index], events[index + 1 :]
        yield f"ends before {index}", stream(before)
        yield f"without {index}", stream([*before, *after])
        yield f"{index} twice", stream([*before, here, here, *after])
        yield f"{index} last", stream([*before, *after, here])
        yield f"{index} first", stream([here, *before, *after])
        yield (
            f"error before {index}",
            Raw(
                write(before) + b"event: error\n" + write([json.dumps(ERROR), *events[index:]]),
                STREAM,
            ),
        )
    for index in (1, len(events) - 1):
        for data in DATA:
            yield (
                f"{data[:20]} in place of {index}",
                stream([*events[:index], data, *events[index + 1 :]]),
            )
            yield f"{data[:20]} before {index}", stream([*events[:index], data, *events[index:]])
    yield "backwards", stream(reversed(events))
    yield "all twice", stream([*events, *events])
    yield "each twice", stream(itertools.chain(*zip(events, events, strict=True)))


def generate_body_faults(events: list[str]) -> Iterator[tuple[str, Response]]:
    """Streams whose bytes are cut off, in other encodings, and in other chunks."""
    body = write(events)
    for length in range(0, len(body), 10):
        yield f"cut after {length}", Raw(body[:length], STREAM)
    for size in (1, 7, 4_096):
        yield f"chunks of {size}", write_chunks(body, size)
    for end in ("\n", "\r", "\r\n", "\u2028", "\0"):
        yield f"lines that end by {end!r}", Raw(write(events, end), STREAM)
    for encoding in ENCODINGS:
        yield encoding, Raw(body.decode().encode(encoding, "replace"), STREAM)
        yield f"charset={encoding}", Raw(body, f"{STREAM}; charset={encoding}")
    yield "invalid UTF-8", Raw(body.replace("é".encode(), b"\xe9\xff"), STREAM)
    yield "surrogate", Raw(body.replace("é".encode(), "\ud800".encode("utf-8", "surrogatepass")), STREAM)  # fmt: skip
    for kind in CONTENT_TYPES:
        yield f"type {kind}", Raw(body, kind)
    yield "no type", Garbage(b"HTTP/1.1 200 OK\r\n\r\n" + body)
    yield "no length", Garbage(HEAD + b"\r\n" + body)
    yield "shorter than its length", Garbage(HEAD + b"content-length: 99999\r\n\r\n" + body)
    yield "bad chunk", Garbage(HEAD + b"transfer-encoding: chunked\r\n\r\n5\r\ndata:\r\nzz\r\n")
    yield "no gzip", Raw(body, STREAM, headers={"content-encoding": "gzip"})
    yield "no stream", Raw(b"{}", STREAM)
    for field in (
        b"id: 1\n",
        b"retry: -1\n",
        b"data\n",
        b": \n",
        b"\xff: 1\n",
        b"event: \xff\n",
        b"\0\n",
    ):
        yield f"with {field!r}", Raw(field + body + field, STREAM)
    yield "one line", Raw(body.replace(b"\n", b" "), STREAM)
    yield "a long line", Raw(b"data: " + b"x" * 100_000 + b"\n\n" + body, STREAM)
    yield "many lines", Raw(b"data:\n" * 5_000 + b"\n" + body, STREAM)


def make_streamed(request: Request) -> Request:
    return replace(request, on_text=lambda text: text.encode() and None)


@pytest.mark.parametrize(
    ("vendor", "request_", "valid"),
    STREAMED,
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_broken_stream_is_a_reply_or_a_model_error(
    vendor: str, request_: Request, valid: Any
) -> None:
    body = json.loads(json.dumps(valid.body).replace("hello", "h\\u00e9llo"))
    events = split(vendor, body)
    faults = [*generate_event_faults(events), *generate_body_faults(events)]
    replies, undocumented = run_faults(vendor, make_streamed(request_), faults)
    assert undocumented == {}
    assert 0 < replies < len(faults)


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("arguments", ['{"code": NaN}', '{"code": 1e400}', '{"\\ud800": "\\udfff"}', DEEP, '{"code": "x', '{"a": 1, "a": 2}', "[]", "5"], ids=lambda text: text[:12])  # fmt: skip
def test_arguments_that_come_in_pieces_can_be_sent_back(vendor: str, arguments: str) -> None:
    """Whatever they are, it is one call. Anthropic's SDK itself reads them, and fails on some."""
    if vendor == "openai":
        begin = {"index": 0, "id": "a", "function": {"name": "run", "arguments": ""}}
        piece = {"index": 0, "function": {"arguments": arguments}}
        deltas = [{"tool_calls": [begin]}, {"tool_calls": [piece]}]
        events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        end = {"index": 0, "delta": {}, "finish_reason": "tool_calls"}
        events.append({"choices": [end]})
    else:
        block = {"type": "tool_use", "id": "a", "name": "run", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": arguments}
        events = [
            {"type": "message_start", "message": {"content": [], "usage": {}}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "tool_use"},
                "usage": {"output_tokens": 1},
            },
            {"type": "message_stop"},
        ]
    faults = [("", stream([json.dumps(event) for event in events]))]
    replies, undocumented = run_faults(vendor, make_streamed(TOOLS), faults, requests=1)
    assert undocumented == {}
    assert replies == 1 or (vendor == "anthropic" and arguments in UNREADABLE)


UNREADABLE = ('{"code": NaN}', '{"code": 1e400}', '{"\\ud800": "\\udfff"}', DEEP)

LINE_ENDS = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\r\n"
"""All characters that end a line for `str.splitlines`."""


@pytest.mark.parametrize(
    "kind", [STREAM, f"{STREAM}; charset=iso-8859-1", "Text/Event-Stream; charset=utf-16"]
)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 10_000])
@pytest.mark.parametrize("vendor", VENDORS)
def test_a_text_with_any_character_is_one_call(vendor: str, size: int, kind: str) -> None:
    text = f"é{LINE_ENDS}東京 😀"
    body = (says(text) if vendor == "openai" else message(block(text))).body
    chunks = write_chunks(write(split(vendor, body), "\r\n" if size == 3 else "\n"), size)
    with VENDORS[vendor].server(
        [Garbage(chunks.data.replace(STREAM.encode(), kind.encode()))]
    ) as server:
        reply = VENDORS[vendor].connect(server).ask(make_streamed(PLAIN))
        assert (reply.message.text, reply.attempts, len(server.seen)) == (text, (), 1)


@pytest.mark.parametrize("status", [400, 503])
@pytest.mark.parametrize("body", [b"", b"{", b"5\r\n{", b"\x1f\x8b"])
@pytest.mark.parametrize("vendor", VENDORS)
def test_an_error_that_breaks_off_is_a_server_error(vendor: str, body: bytes, status: int) -> None:
    head = f"HTTP/1.1 {status} No\r\ncontent-type: application/json\r\n".encode()
    length = b"transfer-encoding: chunked" if body[:1] == b"5" else b"content-length: 500"
    with VENDORS[vendor].server([Garbage(head + length + b"\r\n\r\n" + body)]) as server:
        with pytest.raises(ServerError, match="no reply from"):
            VENDORS[vendor].connect(server).ask(make_streamed(PLAIN))
        assert len(server.seen) == 1


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("vendor", VENDORS)
def test_a_packed_error_is_not_unpacked(vendor: str, is_streamed: bool) -> None:
    busy = Raw(b"\x00\xff", status=503, headers={"content-encoding": "gzip"})
    with VENDORS[vendor].server([busy]) as server:
        model = VENDORS[vendor].connect(server, retries=1)
        with pytest.raises(ServerError, match="encoding 'gzip' was not asked for"):
            model.ask(make_streamed(PLAIN) if is_streamed else PLAIN)
        assert len(server.seen) == 1


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_mutation_of_an_event_is_a_reply_or_a_model_error(vendor: str) -> None:
    request, valid = VALID[vendor]["calls"]
    events = split(vendor, valid.body)
    faults: list[tuple[str, Response]] = []
    for index, data in enumerate(events):
        for name, text in generate_mutations(json.loads(data)) if data[0] == "{" else ():
            body = stream([*events[:index], text, *events[index + 1 :]])
            faults.append((f"{index} {name}", body))
    replies, undocumented = run_faults(vendor, make_streamed(request), faults)
    assert undocumented == {}
    assert 100 < replies < len(faults)


ENDLESS = (
    *(b'data: {"choices": []}\n\n', b'event: ping\ndata: {"type": "ping"}\n\n', b": a comment\n\n", b"\n" * 50, b""),
    *(b"data: ", b"data: x\n", b'data: {"choices": [{"delta": {"content": "x"}}]}\n\n'),
)  # fmt: skip
"""What comes again and again; the last three grow in memory."""


@pytest.mark.parametrize("vendor", VENDORS)
def test_endless_streams_end_with_the_time_limit(vendor: str) -> None:
    valid = VALID[vendor]["text"][1]
    with VENDORS[vendor].server([valid]) as server:
        model = VENDORS[vendor].connect(server)
        model.ask(PLAIN)  # connects, which takes longer than a call may last below
        for data in ENDLESS:
            server.script[:] = [Endless(HEAD + b"\r\n", data, 0.0 if data else 0.05)] * 2
            with pytest.raises(ServerError, match=r"no reply .* within 0\.2 s|broke off"):
                model.ask(replace(make_streamed(PLAIN), timeout=0.2))
        assert server.abandoned.wait(HANG_SECONDS)
