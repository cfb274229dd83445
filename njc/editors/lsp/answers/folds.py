"""The lines of a program that an editor can fold, and the costs above blocks."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from njc.editors.lsp.texts.documents import Document


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


def list_lenses(document: Document, costs: Mapping[str, str]) -> list[tuple[int, str]]:
    """Return the offsets of blocks with the costs of their runs, by place (`mail.njpy:12`)."""
    reading = document.reading
    return [
        (block.start, cost)
        for block in (reading.blocks if reading is not None else ())
        if (cost := costs.get(f"{document.path}:{block.line}"))
    ]
