"""The whole protocol against a strict client: random sessions in each encoding, and tables of what is no message."""

from __future__ import annotations

import asyncio
import random
import re
import shutil
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from language_programs import PIECES, PROGRAMS
from strict_language_client import UNITS, Message, StrictClient

from njc.editors.language_server.serving.server import read_messages

STEPS = 25
URI = "untitled:mail.njpy"
PROGRAM = '''\
# \U0001f600
import json
é\t= "😀"
def add(price: int, größe: list[str]) -> int:
    """natural
\tPut 😀 <price> and <größe> and <undefined> into <:total: int>.
    """
    return [total for total in größe] + [total, f"{price} 😀 {größe!r}"]
class Box:
    def fill(self, __item):
        """natural
        Put <__item> into <self>.  😀 <é>
        """
'''
VARIANTS = {
    "as it is": PROGRAM,
    "CRLF": PROGRAM.replace("\n", "\r\n"),
    "CR": PROGRAM.replace("\n", "\r"),
    "form feeds": PROGRAM.replace("\n    return", "\n\f    return").replace("def add", "\fdef add"),
    "a mark of byte order": "\ufeff" + PROGRAM,
    "a mark and CRLF": "\ufeff" + PROGRAM.replace("\n", "\r\n"),
    "line separators": PROGRAM.replace("😀", "😀\u2028\x85\x0b"),
    "no last line end": PROGRAM.rstrip(),
    "coding": "# coding: utf-8\n" + PROGRAM,
}
ENCODINGS = sorted(UNITS)
METHODS = ("hover", "definition", "completion", "documentHighlight", "prepareRename")
WHOLE = ("foldingRange", "semanticTokens/full", "codeLens")


def run_session(
    encoding: str, play: Callable[[StrictClient], Awaitable[None]], *, starts: bool = True
) -> None:
    """Run a session to its end."""

    async def session() -> None:
        client = StrictClient(encoding)
        if starts:
            await client.start()
        await play(client)

    asyncio.run(session())


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_places_are_those_of_the_names(encoding: str) -> None:
    """Each finding is at the name that it names, each name is found, and a rename changes the client's text."""

    async def play(client: StrictClient) -> None:
        for number, (name, text) in enumerate(VARIANTS.items()):
            await check_places(client, f"untitled:{number}.njpy", text, name)

    run_session(encoding, play)


async def check_places(client: StrictClient, uri: str, text: str, name: str) -> None:
    client.open(uri, text)
    findings = await client.wait_for_findings(uri)
    shown = [client.read_range(finding["range"], text) for finding in findings]
    assert [text[start:end] for start, end in shown] == ["<undefined>"], name
    for match in re.finditer(r"<:?(price|größe|total|é|__item)\b", text):
        response = await client.ask_at("hover", uri, match.start(1) + 1)
        start, end = client.read_range(response["result"]["range"], text)
        assert text[start:end] == match[1], name
        found = await client.ask_at("definition", uri, match.start(1) + 1)
        (place,) = found["result"]
        start, end = client.read_range(place["range"], text)
        assert text[start:end] == match[1], name
    offset = text.index("<größe") + 3
    response = await client.ask_at("rename", uri, offset, newName="tail")
    changed = client.apply(response["result"]["changes"][uri], text)
    assert changed == text.replace("größe", "tail"), name
    response = await client.ask_at("rename", uri, offset, newName="price")
    assert "another variable" in response["error"]["message"], name


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_random_sessions(encoding: str) -> None:
    """Random edits of a text, requests at random places: all that comes fits the text that the client has."""
    generator = random.Random(encoding)

    async def play(client: StrictClient) -> None:
        text = generator.choice([*VARIANTS.values(), PROGRAMS[3].read_text(encoding="utf-8")])
        client.open(URI, text)
        for _ in range(STEPS):
            edit_at_random(client, generator)
            text = client.texts[URI][1]
            document = client.server.documents[URI]
            assert document.mark + document.text == text
            for _ in range(3):
                await client.ask_at(generator.choice(METHODS), URI, choose_offset(text, generator))
            about = {"textDocument": {"uri": URI}}
            method = generator.choice(WHOLE)
            response = await client.ask(f"textDocument/{method}", about)
            assert "error" not in response, response
            client.check_ranges(response["result"], text)
            offset = choose_offset(text, generator)
            response = await client.ask_at("rename", URI, offset, newName="renamed")
            if "result" in response:
                client.apply(response["result"]["changes"][URI], text)
        for finding in await client.wait_for_findings(URI):
            client.check_ranges(finding, client.texts[URI][1])

    run_session(encoding, play)


