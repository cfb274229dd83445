"""Writing numpy arrays and pandas tables on one line, without importing either.

    array([[1., 2.], [3., 4.]])     [[1.0, 2.0], [3.0, 4.0]]
    DataFrame(...)                  {'city' (str): ['Rome', 'Oslo'], 'people' (float64): [2.8, 0.7]}

An object of such a class can only exist when its library has been imported, so it is found there.
Only the first few items are ever read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from njrt.rendering.writer import (
    MAX_SHOWN_ITEMS,
    MIN_SHOWN_ITEMS,
    DoesNotFit,
    ValueWriter,
    WriteFunction,
)
from njrt.values.introspection import get_class_name, get_module_name

MAX_LABEL_CHARS = 40


def find_library_kind(cls: type) -> str:
    """Name the known class that `cls` is, such as `numpy.ndarray`; an empty string for another.

    A class that only has that name does not count.
    """
    name = get_class_name(cls)
    if name not in _CLASS_NAMES:
        return ""
    library = get_module_name(cls).partition(".")[0]
    known = getattr(sys.modules.get(library), name, None)
    kind = f"{library}.{name}"
    return kind if known is cls and kind in LIBRARY_WRITERS else ""


def find_library_function(cls: type) -> WriteFunction | None:
    """Find the function that writes instances of `cls`, if it is one of the known classes."""
    kind = find_library_kind(cls)
    return LIBRARY_WRITERS[kind] if kind else None


def _write_ndarray(writer: ValueWriter, value: Any, room: int, exact: bool) -> str:
    if value.size * 3 <= room:
        return writer.write_part(value.tolist(), room, exact)
    if exact:
        raise DoesNotFit
    row = value
    while row.ndim > 1:
        row = row[0]
    text: str = writer.write_part(row[:MAX_SHOWN_ITEMS].tolist(), room - 2 * value.ndim - 8, False)
    brackets: int = value.ndim - 1
    text = text if row.size <= MAX_SHOWN_ITEMS or text.endswith("...]") else f"{text[:-1]}, ...]"
    return "[" * brackets + text + (", ...]" if brackets else "") + "]" * (brackets - 1)


def _write_dataframe(writer: ValueWriter, value: Any, room: int, exact: bool) -> str:
    rows, width = value.shape
    if exact and rows > MAX_SHOWN_ITEMS:
        raise DoesNotFit

    def columns() -> Iterator[tuple[str, list[Any]]]:
        for at, dtype in enumerate(value.dtypes):
            label = f"{writer.write_brief(value.columns[at], MAX_LABEL_CHARS)} ({dtype}): "
            yield label, _shorten_items(value.iloc[:MAX_SHOWN_ITEMS, at].tolist(), rows)

    return writer.write_row("{", columns(), width, "}", room, exact)


def _write_series(writer: ValueWriter, value: Any, room: int, exact: bool) -> str:
    if exact and len(value) > MAX_SHOWN_ITEMS:
        raise DoesNotFit
    return writer.write_part(
        _shorten_items(value.iloc[:MAX_SHOWN_ITEMS].tolist(), len(value)), room, exact
    )


def _shorten_items(items: list[Any], length: int) -> list[Any]:
    return items if len(items) == length else [*items[:MIN_SHOWN_ITEMS], ...]


LIBRARY_WRITERS: dict[str, WriteFunction] = {
    "numpy.ndarray": _write_ndarray,
    "pandas.DataFrame": _write_dataframe,
    "pandas.Series": _write_series,
}
_CLASS_NAMES = {kind.partition(".")[2] for kind in LIBRARY_WRITERS}


def format_library_title(value: Any, kind: str) -> str:
    """The type and size of an instance of a known class: `numpy.ndarray, shape (2, 2), dtype float64`."""
    match kind:
        case "numpy.ndarray":
            return f"{kind}, shape {value.shape}, dtype {value.dtype}"
        case "pandas.Series":
            return f"{kind}, {len(value):,} items, dtype {value.dtype}"
        case _:
            rows, width = value.shape
            return f"{kind}, {rows:,} rows, {width:,} columns"
