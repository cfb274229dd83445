"""The whole protocol against a strict client: places and random sessions in each encoding."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable

import pytest
from language_programs import PIECES, PROGRAMS
from strict_language_client import UNITS, StrictClient

from case_programs import read_program

STEPS = 25
URI = "untitled:mail.njpy"
PROGRAM = read_program("strict_language_client")
VARIANTS = {
    "as it is": PROGRAM,
    "CRLF": PROGRAM.replace("\n", "\r\n"),
    "CR": PROGRAM.replace("\n", "\r"),
    "form feeds": PROGRAM.replace("\n    return", "\n\f    return").replace("def add", "\fdef add"),
    "line separators": PROGRAM.replace("😀", "😀\u2028\x85\x0b"),
    "no last line end": PROGRAM.rstrip(),
    "coding": "# coding: utf-8\n" + PROGRAM,
}
ENCODINGS = sorted(UNITS)
METHODS = ("hover", "definition", "completion", "documentHighlight", "prepareRename")
WHOLE = ("foldingRange", "semanticTokens/full", "codeLens")


def run_session(encoding: str, play: Callable[[StrictClient], Awaitable[None]]) -> None:
    """Run a session to its end."""

    async def session() -> None:
        client = StrictClient(encoding)
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
    offset = text.index("<:total") + 3
    response = await client.ask_at("rename", uri, offset, newName="tail")
    changed = client.apply(response["result"]["changes"][uri], text)
    assert changed == text.replace("<:total", "<:tail").replace("[total,", "[tail,"), name
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
            assert document.text == text
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


def test_nothing_is_kept_of_messages_that_were_handled() -> None:
    async def play(client: StrictClient) -> None:
        client.open(URI, "x = 1\n")
        for _ in range(30):
            client.change(URI, 0, 0, "y")
            await client.ask_at("hover", URI, 0)
        await asyncio.sleep(0)
        assert client.server.protocol._request_futures == {}
        assert client.server.protocol._result_types == {}

    run_session("utf-16", play)