def choose_offset(text: str, generator: random.Random) -> int:
    """Return an offset that is not within the end of a line, mostly in a prompt."""
    places = [match.end() for match in re.finditer(r"<:?|natural", text)] or [0]
    offset = generator.choice(places) + generator.randrange(3)
    if generator.random() < 0.4:
        offset = generator.randrange(len(text) + 1)
    offset = min(offset, len(text))
    return offset - 1 if text[offset - 1 : offset + 1] == "\r\n" else offset


def edit_at_random(client: StrictClient, generator: random.Random) -> None:
    text = client.texts[URI][1]
    start = choose_offset(text, generator)
    end = min(len(text), start + generator.choice((0, 0, 1, 3, 40)))
    if text[end - 1 : end + 1] == "\r\n":
        end += 1
    client.change(URI, start, end, generator.choice(PIECES))


OTHER = "from mail import add\nadd(price=1, größe=[])\n"


def test_open_texts_count_and_not_their_files(tmp_path: Path) -> None:
    """A rename looks at the other modules as the client has them; files may go while they are open."""
    (tmp_path / "pyproject.toml").write_text("[tool.njc]\n")
    mail, other = ((tmp_path / name).as_uri() for name in ("mail.njpy", "other.njpy"))
    (tmp_path / "mail.njpy").write_text("old = 1\n", encoding="utf-8")
    (tmp_path / "other.njpy").write_text(OTHER, encoding="utf-8")
    offset = PROGRAM.index("<price") + 1

    async def play(client: StrictClient) -> None:
        client.open(mail, PROGRAM)
        refused = await client.ask_at("rename", mail, offset, newName="cost")
        assert "other.njpy:2 may give `price` as a keyword" in refused["error"]["message"]
        client.open(other, "x = 1\n")
        assert "result" in await client.ask_at("rename", mail, offset, newName="cost")
        client.change(other, 0, 0, OTHER)
        refused = await client.ask_at("rename", mail, offset, newName="cost")
        assert "other.njpy:2 may give" in refused["error"]["message"]
        shutil.rmtree(tmp_path)
        for method in METHODS:
            assert "result" in await client.ask_at(method, mail, offset)
        for method in WHOLE:
            response = await client.ask(f"textDocument/{method}", {"textDocument": {"uri": mail}})
            assert "result" in response
        client.notify("textDocument/didSave", {"textDocument": {"uri": mail}})
        client.notify("textDocument/didClose", {"textDocument": {"uri": other}})
        assert "result" in await client.ask_at("rename", mail, offset, newName="cost")

    run_session("utf-16", play)


# ── what is no message ───────────────────────────────────────────────────────────────────────────

PLACE: Message = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}}
HOVER: Message = {"jsonrpc": "2.0", "id": "h", "method": "textDocument/hover", "params": PLACE}


def hover_at(line: Any, character: Any) -> Message:
    place = {**PLACE, "position": {"line": line, "character": character}}
    return {**HOVER, "params": place}


