"""The lines of a program that an editor can fold, and the titles above blocks."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from njc.compiler.frontend.blocks import NaturalBlock
from njc.editors.lsp.texts.documents import Document
from njrt.data.records import record


def list_folds(document: Document) -> list[tuple[int, int]]:
    """Return the first and last line, from 0, of functions, classes and blocks that can be read."""
    folds = {fold for fold in _list_spans(document) if fold[1] > fold[0]}
    return sorted(folds)


def _list_spans(document: Document) -> Iterator[tuple[int, int]]:
    if (reading := document.reading) is None:
        return
    for node in ast.walk(reading.module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno - 1, (node.end_lineno or 0) - 1
    place = reading.module.source.place
    for block in reading.blocks:  # the closing quotes stay visible
        yield place(block.start)[0] - 1, place(block.end)[0] - 2


@record
class BlockLens:
    """A title above a block; clicks run the recording (`runs_recording`) or a function's cases."""

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
    """Return lenses. `costs` and `recorded` go by place (`mail.njpy:12`), `tested` by function."""
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
