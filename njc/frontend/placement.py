'''How a natural block stands among the lines around it, and whether it can be taken out of them.

    if x: """natural ...        on the line of its suite's header: the suite gets lines of its own
    a = 1; """natural ...       behind another statement: the block gets lines of its own
    if x: a = 1; """natural     both: refused, NJ101

The indentation is that of the suite, which is not always that of the block's line.
'''

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass

from njc.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.frontend.source import SourceFile

_BACKSLASH_BEFORE = re.compile(r"\\(?:\r\n|\n|\r)[ \t\f]*\Z")
_CASE = re.compile(r"[ \t\f]*case\b(?![ \t]*[.,|=)\]}])")
_BACKSLASH_AFTER = re.compile(r"[ \t\f;]*\\(?:\r\n|\n|\r)")


@dataclass(frozen=True, slots=True)
class Placement:
    """How the block stands among the lines around it."""

    indent: str
    """The indentation of the suite's statements; of the header, if the suite is on its line."""
    one_line: bool
    """The suite stands on the line of its header: `if x: \"\"\"natural...`."""
    after_semicolon: bool
    """Another statement stands before it on the line: `a = 1; \"\"\"natural...`."""


def find_placement(
    source: SourceFile, start: int, body: Sequence[ast.stmt], owner: ast.AST | None
) -> Placement:
    """Find out how the block that begins at `start` stands in the suite `body` of `owner`."""
    line_start = source.line_starts[source.place(start)[0] - 1]
    before = source.text[line_start:start]
    before_first = _get_text_before(source, body[0])
    one_line = bool(before_first.strip())
    indent = _get_header_indent(source, owner) if one_line else _get_indent(before_first)
    return Placement(indent, one_line, bool(before.strip()) and not one_line)


def check_placement(
    source: SourceFile, start: int, end: int, body: Sequence[ast.stmt]
) -> Diagnostic | None:
    """Say why the block between two offsets cannot be taken out of its lines, if so."""
    marked = (start, start + len('"""natural'))
    first = source.get_offset(body[0].lineno, body[0].col_offset)
    if _get_text_before(source, body[0]).strip() and first != start:
        message = "natural block after `;` in a one-line suite"
        hint = "put each statement of the suite on a line of its own, below the header"
        return make_diagnostic(source, "NJ101", *marked, message, hint)
    if _is_continued(source, start) or _BACKSLASH_AFTER.match(source.text, end):
        message = "natural block beside a backslash continuation"
        return make_diagnostic(source, "NJ102", *marked, message, "remove the backslash")
    return None


def _get_text_before(source: SourceFile, first: ast.stmt) -> str:
    """Return what stands before the first statement of a suite on its line; decorators are lines above."""
    line_start = source.line_starts[first.lineno - 1]
    return source.text[line_start : source.get_offset(first.lineno, first.col_offset)]


def _is_continued(source: SourceFile, start: int) -> bool:
    """Return whether a backslash, not one at the end of a comment, joins the line of `start` to the one above."""
    number = source.place(start)[0]
    if number == 1 or not _BACKSLASH_BEFORE.search(
        source.text, source.line_starts[number - 2], start
    ):
        return False
    return not any(
        token.type == tokenize.COMMENT and token.start[0] == number - 1
        for token in tokenize.generate_tokens(io.StringIO(source.text).readline)
    )


def _get_indent(line: str) -> str:
    """Return the blanks at the head of a line; a form feed starts the count again, as in the tokenizer."""
    return line[: len(line) - len(line.lstrip(" \t\f"))].rpartition("\f")[2]


def _get_header_indent(source: SourceFile, owner: ast.AST | None) -> str:
    """Return the indentation of the header of a one-line suite."""
    if isinstance(owner, ast.match_case):
        number = owner.pattern.lineno
        while number > 1 and not _CASE.match(source.line(number)):
            number -= 1
        return _get_indent(source.line(number))
    assert isinstance(owner, ast.stmt), "a module has no header"
    return _get_indent(source.line(owner.lineno))
