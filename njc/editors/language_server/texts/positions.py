"""Places in a text: offsets in characters here, lines and columns in the units of the client there.

    LineIndex("é = '😀'\\n").get_position(6, "utf-16")       (0, 7)
    LineIndex("é = '😀'\\n").get_offset(0, 7, "utf-16")      6

Lines end at `\\n`, `\\r\\n` and `\\r`, as the Language Server Protocol 3.17 has it. A place behind the end of its line, or
within `\\r\\n`, is the end of the line, and one inside of a character is the start of the character.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from njc.frontend.source import find_line_starts

PositionEncoding = Literal["utf-8", "utf-16", "utf-32"]
"""The units of columns: bytes of UTF-8, halves of UTF-16, or characters."""


@dataclass(frozen=True)
class LineIndex:
    """A text and where its lines start."""

    text: str
    mark: str = ""
    """What stands before the text in the first line of the client: columns count it, offsets do not."""

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The offset at which each line starts."""
        return find_line_starts(self.text)

    def get_line(self, number: int) -> str:
        """Return the text of a line, numbered from 0, without its line end."""
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[number] : end].rstrip("\r\n")

    def get_offset(self, line: int, column: int, encoding: PositionEncoding) -> int:
        """Return the offset of a place; places before the text are its start, places behind it its end."""
        if line < 0:
            return 0
        if line >= len(self.starts):
            return len(self.text)
        if line == 0:
            column -= count_units(self.mark, encoding)
        content = self.get_line(line)
        return self.starts[line] + _count_characters(content, max(column, 0), encoding)

    def get_position(self, offset: int, encoding: PositionEncoding) -> tuple[int, int]:
        """Return the line and the column of an offset, both from 0."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self.starts, offset) - 1
        before = self.text[self.starts[line] : offset].rstrip("\r")
        return line, count_units(before if line else self.mark + before, encoding)


def count_units(text: str, encoding: PositionEncoding) -> int:
    """Return the length of a text in the units of an encoding."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(character > "\uffff" for character in text)


def _count_characters(line: str, units: int, encoding: PositionEncoding) -> int:
    """Return the number of whole characters in the first `units` units of a line."""
    if encoding == "utf-32" or line.isascii():
        return min(units, len(line))
    for count, character in enumerate(line):
        units -= count_units(character, encoding)
        if units < 0:
            return count
    return len(line)
