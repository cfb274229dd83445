"""A reply that is coming in as text to be shown, and which lines of it are new.

read_streamed_text('{"code": "total = 3\\nprint(to')      "total = 3\\nprint(to"

lines = StreamedLines()
lines.take(ReplyStreamed(1, "mail.njpy:12", 1, "total = 3\\nprint(to"))      ["total = 3"]
lines.finish()                                                               ["print(to"]
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from pydantic_core import from_json

from njc.runs.debug.stop_report import clean_text
from njc.runs.timeline.happenings import ReplyStreamed

_CODE_FIELDS = ("code", "expression", "expr")
"""The arguments of tool calls that are code."""


def read_streamed_text(text: str) -> str:
    """Return the text of a reply so far; of tool calls, which come as JSON, their code."""
    return clean_text("\n".join(_read_parts(text)))


def _read_parts(text: str) -> Iterator[str]:
    decoder, start = json.JSONDecoder(strict=False), 0
    while start < len(text):
        if text[start] != "{":
            end = text.find("\n{", start)
            yield text[start : end if end >= 0 else len(text)]
            start = end + 1 if end >= 0 else len(text)
            continue
        try:
            arguments, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):  # it has not come whole
            yield _read_code(_read_beginning(text[start:]), text[start:])
            return
        yield _read_code(arguments, text[start:end])
        start = end + (text[end : end + 1] == "\n")


def _read_beginning(text: str) -> object:
    try:
        return from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return None


def _read_code(arguments: object, text: str) -> str:
    if isinstance(arguments, dict):
        for name in _CODE_FIELDS:
            if isinstance(code := arguments.get(name), str):
                return code
    return text


class StreamedLines:
    """Gives each line of a reply once, when it has come whole (state: the reply, the lines that were given)."""

    def __init__(self) -> None:
        self._reply: tuple[int, int] | None = None
        self._lines: list[str] = []
        self._given = 0

    def take(self, streamed: ReplyStreamed) -> list[str]:
        """Return the lines that are new; those of another reply begin with a line that names its block."""
        found = []
        reply = streamed.run, streamed.turn
        lines = read_streamed_text(streamed.text).split("\n")
        if reply != self._reply:
            found = [*self.finish(), f"{streamed.place}, turn {streamed.turn}:"]
        elif lines[: self._given] != self._lines[: self._given]:  # asked again
            self._given = 0
        self._reply, self._lines = reply, lines
        found += lines[self._given : -1]
        self._given = max(self._given, len(lines) - 1)
        return found

    def finish(self) -> list[str]:
        """Return the last line, for the reply has come whole."""
        rest = [line for line in self._lines[self._given :] if line]
        self._reply, self._lines, self._given = None, [], 0
        return rest
