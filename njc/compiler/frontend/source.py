"""A source file as bytes, and what follows from the bytes alone.

    SourceFile("a.njpy", b"# coding: latin-1\\r\\nx = 1\\r\\n")
        .encoding   "iso-8859-1"
        .text       "# coding: latin-1\\r\\nx = 1\\r\\n"
        .newline    "\\r\\n"
        .place(19)  (2, 1)        line and column, both from 1, the column in characters

Lines end only at `\\n`, `\\r\\n` and `\\r`, as in Python's tokenizer; `str.splitlines` would also
split at form feeds and at U+2028, which may be inside a prompt.
"""

from __future__ import annotations

import ast
import codecs
import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import add

_NEWLINE = re.compile(r"\r\n|\n|\r")
_NEWLINE_BYTES = re.compile(_NEWLINE.pattern.encode())
_CODING_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+", re.ASCII)


class SourceDecodeError(Exception):
    """The bytes are not text in the encoding that they name; `line` is the first invalid line."""

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class SourceFile:
    """A `.njpy` file: its path as shown to users (relative, posix) and its bytes."""

    path: str
    data: bytes
    known_encoding: str | None = None
    """The encoding; by default, it is read from the bytes."""
    is_cell: bool = False
    """Whether the source is a notebook cell, where `await` is allowed outside functions."""

    @cached_property
    def bom(self) -> bytes:
        """The UTF-8 byte order mark, if the file has one."""
        return codecs.BOM_UTF8 if self.data.startswith(codecs.BOM_UTF8) else b""

    @cached_property
    def encoding(self) -> str:
        """The encoding's name, from the byte order mark or the coding cookie, or the default."""
        if self.known_encoding:
            return self.known_encoding
        lines = [line + b"\n" for line in _NEWLINE_BYTES.split(self.data, 2)[:2]]
        starts = (line.removeprefix(self.bom).decode("latin-1") for line in lines)
        if not any(map(_CODING_COOKIE.match, starts)):
            return "utf-8"
        try:  # from 3.14 on, null characters are rejected there; the parser reports their places
            name, _ = tokenize.detect_encoding(
                lambda: lines.pop(0).replace(b"\0", b" ") if lines else b""
            )
        except (SyntaxError, LookupError) as error:
            raise SourceDecodeError(str(error)) from error
        return "utf-8" if name == "utf-8-sig" else name

    @cached_property
    def text(self) -> str:
        """The file as text, without the byte order mark; encoding it again gives the same bytes."""
        content = self.data[len(self.bom) :]
        try:
            text = content.decode(self.encoding)
            if text.encode(self.encoding) != content:
                raise SourceDecodeError(f"{self.encoding} text does not encode to the same bytes")
        except UnicodeDecodeError as error:
            line = len(_NEWLINE_BYTES.findall(content, 0, error.start)) + 1
            message = f"not {self.encoding} text: byte 0x{content[error.start]:02x}, {error.reason}"
            raise SourceDecodeError(message, line) from error
        except (UnicodeError, LookupError) as error:
            raise SourceDecodeError(f"not {self.encoding} text: {error}") from error
        return text

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """Each line's offset in `text`."""
        return find_line_starts(self.text)

    @cached_property
    def newline(self) -> str:
        """The first line's end; `\\n` for a file with one line."""
        first = _NEWLINE_BYTES.search(self.data)
        return first.group().decode() if first else "\n"

    @cached_property
    def has_walrus(self) -> bool:
        """Whether an expression may bind a name by `:=`."""
        return ":=" in self.text

    @cached_property
    def _is_ascii(self) -> bool:
        return self.text.isascii()

    def line(self, number: int) -> str:
        """Return the text of a line, numbered from 1, with its line end."""
        start = self.line_starts[number - 1]
        end = self.line_starts[number] if number < len(self.line_starts) else len(self.text)
        return self.text[start:end]

    def get_offset(self, number: int, utf8_column: int) -> int:
        """Return the offset in `text` of a place from `ast`: columns count UTF-8 bytes from 0."""
        if not self._is_ascii and not (line := self.line(number)).isascii():
            utf8_column = len(line.encode()[:utf8_column].decode())
        return self.line_starts[number - 1] + utf8_column

    def get_span(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        """Return the offsets in `text` of a node's start and end, without decorators."""
        end = self.get_offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
        return self.get_offset(node.lineno, node.col_offset), end

    def place(self, offset: int) -> tuple[int, int]:
        """Return the line and the column, both from 1, of an offset in `text`."""
        number = bisect_right(self.line_starts, offset)
        return number, offset - self.line_starts[number - 1] + 1


def find_line_starts(text: str) -> tuple[int, ...]:
    """Return the offset of each line of a text."""
    if "\r" in text:
        return (0, *(newline.end() for newline in _NEWLINE.finditer(text)))
    # Editors call this at every change, so it avoids a loop.
    lengths = map(len, text.split("\n"))
    return (0, *map(add, accumulate(lengths), range(1, text.count("\n") + 1)))


def find_string_tokens(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of every string in a Python text, up to the first bad token."""
    line_starts = find_line_starts(text)
    text = _NEWLINE.sub("\n", text)
    starts: list[int] = []  # of f-strings, which are several tokens from Python 3.12 on
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            name = tokenize.tok_name[token.type]
            if "STRING" not in name:
                continue  # the last tokens may be after the last line
            start, end = (line_starts[line - 1] + at for line, at in (token.start, token.end))
            if name.endswith("STRING_START"):
                starts.append(start)
            elif name.endswith("STRING_END"):
                yield starts.pop(), end
            elif name == "STRING":
                yield start, end


def count_opening_lines(text: str) -> int:
    """Count the lines at a file's head that must stay first: the shebang and the coding cookie."""
    lines = [line for line, _ in zip(_NEWLINE.split(text), range(2), strict=False)]
    if len(lines) > 1 and _CODING_COOKIE.match(lines[1]) and not lines[0].split("#")[0].strip():
        return 2
    return int(lines[0].startswith("#!") or bool(_CODING_COOKIE.match(lines[0])))
