"""The parts of a program (functions, classes and natural blocks) for the outline and for folding.

class Mailbox                       class
  triage                            method
    natural: Put into <:topic> ...  block
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal

from njc.editors.language_server.answers.navigation import Span
from njc.editors.language_server.texts.documents import Document, Reading
from njc.editors.language_server.texts.name_collector import DEFINED_NAME
from njc.frontend.blocks import NaturalBlock
from njc.frontend.name_resolution import list_suites
from njrt.records import record
from njrt.rendering.writer import clip

PartKind = Literal["class", "function", "method", "block"]
MAX_TITLE = 60


@record
class ProgramPart:
    """A function, class or block: its title, its span, its name's span, and its parts."""

    title: str
    kind: PartKind
    span: Span
    name_span: Span
    detail: str = ""
    parts: tuple[ProgramPart, ...] = ()


def list_parts(document: Document) -> tuple[ProgramPart, ...]:
    """Return the outline of a text, as far as the text can be read."""
    reading = document.reading
    if reading is None:
        return ()
    return tuple(_list_parts_in(reading, reading.module.tree.body, in_class=False))


def _list_parts_in(
    reading: Reading, body: Sequence[ast.stmt], *, in_class: bool
) -> Iterator[ProgramPart]:
    blocks = {block.start: block for block in reading.blocks}
    source = reading.module.source
    waiting = [*reversed(body)]
    while waiting:
        statement = waiting.pop()
        start = source.get_offset(statement.lineno, statement.col_offset)
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                is_class = isinstance(statement, ast.ClassDef)
                end = source.get_offset(statement.end_lineno or 0, statement.end_col_offset or 0)
                written = DEFINED_NAME.match(source.text, start, end)
                name_span = written.span("name") if written else (start, start)
                kind: PartKind = "class" if is_class else "method" if in_class else "function"
                inner = tuple(_list_parts_in(reading, statement.body, in_class=is_class))
                yield ProgramPart(statement.name, kind, (start, end), name_span, "", inner)
            case ast.Expr() if start in blocks:
                yield _make_block_part(blocks[start])
            case _:
                for suite in reversed(list(list_suites(statement))):
                    waiting += reversed(suite)


def _make_block_part(block: NaturalBlock) -> ProgramPart:
    title = clip(" ".join(block.prompt.split()), MAX_TITLE)
    detail = ", ".join(f"<:{path}>" for path in block.writes)
    head = (block.start, block.start + len(block.literal.split(None, 1)[0]))
    return ProgramPart(title or "natural", "block", (block.start, block.end), head, detail)


def list_folds(document: Document) -> list[tuple[int, int]]:
    """Return the first and last line, from 0, of each part with several lines; the closing quotes stay visible."""
    folds: list[tuple[int, int]] = []
    waiting = [*list_parts(document)]
    place = document.reading.module.source.place if document.reading else None
    while waiting and place is not None:
        part = waiting.pop()
        waiting += part.parts
        first, last = place(part.span[0])[0] - 1, place(part.span[1])[0] - 1
        last -= part.kind == "block"
        if last > first:
            folds.append((first, last))
    return sorted(set(folds))


@record
class BlockLens:
    """A title above a block; a click runs the program on its recording (`runs_recording`) or a function's cases."""

    block: NaturalBlock
    title: str
    runs_recording: bool = False
    cases_of: str = ""
    """The function to run the cases of."""


def list_lenses(
    document: Document,
    costs: Mapping[str, str],
    recorded: Collection[str],
    tested: Collection[str] = (),
) -> list[BlockLens]:
    """Return the lenses. `costs` and `recorded` go by places such as `mail.njpy:12`, `tested` by functions."""
    reading = document.reading
    lenses: list[BlockLens] = []
    for block in reading.blocks if reading is not None else ():
        place = f"{document.path}:{block.line}"
        if place in recorded:
            lenses.append(BlockLens(block, "run on the recording", True))
        scope = block.scope
        is_top = scope.parent is not None and scope.parent.kind == "module"
        if is_top and scope.is_function and scope.name in tested:
            lenses.append(BlockLens(block, "run cases", cases_of=scope.name))
        if cost := costs.get(place):
            lenses.append(BlockLens(block, cost))
    return lenses
