"""Render values as bounded text without running the program's code.

    render_value(Point(1, 2))        Point(x=1, y=2)    its own attributes; `__repr__` is not called
    render_value("x" * 1000, 10)     'xxxxxxxxx...

Values of Python's own types are rendered as Python writes them, so `ast.literal_eval` can read the
text of a whole value; set elements are sorted by their text. Not shown: values of properties, and
the state of iterators, views, slices, files and most other objects implemented in C.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from types import FunctionType, ModuleType
from typing import Any
from uuid import UUID

from njrt.values.introspection import get_class_name, get_mro, is_a, read_attributes

MAX_VALUE_CHARS = 400
MAX_DEPTH = 20
MAX_SORTED_SET = 256
CUT = "..."

Pieces = Iterator[str]
"""The text of a value, in pieces."""
WriteValue = Callable[[Any, int, tuple[int, ...]], Pieces]
"""Writes a value, given the character limit and the identities of the enclosing values."""


def render_value(value: object, limit: int = MAX_VALUE_CHARS) -> str:
    """Return a value as text of at most `limit` characters, plus a mark if it was cut."""
    text = _join_pieces(_write(value, limit, ()), limit)
    return text if len(text) <= limit else text[:limit] + CUT


def _join_pieces(pieces: Pieces, limit: int) -> str:
    """Return the text of the pieces, without producing more once it exceeds `limit` characters."""
    taken, length = [], 0
    for piece in pieces:
        taken.append(piece)
        length += len(piece)
        if length > limit:
            break
    return "".join(taken)


def _write(value: Any, limit: int, outer: tuple[int, ...]) -> Pieces:
    cls = type(value)
    if id(value) in outer or len(outer) == MAX_DEPTH:
        yield CUT
    elif write := _WRITERS.get(id(cls)) or _EXACT_WRITERS.get(id(cls)):
        yield from write(value, limit, (*outer, id(value)))
    elif is_a(value, type):
        yield f"<class {get_class_name(value)}>"
    else:
        yield from _write_object(value, limit, (*outer, id(value)))


def _write_object(value: Any, limit: int, outer: tuple[int, ...]) -> Pieces:
    """Yield an object of another class as its base type, or by its attributes."""
    cls = type(value)
    write = next((_WRITERS[id(base)] for base in get_mro(cls) if id(base) in _WRITERS), None)
    attributes = read_attributes(value)
    if write is not None:
        yield f"{get_class_name(cls)}("
        yield from write(value, limit, outer)
        yield ")"
    elif is_a(value, BaseException):
        yield get_class_name(cls)
        yield from _write_tuple(
            BaseException.__dict__["args"].__get__(value), limit, outer, single=""
        )
    elif is_a(value, Enum) and type(attributes.get("_name_")) is str:
        yield f"{get_class_name(cls)}.{attributes['_name_']}"
    elif attributes:
        yield f"{get_class_name(cls)}("
        fields = ((f"{name}=", held) for name, held in attributes.items())
        yield from _join(fields, limit, outer)
        yield ")"
    else:
        yield f"<{get_class_name(cls)}>"


def _join(parts: Iterable[tuple[str, Any]], limit: int, outer: tuple[int, ...]) -> Pieces:
    """Yield labelled values, with commas between them."""
    for number, (label, part) in enumerate(parts):
        yield (", " if number else "") + label
        yield from _write(part, limit, outer)


def _make_repr_writer(cls: Any) -> WriteValue:
    """Return a function that writes objects with the class's `__repr__`, even of subclasses."""

    def write(value: Any, limit: int, outer: tuple[int, ...]) -> Pieces:
        yield cls.__repr__(value)

    return write


def _write_int(value: int, limit: int, outer: tuple[int, ...]) -> Pieces:
    bits = int.bit_length(value)
    yield int.__repr__(value) if bits < 8192 else f"<int of {bits} bits>"


def _make_text_writer(cls: Any) -> WriteValue:
    def write(value: Any, limit: int, outer: tuple[int, ...]) -> Pieces:
        yield cls.__repr__(cls.__getitem__(value, slice(limit + 1)))

    return write


def _make_sequence_writer(cls: Any, opening: str = "[", closing: str = "]") -> WriteValue:
    def write(value: Any, limit: int, outer: tuple[int, ...]) -> Pieces:
        yield opening
        yield from _join((("", item) for item in cls.__iter__(value)), limit, outer)
        yield closing

    return write


