"""Reading text that is not Python yet, because it is being typed.

        if ticket.                      ->      0
        '''natural                              '''natural
        Put <tic                                Put <tic'''

Lines that stop the parser are blanked, and a prompt without an end is closed at the end of its line; offsets before stay
as they are. Not seen: the names on the lines that are blanked.
"""

from __future__ import annotations

import re

from njc.frontend.diagnostics import Diagnostic
from njc.frontend.markers import OPENING
from njc.frontend.parse import Module, parse
from njc.frontend.source import SourceFile

MAX_BLANKED_LINES = 12
"""Lines that are blanked before the text is given up."""

_HEADER_LINE = re.compile(r"expected an indented block after .* on line (\d+)")


def recover(source: SourceFile, offset: int | None = None) -> Module | None:
    """Parse a text, or what is left of it without the lines that are not Python.

    `offset` is the place where the text is edited: a prompt may be open there.
    """
    closed = _close_prompt(source, offset) if offset is not None else None
    texts = [source] if closed is None else [source, closed]
    for text in texts:
        if isinstance(module := parse(text), Module):
            return module
    return next(filter(None, map(_parse_without_errors, reversed(texts))), None)


def find_open_prompt(text: str, offset: int) -> re.Match[str] | None:
    """Return the opening of the prompt whose quotes have not closed before an offset."""
    openings = list(OPENING.finditer(text, 0, offset))
    is_open = openings and openings[-1]["quotes"] not in text[openings[-1].end() : offset]
    return openings[-1] if is_open else None


def _close_prompt(source: SourceFile, offset: int) -> SourceFile | None:
    """Close the prompt that is open at an offset at the end of the line, if one is."""
    opening = find_open_prompt(source.text, offset)
    if opening is None:
        return None
    line, _ = source.place(offset)
    end = source.line_starts[line - 1] + len(source.line(line).rstrip("\r\n"))
    text = source.text[:end] + opening["quotes"] + source.text[end:]
    return SourceFile(source.path, text.encode(), "utf-8")


def _parse_without_errors(source: SourceFile) -> Module | None:
    """Parse a text, and blank what stops the parser until nothing does."""
    blanked: dict[int, int] = {}
    for _ in range(MAX_BLANKED_LINES):
        found = parse(source)
        if isinstance(found, Module):
            return found
        line = _choose_line(source, found, blanked)
        if line is None:
            return None
        blanked[line] = blanked.get(line, 0) + 1
        source = _blank_line(source, line, keeps_statement=blanked[line] == 1)
    return None


def _choose_line(source: SourceFile, error: Diagnostic, blanked: dict[int, int]) -> int | None:
    """Return the line to blank: that of the error, or one above where that is blank already."""
    if header := _HEADER_LINE.search(error.message):
        return int(header[1])
    line = error.line
    while line >= 1 and (blanked.get(line, 0) > 1 or not source.line(line).strip()):
        line -= 1
    return line or None


def _blank_line(source: SourceFile, number: int, *, keeps_statement: bool) -> SourceFile:
    """Replace a line by the statement `0` at its indentation, or by blanks."""
    line = source.line(number)
    content = line.rstrip("\r\n")
    indent = content[: len(content) - len(content.lstrip())]
    statement = "0" if keeps_statement and content.strip() else ""
    blank = indent + statement + " " * (len(content) - len(indent) - len(statement))
    start = source.line_starts[number - 1]
    text = source.text[:start] + blank + line[len(content) :] + source.text[start + len(line) :]
    return SourceFile(source.path, text.encode(), "utf-8")
