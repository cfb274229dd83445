"""The fenced blocks of a document, and what a test does with each of them.

    ```python                          run, all of a page in one namespace; natural blocks are compiled first
    ```console                         run by the shell: `$ command`, then the output that is expected, if any
    ```toml, ```json, ```yaml          parsed

A comment in front of a fence says what else holds for it, and is not seen on the page:

    <!-- file: src/shop.njpy -->       written to that file of the page's folder; also Python is then not run
    <!-- output -->                    what the block before has printed (`...` stands for any text)
    <!-- exit 1 -->                    the exit status of the last command
    <!-- checked by tests/x.py -->     another test has it
    <!-- not run: REASON -->           no test has it
    <!-- python ... -->                the comment itself is a block, as are `<!-- console` and `<!-- file: NAME`
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
_DIRECTIVE = re.compile(
    r"<!-- (?:(?P<file>file: \S+)|(?P<output>output)|(?P<exit>exit \d+)|checked by (?P<test>\S+)"
    r"|not run: (?P<reason>[^\n]+)) -->\s*"
)
_HIDDEN = re.compile(r"<!-- (file: \S+|python|console)\n(.*)-->\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Fence:
    """One block of code. `line` is that of its first line of code, from 1."""

    path: Path
    line: int
    kind: str
    text: str
    file: str = ""
    is_output: bool = False
    exit_code: int = 0
    checked_by: str = ""
    reason: str = ""
    """Why no test runs it."""

    def __str__(self) -> str:
        page = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{page}:{self.line}"


def read_fences(path: Path) -> Iterator[Fence]:
    """Yield the blocks of a document, the hidden ones too, in their order."""
    note: re.Match[str] | None = None
    for token in MarkdownIt("commonmark").parse(path.read_text(encoding="utf-8")):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "html_block":
            hidden = _HIDDEN.fullmatch(token.content)
            if hidden is not None:
                kind, _, file = hidden[1].partition(": ")
                yield Fence(path, line + 1, kind, hidden[2], file)
            note = _DIRECTIVE.fullmatch(token.content)
        elif token.type in ("fence", "code_block"):
            found = note.groupdict() if note is not None else {}
            yield Fence(
                path,
                line + (token.type == "fence"),
                token.info.split()[0] if token.info else "",
                token.content,
                (found.get("file") or "").removeprefix("file: "),
                bool(found.get("output")),
                int((found.get("exit") or "exit 0").removeprefix("exit ")),
                found.get("test") or "",
                found.get("reason") or "",
            )
            note = None
        elif token.type.endswith("_open"):
            note = None
