"""Write arrays, tables and database objects of well-known libraries, without importing them.

    array([[1., 2.], [3., 4.]])     [[1.0, 2.0], [3.0, 4.0]]
    DataFrame(...)                  {'city' (str): ['Rome', 'Oslo'], 'people' (float64): [2.8, 0.7]}
    Book.objects.filter(year=1999)  <QuerySet>

Only the first few items are read, and no query runs: the `__repr__` of a mapped object is not
called. Not detected: mapped objects that the `__repr__` of another object reads, and other mappers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from njrt.values.introspection import (
    find_member,
    get_class_name,
    get_module_name,
    get_mro,
)
from njrt.values.rendering.redaction import classify_name
from njrt.values.rendering.writer import (
    MAX_SHOWN_ITEMS,
    MIN_SHOWN_ITEMS,
    DoesNotFit,
    ValueWriter,
    WriteFunction,
)

MAX_LABEL_CHARS = 40


def find_library_kind(cls: type) -> str:
    """Return the name of `cls` if it is known, such as `numpy.ndarray`, else an empty string.

    A class that only has that name does not count.
    """
    name = get_class_name(cls)
    if name not in _CLASS_NAMES:
        return ""
    module = get_module_name(cls)
    library = module.partition(".")[0]
    for kind in (f"{library}.{name}", f"{module}.{name}"):
        home = sys.modules.get(kind.rpartition(".")[0])
        if kind in LIBRARY_WRITERS and getattr(home, name, None) is cls:
            return kind
    return ""


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
    most = _count_shown(writer, rows, room, exact)
    levels = [] if _has_default_index(value) else list(value.index.names)

    def columns() -> Iterator[tuple[str, list[Any]]]:
        for level, name in enumerate(levels):
            named = "" if name is None else f"{writer.write_brief(name, MAX_LABEL_CHARS)} "
            label = f"{named}(index): " if named else "index: "
            start = value.index[:most].get_level_values(level)
            yield label, _shorten_items(start.tolist(), rows)
        for at, dtype in enumerate(value.dtypes):
            label = f"{writer.write_brief(value.columns[at], MAX_LABEL_CHARS)} ({dtype}): "
            yield label, _shorten_items(value.iloc[:most, at].tolist(), rows)

    return writer.write_row("{", columns(), width + len(levels), "}", room, exact)


def _write_series(writer: ValueWriter, value: Any, room: int, exact: bool) -> str:
    start = value.iloc[: _count_shown(writer, len(value), room, exact)]
    items = _shorten_items(start.tolist(), len(value))

    def write() -> str:
        if _has_default_index(value) or any(classify_name(str(name)) for name in value.index.names):
            return writer.write_part(items, room, exact)
        pairs = writer.label_values(
            zip(start.index.tolist(), start.tolist(), strict=True), room, exact
        )
        return writer.write_row("{", pairs, len(value), "}", room, exact)

    return writer.redactor.write_named(str(value.name), items, write)


def _count_shown(writer: ValueWriter, rows: int, room: int, exact: bool) -> int:
    """Return how many rows are read; raise `DoesNotFit` if that is not all, as it must be."""
    most = room if writer.is_whole else MAX_SHOWN_ITEMS
    if exact and rows > most:
        raise DoesNotFit
    return most


def _has_default_index(value: Any) -> bool:
    """Return whether the index of a table or column only numbers its rows, and so is not shown."""
    index = value.index
    is_range = get_class_name(type(index)) == "RangeIndex"
    return is_range and index.name is None and index.start == 0 and index.step == 1


def _shorten_items(items: list[Any], length: int) -> list[Any]:
    return items if len(items) == length else [*items[:MIN_SHOWN_ITEMS], ...]


def _write_row(writer: ValueWriter, value: Any, room: int, exact: bool) -> str:
    """Write a row of SQLAlchemy or of `sqlite3`: its columns with their values."""
    names = value.keys() if find_library_kind(type(value)) == "sqlite3.Row" else value._fields
    parts = [(f"{name}=", item) for name, item in zip(names, value, strict=True)]
    return writer.write_row("Row(", parts, len(parts), ")", room, exact)


ORM_STATE = {"_state", "_sa_instance_state", "_prefetched_objects_cache"}
"""Attributes that hold internal state of Django and SQLAlchemy."""


def is_mapped_class(cls: type) -> bool:
    """Return whether a class is mapped by Django or SQLAlchemy, so its `repr` may run a query."""
    modules = map(get_module_name, get_mro(cls))
    is_lazy = any(module.startswith(("django.db.", "sqlalchemy.ext.")) for module in modules)
    return is_lazy or find_member(cls, "_sa_class_manager") is not None


LIBRARY_WRITERS: dict[str, WriteFunction] = {
    "numpy.ndarray": _write_ndarray,
    "pandas.DataFrame": _write_dataframe,
    "pandas.Series": _write_series,
    "sqlalchemy.engine.row.Row": _write_row,
    "sqlite3.Row": _write_row,
}
_CLASS_NAMES = {kind.rpartition(".")[2] for kind in LIBRARY_WRITERS}


def format_library_title(value: Any, kind: str) -> str:
    """Return the type and size of a known object: `numpy.ndarray, shape (2, 2), dtype float64`."""
    match kind:
        case "numpy.ndarray":
            return f"{kind}, shape {value.shape}, dtype {value.dtype}"
        case "pandas.Series":
            return f"{kind}, {len(value):,} items, dtype {value.dtype}"
        case "pandas.DataFrame":
            rows, width = value.shape
            return f"{kind}, {rows:,} rows, {width:,} columns"
        case _:
            return get_class_name(type(value))