def _write_tuple(
    value: tuple[Any, ...], limit: int, outer: tuple[int, ...], single: str = ","
) -> Pieces:
    yield "("
    yield from _join((("", item) for item in tuple.__iter__(value)), limit, outer)
    yield f"{single})" if tuple.__len__(value) == 1 else ")"


def _make_set_writer(cls: Any, opening: str, closing: str) -> WriteValue:
    def write(value: Any, limit: int, outer: tuple[int, ...]) -> Pieces:
        size = cls.__len__(value)
        if not size:
            yield f"{cls.__name__}()"
        elif size > MAX_SORTED_SET:
            yield f"<{cls.__name__} of {size} elements>"
        else:
            texts = sorted(
                _join_pieces(_write(item, limit, outer), limit) for item in cls.__iter__(value)
            )
            yield opening + ", ".join(texts) + closing

    return write


def _write_dict(value: dict[Any, Any], limit: int, outer: tuple[int, ...]) -> Pieces:
    yield "{"
    for number, (key, held) in enumerate(dict.items(value)):
        yield ", " if number else ""
        yield from _write(key, limit, outer)
        yield ": "
        yield from _write(held, limit, outer)
    yield "}"


def _write_default_dict(value: Any, limit: int, outer: tuple[int, ...]) -> Pieces:
    yield "defaultdict("
    factory = defaultdict.__dict__["default_factory"].__get__(value)
    yield from _write(factory, limit, outer)
    yield ", "
    yield from _write_dict(value, limit, outer)
    yield ")"


def _make_dict_writer(name: str) -> WriteValue:
    def write(value: Any, limit: int, outer: tuple[int, ...]) -> Pieces:
        yield f"{name}("
        if dict.__len__(value):
            yield from _write_dict(value, limit, outer)
        yield ")"

    return write


def _write_time(value: datetime | time, limit: int, outer: tuple[int, ...]) -> Pieces:
    """Yield a time of day; its time zone may be an object of the program."""
    text = repr(value.replace(tzinfo=None))
    if value.tzinfo is None:
        yield text
    else:
        yield f"{text[:-1]}, tzinfo="
        yield from _write(value.tzinfo, limit, outer)
        yield ")"


def _write_module(value: ModuleType, limit: int, outer: tuple[int, ...]) -> Pieces:
    name = read_attributes(value).get("__name__")
    yield f"<module {name}>" if type(name) is str else "<module>"


def _write_array(value: array[Any], limit: int, outer: tuple[int, ...]) -> Pieces:
    opening = f"array({value.typecode!r}, ["
    return _make_sequence_writer(array, opening, "])")(value, limit, outer)


_WRITERS_BY_CLASS: Mapping[type, WriteValue] = {
    **{
        cls: _make_repr_writer(cls)
        for cls in (type(None), bool, float, complex, range, type(...), type(NotImplemented))
    },
    int: _write_int,
    **{cls: _make_text_writer(cls) for cls in (str, bytes, bytearray)},
    list: _make_sequence_writer(list),
    tuple: _write_tuple,
    set: _make_set_writer(set, "{", "}"),
    frozenset: _make_set_writer(frozenset, "frozenset({", "})"),
    dict: _write_dict,
    Counter: _make_dict_writer("Counter"),
    OrderedDict: _make_dict_writer("OrderedDict"),
    defaultdict: _write_default_dict,
    deque: _make_sequence_writer(deque, "deque([", "])"),
    FunctionType: lambda value, limit, outer: iter((f"<function {value.__name__}>",)),
    ModuleType: _write_module,
}

_EXACT_WRITERS: Mapping[int, WriteValue] = {
    **{
        id(cls): _make_repr_writer(cls)
        for cls in (
            *(Decimal, Fraction, UUID, date, timedelta, timezone, re.Pattern, re.Match),
            *(PosixPath, PurePosixPath, PureWindowsPath, WindowsPath),
        )
    },
    id(datetime): _write_time,
    id(time): _write_time,
    id(array): _write_array,
}
"""Not used for objects of subclasses, which may define methods that a `__repr__` calls."""

_WRITERS = {id(cls): write for cls, write in _WRITERS_BY_CLASS.items()}
"""Keyed by identity, because the metaclass of a program's class may define `__hash__`."""