WRONG: list[tuple[Any, Any, int]] = [
    (b"{", None, -32700),
    (b"", None, -32700),
    (b"\xff", None, -32700),
    (b"[" * 100_000, None, -32700),
    (b"1" * 10_000, None, -32700),
    ([], None, -32600),
    ([HOVER], None, -32600),
    (1, None, -32600),
    (None, None, -32600),
    ({}, None, -32600),
    ({"jsonrpc": "2.0"}, None, -32600),
    ({"jsonrpc": "2.0", "id": "h"}, "h", -32600),
    ({**HOVER, "id": None}, None, -32600),
    ({**HOVER, "id": 1.5}, None, -32600),
    ({**HOVER, "id": True}, None, -32600),
    ({**HOVER, "id": [1]}, None, -32600),
    ({**HOVER, "id": {}}, None, -32600),
    ({**HOVER, "jsonrpc": "1.0"}, "h", -32600),
    ({**HOVER, "jsonrpc": 2.0}, "h", -32600),
    ({**HOVER, "method": 5}, "h", -32600),
    ({**HOVER, "method": None}, "h", -32600),
    ({**HOVER, "method": ""}, "h", -32601),
    ({**HOVER, "method": "$/unknown"}, "h", -32601),
    ({**HOVER, "method": "initialize", "params": {}}, "h", -32600),
    ({**HOVER, "params": None}, "h", -32602),
    ({**HOVER, "params": []}, "h", -32602),
    ({**HOVER, "params": "x"}, "h", -32602),
    ({**HOVER, "params": {**PLACE, "textDocument": {"uri": None}}}, "h", -32602),
    ({**HOVER, "params": {**PLACE, "textDocument": {"uri": 5}}}, "h", -32602),
    ({**HOVER, "params": {**PLACE, "textDocument": URI}}, "h", -32602),
    *(
        (hover_at(*place), "h", -32602)
        for place in (
            (-1, 0),
            (0, -1),
            (2**31, 0),
            (0, 2**53),
            (0.5, 0),
            ("0", 0),
            (None, 0),
            (0, True),
        )
    ),
    (
        {**HOVER, "method": "njc/compiledText", "params": {"textDocument": {"uri": [1]}}},
        "h",
        -32602,
    ),
]


def test_what_is_wrong_is_answered() -> None:
    async def play(client: StrictClient) -> None:
        for message, identifier, code in WRONG:
            client.refusals.clear()
            client.responses.pop(identifier, None)
            client.send(message)
            found = client.responses[identifier]["error"] if identifier else client.refusals[0]
            assert found["code"] == code, message
            assert found["message"]
            assert (await client.ask("textDocument/hover", PLACE))["result"] is None, message

    run_session("utf-16", play)


CHANGES: list[Any] = [
    None,
    "x",
    [5],
    [{}],
    [{"text": None}],
    [{"text": 5}],
    [{"text": "x"}, {"text": None}],
    [{"text": "x", "range": {"start": {"line": 0}}}],
    [
        {
            "text": "x",
            "range": {"start": {"line": -1, "character": 0}, "end": {"line": 0, "character": 0}},
        }
    ],
]


def test_a_change_that_cannot_be_read_changes_nothing() -> None:
    async def play(client: StrictClient) -> None:
        client.open(URI, PROGRAM)
        for changes in CHANGES:
            document = {"uri": URI, "version": 2}
            params = {"textDocument": document, "contentChanges": changes}
            client.notify("textDocument/didChange", params)
            assert client.server.documents[URI].text == PROGRAM, changes
        assert client.refusals == []

    run_session("utf-16", play)


URIS = (
    *(
        "",
        "x",
        "file:",
        "file://",
        "file:///",
        "file:///%00.njpy",
        "file:///%zz.njpy",
        "file:///a b.njpy",
    ),
    *("file://host/a.njpy", "file:///C:/a.njpy", "http://a/b.njpy", "\ud800", "file:///dev/zero"),
    *("file:///proc/self/mem", "file:///dev/null/a.njpy", "file:///" + "x" * 5000 + ".njpy"),
)


