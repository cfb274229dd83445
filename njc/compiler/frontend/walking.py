"""Walks over the parts of a tree that are on some lines: the other parts can be skipped."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from njc.compiler.frontend.name_resolution import Definition, find_first_line, list_children


def is_on_lines(lines: Sequence[int], node: ast.AST) -> bool:
    """Return whether a node is on one of the lines; a node without a position always is."""
    place = get_line_span(node)
    if place is None:
        return True
    following = bisect_left(lines, place[0])
    return following < len(lines) and lines[following] <= place[1]


def walk_lines(code: ast.AST, lines: Sequence[int]) -> Iterator[tuple[ast.AST, bool]]:
    """Yield nodes on and around some lines, and whether each is in an inner function or class."""
    waiting: list[tuple[ast.AST, bool]] = [(code, False)]
    while waiting:
        node, nested = waiting.pop()
        yield node, nested
        nested = nested or (isinstance(node, Definition | ast.Lambda) and node is not code)
        waiting += [(child, nested) for child in list_children(node) if is_on_lines(lines, child)]


def get_line_span(node: ast.AST) -> tuple[int, int] | None:
    """Return a node's first and last line, including its decorators; None if it has no position."""
    first: int | None = getattr(node, "lineno", None)
    if first is None:
        return None
    last = getattr(node, "end_lineno", None) or first
    return find_first_line(node) if isinstance(node, Definition) else first, last
