"""The `.njpy` file's line for each line of the compiled file.

    1=1 3:1 14=12 16:12 21=12 30:15

    3:1      from compiled line 3 on, lines 1, 2, 3 ... of the source
    14=12    from compiled line 14 on, every line belongs to the block at line 12

The map is stored in a compiled file's last comment.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

from njc.compiler.codegen.header import read_line_map_text
from njrt.data.records import record

_SEGMENT = re.compile(r"(\d+)([:=])(\d+)")
_NEWLINES = re.compile(r"\r\n|\n|\r")


@record
class Segment:
    """From line `compiled` on, the source's lines from `source` on, or always line `source`."""

    compiled: int
    source: int
    running: bool


@record
class LineMap:
    """A compiled file's segments in order, starting at line 1."""

    segments: tuple[Segment, ...] = (Segment(1, 1, True),)

    def find_source_line(self, compiled: int) -> int:
        """Return the source line for a line of the compiled file."""
        return self.locate(compiled)[0]

    def locate(self, compiled: int) -> tuple[int, bool]:
        """Return the source line, and whether the line is the author's own."""
        index = bisect_right(self.segments, compiled, key=lambda segment: segment.compiled) - 1
        segment = self.segments[max(index, 0)]
        if segment.running:
            return segment.source + compiled - segment.compiled, True
        return segment.source, False

    def __str__(self) -> str:
        return " ".join(
            f"{segment.compiled}{':' if segment.running else '='}{segment.source}"
            for segment in self.segments
        )


@record
class Piece:
    """A piece of compiled text: the author's from `line` on, or scaffold that belongs to `line`."""

    text: str
    line: int
    is_authors: bool


def build_line_map(pieces: Iterable[Piece]) -> LineMap:
    """Map each line by the piece that contains its first character."""
    segments: list[Segment] = []
    compiled, at_line_start = 1, True
    for piece in pieces:
        breaks = len(_NEWLINES.findall(piece.text))
        begins = compiled if at_line_start else compiled + 1
        ends_line = piece.text.endswith(("\n", "\r"))
        if piece.text and (at_line_start or breaks > ends_line):
            source = piece.line + (piece.is_authors and not at_line_start)
            _append_segment(segments, Segment(begins, source, piece.is_authors))
        compiled += breaks
        at_line_start = ends_line if piece.text else at_line_start
    return LineMap(tuple(segments) or LineMap().segments)


def _append_segment(segments: list[Segment], new: Segment) -> None:
    """Add a segment unless the last one covers it."""
    if segments and segments[-1].running == new.running:
        last = segments[-1]
        if last.source + (new.compiled - last.compiled) * new.running == new.source:
            return
    segments.append(new)


def parse_line_map(compiled: bytes) -> LineMap | None:
    """Read the line map of a compiled file; None if it has no map."""
    lines = read_line_map_text(compiled)
    if not lines:
        return None
    marks = _SEGMENT.findall(lines)
    return LineMap(tuple(Segment(int(at), int(line), mark == ":") for at, mark, line in marks))


def remap_tree(
    tree: ast.Module, line_map: LineMap, spans: Iterable[tuple[int, int, int]]
) -> ast.Module:
    """Change the lines of a compiled file's tree, in place, to lines of the source.

    Columns on the author's lines do not change. Generated nodes of a block get the span of its
    marker instead: `spans` are the line, the first and the last column (from 0) of each block, and
    of the statements after it on its last line.
    """
    markers = {line: (first, last) for line, first, last in spans}
    located: list[Any] = [node for node in ast.walk(tree) if hasattr(node, "lineno")]
    for node in located:
        line, is_authors = line_map.locate(node.lineno)
        end_line, ends_authors = line_map.locate(node.end_lineno or node.lineno)
        first, last = markers.get(line, (0, 0))
        if not is_authors:
            node.lineno, node.col_offset = line, first
        else:
            node.lineno = line
        if not ends_authors or end_line < line:
            end_line = max(end_line, line)
            node.end_col_offset = last if end_line == line else markers.get(end_line, (0, 0))[1]
        node.end_lineno = end_line
        if end_line == line and (node.end_col_offset or 0) < node.col_offset:
            node.end_col_offset = node.col_offset
    return tree
