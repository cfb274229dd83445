"""Places that a checker reports, as places in the source.

    mail.py:7:15    ->    the offset in the rendered text    ->    mail.njpy:9:20

Lines count from 1, columns from 0. pyright counts units of UTF-16; mypy counts bytes of UTF-8, which become
characters here. On lines that no block shares, the column is that of the checker.
"""

from __future__ import annotations

from typing import Literal

from njc.editors.type_check.rendering import RenderedSource
from njc.frontend.source import SourceFile

ColumnUnit = Literal["utf-8", "utf-16-le"]
Place = tuple[int, int]
"""A line, from 1, and a column, from 0."""


def find_source_place(
    file: RenderedSource, place: Place, unit: ColumnUnit, *, is_end: bool = False
) -> Place:
    """Find the place in the source of a place in the rendered text; `is_end` if a range ends before it."""
    rendered = file.rendered
    line = min(max(place[0], 1), len(rendered.line_starts))
    start = rendered.line_starts[line - 1]
    text = rendered.line(line).rstrip("\r\n")
    own_line, own_start = file.source.place(file.find_source_offset(start))
    if own_start == 1 and file.source.line(own_line).rstrip("\r\n") == text:
        return own_line, place[1]
    offsets = [start + length for length in _list_lengths(text, place[1], unit)]
    starting = [offset for offset in offsets if file.starts_piece(offset)]
    return make_place(
        file.source, file.find_source_offset((starting or offsets)[0], is_end=is_end), unit
    )


def find_source_line(file: RenderedSource, line: int) -> int:
    """Find the line of the source for a line of the rendered text."""
    return find_source_place(file, (line, 0), "utf-8")[0]


def make_place(source: SourceFile, offset: int, unit: ColumnUnit) -> Place:
    """Return the place of an offset in a file's text, in characters or in units of UTF-16."""
    line, column = source.place(offset)
    if unit == "utf-8":
        return line, column - 1
    return line, len(source.line(line)[: column - 1].encode(unit, "surrogatepass")) // 2


_WIDTHS = {"utf-8": 1, "utf-16-le": 2}


def _list_lengths(text: str, column: int, unit: ColumnUnit) -> list[int]:
    """What a column may be in characters: mypy 2.4 counts the characters of as many bytes as there are characters."""
    found = [_count_characters(text, max(column, 0) * _WIDTHS[unit], unit)]
    if unit == "utf-8" and not text.isascii():
        found += [n for n in range(len(text)) if _count_characters(text, n, unit) == column][:1]
    return found


def _count_characters(text: str, size: int, unit: ColumnUnit) -> int:
    return len(text.encode(unit, "surrogatepass")[:size].decode(unit, "ignore"))
