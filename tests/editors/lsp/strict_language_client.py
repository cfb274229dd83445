"""A client in the process of its server that takes nothing but what the Language Server Protocol 3.17 allows.

It keeps the open texts itself, counts columns in its own way, and checks of every message that it is one, that it was
to be expected, and that each range of it lies in the text that it is about.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from lsprotocol import types as lsp
from lsprotocol.converters import get_converter

from njc.editors.lsp.serving.features import make_server

Message = dict[str, Any]
UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
HEAD = re.compile(rb"Content-Length: (\d+)\r\n(?:Content-Type: [^\r\n]+\r\n)?\r\n")
SECONDS = 90


def count_units(text: str, encoding: str) -> int:
    codec, size = UNITS[encoding]
    return len(text.encode(codec, "surrogatepass")) // size


def list_lines(text: str) -> list[str]:
    """Return the lines of a text, each with its end."""
    return re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z|\Z", text)


def make_place(text: str, offset: int, encoding: str) -> Message:
    """Return the position of an offset that is not within the end of a line."""
    for number, line in enumerate(list_lines(text)):
        if offset < len(line) or not line.endswith(("\n", "\r")):
            return {"line": number, "character": count_units(line[:offset], encoding)}
        offset -= len(line)
    raise AssertionError("the offset is behind the text")


def find_offset(text: str, place: Message, encoding: str) -> int:
    """Return the offset of a position; it must lie in the text, and between two characters."""
    lines = list_lines(text)
    assert 0 <= place["line"] < len(lines), f"{place} is not in the text"
    line = lines[place["line"]].rstrip("\r\n")
    before = sum(map(len, lines[: place["line"]]))
    for count in range(len(line) + 1):
        if count_units(line[:count], encoding) == place["character"]:
            return before + count
    raise AssertionError(f"{place} is not between two characters of {line!r}")


def find_ranges(value: Any) -> Iterator[Message]:
    """Yield the ranges in a message."""
    if isinstance(value, dict):
        if isinstance(value.get("start"), dict) and isinstance(value.get("end"), dict):
            yield value
        for inner in value.values():
            yield from find_ranges(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from find_ranges(inner)


class StrictClient:
    """A client and its server (state: the open texts, what the server has sent)."""

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        self.texts: dict[str, tuple[int, str]] = {}
        self.findings: dict[tuple[str, int | None], list[Message]] = {}
        self.responses: dict[Any, Message] = {}
        self.number = 0
        self.methods: dict[int, str] = {}
        self.converter = get_converter()
        self.server = make_server()
        self.server.protocol.set_writer(self)

    # ── what the server writes

    def close(self) -> None:
        pass

    def write(self, data: bytes) -> None:
        head = HEAD.match(data)
        assert head is not None, f"no header: {data[:80]!r}"
        body = data[head.end() :]
        assert len(body) == int(head[1])
        message = json.loads(body)
        assert message["jsonrpc"] == "2.0"
        if "method" in message:
            self._take_notification(message)
        else:
            assert message["id"] not in self.responses, "a request is answered twice"
            assert ("result" in message) != ("error" in message)
            self.responses[message["id"]] = message

    def _take_notification(self, message: Message) -> None:
        kind = lsp.METHOD_TO_TYPES[message["method"]][0]
        self.converter.structure(message, kind)
        if message["method"] == "textDocument/publishDiagnostics":
            params = message["params"]
            self.findings[params["uri"], params.get("version")] = params["diagnostics"]
            version, text = self.texts.get(params["uri"], (None, ""))
            if version is not None and params.get("version") == version:
                self.check_ranges(params["diagnostics"], text)

    # ── what the client sends

    def send(self, message: Any) -> None:
        protocol = self.server.protocol
        read = json.loads(json.dumps(message), object_hook=protocol.structure_message)
        protocol.handle_message(read)

    def notify(self, method: str, params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, params: Any) -> Message:
        """Return the response to a request."""
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return await self.wait(self.number)

    async def wait(self, number: Any) -> Message:
        async with asyncio.timeout(SECONDS):
            while number not in self.responses:
                await asyncio.sleep(0.001)
        return self.responses[number]

    async def start(self, capabilities: Message | None = None) -> Message:
        offered = {
            **(capabilities or {}),
            "general": {"positionEncodings": ["utf-7", self.encoding]},
        }
        params = {"processId": None, "rootUri": None, "capabilities": offered}
        response = await self.ask("initialize", params)
        assert response["result"]["capabilities"]["positionEncoding"] == self.encoding
        self.notify("initialized", {})
        return response

    def open(self, uri: str, text: str) -> None:
        self.texts[uri] = (1, text)
        document = {"uri": uri, "languageId": "njpy", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, uri: str, start: int, end: int, new: str) -> None:
        """Replace a part of an open text."""
        version, text = self.texts[uri]
        changed = text[:start] + new + text[end:]
        self.texts[uri] = (version + 1, changed)
        document = {"uri": uri, "version": version + 1}
        params = {"textDocument": document, "contentChanges": [{"text": changed}]}
        self.notify("textDocument/didChange", params)

    async def ask_at(self, method: str, uri: str, offset: int, **more: Any) -> Message:
        """Return the response to a request about a place in an open text; its ranges lie in that text."""
        text = self.texts[uri][1]
        place = {"textDocument": {"uri": uri}, "position": make_place(text, offset, self.encoding)}
        response = await self.ask(f"textDocument/{method}", {**place, **more})
        if "result" in response:
            kind: Any = lsp.METHOD_TO_TYPES[f"textDocument/{method}"][1]
            self.converter.structure(response, kind)
            self.check_ranges(response["result"], text)
        return response

    async def wait_for_findings(self, uri: str) -> list[Message]:
        """Return the findings of the newest version of a text."""
        version = self.texts[uri][0]
        async with asyncio.timeout(SECONDS):
            while (uri, version) not in self.findings:
                await asyncio.sleep(0.001)
        return self.findings[uri, version]

    # ── what is checked

    def check_ranges(self, value: Any, text: str) -> None:
        for found in find_ranges(value):
            start, end = self.read_range(found, text)
            assert start <= end, found

    def read_range(self, found: Message, text: str) -> tuple[int, int]:
        return (
            find_offset(text, found["start"], self.encoding),
            find_offset(text, found["end"], self.encoding),
        )

    def apply(self, edits: list[Message], text: str) -> str:
        """Return the text with the edits of a response, which may not overlap."""
        spans = sorted((*self.read_range(edit["range"], text), edit["newText"]) for edit in edits)
        for (_, end, _), (start, _, _) in pairwise(spans):
            assert end <= start, "edits overlap"
        for start, end, new in reversed(spans):
            text = text[:start] + new + text[end:]
        return text