def test_any_uri_may_be_opened_and_asked_about() -> None:
    async def play(client: StrictClient) -> None:
        for uri in URIS:
            about = {"textDocument": {"uri": uri}}
            place = {**about, "position": {"line": 0, "character": 1}}
            assert (await client.ask("textDocument/hover", place))["result"] is None, uri
            client.open(uri, "x = (")
            for method in METHODS[:4]:
                assert "result" in await client.ask(f"textDocument/{method}", place), uri
            for method in WHOLE:
                assert "result" in await client.ask(f"textDocument/{method}", about), uri
            client.notify("textDocument/didClose", about)
            assert client.server.documents == {}, uri

    run_session("utf-16", play)


def test_the_order_of_a_session() -> None:
    async def play(client: StrictClient) -> None:
        assert (await client.ask("textDocument/hover", PLACE))["error"]["code"] == -32002
        client.open(URI, PROGRAM)
        client.notify("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        assert client.server.documents == {}
        await client.start()
        again = {"processId": None, "rootUri": None, "capabilities": {}}
        assert (await client.ask("initialize", again))["error"]["code"] == -32600
        document = {"uri": URI, "version": 3}
        params = {"textDocument": document, "contentChanges": [{"text": "x = 1"}]}
        client.notify("textDocument/didChange", params)
        assert client.server.documents == {}
        client.open(URI, "x = 1\n")
        client.open(URI, PROGRAM)
        assert client.server.documents[URI].text == PROGRAM
        assert (await client.ask("shutdown", None))["result"] is None
        assert (await client.ask("textDocument/hover", PLACE))["error"]["code"] == -32600
        assert (await client.ask("shutdown", None))["error"]["code"] == -32600
        with pytest.raises(SystemExit) as ended:
            client.notify("exit", None)
        assert ended.value.code == 0

    run_session("utf-16", play, starts=False)


# ── headers ──────────────────────────────────────────────────────────────────────────────────────


def read_all(data: bytes) -> list[bytes]:
    """Return the bodies in a stream that has these bytes."""

    async def read() -> list[bytes]:
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        return [body async for body in read_messages(reader)]

    coroutine: Coroutine[Any, Any, list[bytes]] = read()
    return asyncio.run(coroutine)


LAST = b"Content-Length: 4\r\n\r\nlast"


@pytest.mark.parametrize(
    ("data", "bodies"),
    [
        (b"Content-Length: 2\r\n\r\n{}", [b"{}"]),
        (b"content-length: 2\r\n\r\n{}", [b"{}"]),
        (b"CONTENT-LENGTH:2\r\n\r\n{}", [b"{}"]),
        (b"Content-Length: 2\n\n{}", [b"{}"]),
        (
            b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}",
            [b"{}"],
        ),
        (b"Content-Length: 2\r\nContent-Type: x\r\n\r\n{}", [b"{}"]),
        (b"\r\n\r\nContent-Length: 2\r\n\r\n{}", [b"{}"]),
        (b"Content-Length: 0\r\n\r\n", [b""]),
        (b"Content-Length: 6\r\n\r\n\r\n\r\n{}", [b"\r\n\r\n{}"]),
        (b"Content-Length: x\r\n\r\n", []),
        (b"Content-Length: -1\r\n\r\n", []),
        (b"Content-Length: 999999999999\r\n\r\n", []),
        (b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", []),
        (b"{}", []),
        (b"{}\r\n\r\n", []),
        (b"x" * 200_000 + b"\r\n", []),
        (b"\0\xff\r\n", []),
    ],
)
def test_headers(data: bytes, bodies: list[bytes]) -> None:
    """What belongs to no message is passed over: the next message is read."""
    assert read_all(data + LAST) == [*bodies, b"last"]


@pytest.mark.parametrize("data", [LAST[:n] for n in range(1, len(LAST))])
def test_a_stream_that_ends_within_a_message(data: bytes) -> None:
    assert read_all(data) == []
