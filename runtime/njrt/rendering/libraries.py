"""Writes numpy arrays and pandas tables on one line; imports neither.

    array([[1., 2.], [3., 4.]])     [[1.0, 2.0], [3.0, 4.0]]
    DataFrame(...)                  {'city' (str): ['Rome', 'Oslo'], 'people' (float64): [2.8, 0.7]}

An object of such a class can only exist when its library has been imported, so it is found there.
Only the first few items are ever read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from njrt.rendering.writer import FEW_ITEMS, MOST_ITEMS, Pen, TooLong, Writer
from njrt.values.introspection import class_name, module_name

LABEL_CHARS = 40


def foreign_kind(cls: type) -> str:
    """Say which of the known classes `cls` is, such as `numpy.ndarray`; an empty string for another.

    A class that merely claims that name is not taken for it.
    """
    name = class_name(cls)
    if name not in _NAMES:
        return ""
    library = module_name(cls).partition(".")[0]
    known = getattr(sys.modules.get(library), name, None)
    kind = f"{library}.{name}"
    return kind if known is cls and kind in WRITERS else ""


def foreign_writer(cls: type) -> Writer | None:
    """Find who writes instances of `cls`, if it is one of the known classes."""
    kind = foreign_kind(cls)
    return WRITERS[kind] if kind else None


def _array(pen: Pen, value: Any, room: int, exact: bool) -> str:
    if value.size * 3 <= room:
        return pen.inside(value.tolist(), room, exact)
    if exact:
        raise TooLong
    row = value
    while row.ndim > 1:
        row = row[0]
    text: str = pen.inside(row[:MOST_ITEMS].tolist(), room - 2 * value.ndim - 8, False)
    brackets: int = value.ndim - 1
    text = text if row.size <= MOST_ITEMS or text.endswith("...]") else f"{text[:-1]}, ...]"
    return "[" * brackets + text + (", ...]" if brackets else "") + "]" * (brackets - 1)


def _frame(pen: Pen, value: Any, room: int, exact: bool) -> str:
    rows, width = value.shape
    if exact and rows > MOST_ITEMS:
        raise TooLong

    def columns() -> Iterator[tuple[str, list[Any]]]:
        for at, dtype in enumerate(value.dtypes):
            label = f"{pen.brief(value.columns[at], LABEL_CHARS)} ({dtype}): "
            yield label, _head(value.iloc[:MOST_ITEMS, at].tolist(), rows)

    return pen.row("{", columns(), width, "}", room, exact)


def _series(pen: Pen, value: Any, room: int, exact: bool) -> str:
    if exact and len(value) > MOST_ITEMS:
        raise TooLong
    return pen.inside(_head(value.iloc[:MOST_ITEMS].tolist(), len(value)), room, exact)


def _head(items: list[Any], length: int) -> list[Any]:
    return items if len(items) == length else [*items[:FEW_ITEMS], ...]


WRITERS: dict[str, Writer] = {
    "numpy.ndarray": _array,
    "pandas.DataFrame": _frame,
    "pandas.Series": _series,
}
_NAMES = {kind.partition(".")[2] for kind in WRITERS}


def foreign_title(value: Any, kind: str) -> str:
    """Say what an instance of a known class is: `numpy.ndarray, shape (2, 2), dtype float64`."""
    match kind:
        case "numpy.ndarray":
            return f"{kind}, shape {value.shape}, dtype {value.dtype}"
        case "pandas.Series":
            return f"{kind}, {len(value):,} items, dtype {value.dtype}"
        case _:
            rows, width = value.shape
            return f"{kind}, {rows:,} rows, {width:,} columns"
