"""Parse bytes into a syntax tree, if the file may contain blocks.

    SourceFile  ->  Module(source, tree, candidates)    or    Diagnostic NJ001, NJ002

`candidates` are the lines that may open a natural block; every later stage looks only at suites
that contain one. A file without the bytes of a marker is not parsed.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from bisect import bisect_left
from types import CodeType

from njc.compiler.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.compiler.frontend.source import SourceDecodeError, SourceFile
from njrt.data.records import record

_MARKER = r"""(?:\"{3}|'{3})[ \t\f\\\r\n]*(?:natural|prompt)\b"""
_MARKER_BYTES = re.compile(_MARKER.encode(), re.IGNORECASE)
_MODE_OPTION = re.compile(rb"(?:(?:natural|prompt)[ \t]*\(|#[ \t]*njc:)[^\r\n]*\bmode\b")
_MARKER_TEXT = re.compile(_MARKER, re.IGNORECASE)


@record
class Module:
    """A parsed file; `candidates` are the numbers of the lines that may open a block, ascending."""

    source: SourceFile
    tree: ast.Module
    candidates: tuple[int, ...]

    def can_open_block(self, first: int, last: int | None) -> bool:
        """Return whether a natural block could open on one of the lines `first` to `last`."""
        following = bisect_left(self.candidates, first)
        return following < len(self.candidates) and self.candidates[following] <= (last or first)


def can_hold_blocks(data: bytes) -> bool:
    """Return whether bytes are UTF-16 or contain a possible or near opening of a natural block."""
    return _MARKER_BYTES.search(data) is not None or b"\0" in data


def can_set_mode(data: bytes) -> bool:
    """Return whether the bytes may contain the option `mode`, on a block or in a file comment."""
    return _MODE_OPTION.search(data) is not None


def can_be_static(data: bytes, mode: str | None) -> bool:
    """Return whether a file may have static blocks, in a project of this mode."""
    return mode not in (None, "live") or can_set_mode(data)


def parse(source: SourceFile) -> Module | Diagnostic:
    """Parse a file, or return a diagnostic if it is not Python."""
    try:
        text = source.text
    except SourceDecodeError as error:
        hint = "save the file as UTF-8, or correct its coding comment"
        at = (error.line, 1, error.line, 2)
        return Diagnostic(source.path, *at, "NJ002", "error", str(error), hint)
    if (nul := text.find("\0")) >= 0:
        hint = "remove it, or save the file as UTF-8 if it is UTF-16"
        return make_diagnostic(source, "NJ001", nul, nul + 1, "not Python: a null character", hint)
    try:
        tree = parse_quietly(text)
    except SyntaxError as error:
        return make_syntax_diagnostic(source, error)
    except (ValueError, RecursionError, MemoryError) as error:
        return make_diagnostic(source, "NJ001", 0, 1, f"not Python: {error}")
    openings = (source.place(opening.start()) for opening in _MARKER_TEXT.finditer(text))
    return Module(source, tree, tuple(dict.fromkeys(line for line, _ in openings)))


def parse_quietly(text: str) -> ast.Module:
    """Parse Python code without the warnings that Python gives when the program is compiled."""
    with warnings.catch_warnings(action="ignore"):
        return ast.parse(text)


def compile_tree(tree: ast.Module, file: str, flags: int = 0) -> CodeType:
    """Compile a tree as deep as Python compiles text; before 3.12, trees have a lower limit."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(3 * limit)
    try:
        code: CodeType = compile(tree, file, "exec", flags, dont_inherit=True)
        return code
    finally:
        sys.setrecursionlimit(limit)


def find_compile_error(program: ast.Module, *, is_cell: bool = False) -> SyntaxError | None:
    """Return the error of compiling a tree, such as a stray `return`.

    In a notebook cell, `await` is allowed outside functions.
    """
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if is_cell else 0
    with warnings.catch_warnings(action="ignore"):
        try:
            compile_tree(program, "<source>", flags)
        except SyntaxError as error:
            return error
        except (ValueError, RecursionError, MemoryError, SystemError) as error:
            return SyntaxError(str(error))
    return None


def make_syntax_diagnostic(
    source: SourceFile, error: SyntaxError, *, counts_bytes: bool = False
) -> Diagnostic:
    """Return a diagnostic for a syntax error; only the compiler counts columns in bytes."""
    line = min(max(error.lineno or 1, 1), len(source.line_starts))
    text = source.line(line).rstrip("\r\n")

    def column_of(offset: int | None) -> int:
        offset = max(offset or 1, 1)
        if counts_bytes:
            offset = len(text.encode()[: offset - 1].decode(errors="ignore")) + 1
        return min(offset, len(text) + 1)

    column = column_of(error.offset)
    end = column_of(error.end_offset) if error.end_lineno == error.lineno else 0
    message = f"not Python: {error.msg}"
    end_column = max(end, column + 1)
    return Diagnostic(source.path, line, column, line, end_column, "NJ001", "error", message)
