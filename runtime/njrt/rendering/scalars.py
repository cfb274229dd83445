"""Writing numbers, strings and bytes.

3                       3
"a" * 50_000            'aaaaaaaa'...'aaaa' (50,000 characters)
1 << 99_999             <int of 100,000 bits>
UserId(7)               UserId(7)        a subclass, whatever its own methods do
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from njrt.rendering.redaction import MIN_SECRET_CHARS, Redactor
from njrt.rendering.writer import DoesNotFit, ValueWriter, WriteFunction
from njrt.values.introspection import get_class_name

_MAX_INT_BITS = 2000  # bits; from about 4,300 digits on, Python refuses to write an int in decimal


def _write_int(writer: ValueWriter, value: int, room: int, exact: bool) -> str:
    bits = int.bit_length(value)
    return int.__repr__(value) if bits <= _MAX_INT_BITS else f"<int of {bits:,} bits>"


def _make_quoted_writer(written: Callable[[Any], str], noun: str) -> WriteFunction:
    """Make the function that writes a text: quoted whole, or its beginning, its end and its length."""

    def cut(value: Any, room: int) -> str:
        text = written(value[: max(0, room)])
        for _ in range(8):
            if len(text) <= room:
                break
            value = value[: max(0, min(room, len(value)) * room // (len(text) + 1))]
            text = written(value)
        return text

    def write(writer: ValueWriter, value: Any, room: int, exact: bool) -> str:
        length = len(value)
        if exact and length + 2 > room:
            raise DoesNotFit
        if length >= MIN_SECRET_CHARS:
            value = redact_long_text(writer.redactor, value, room)
        if len(value) + 2 <= room:
            text = written(value)
            if len(text) <= room:
                return text
        if exact:
            raise DoesNotFit
        if room < 160:
            return cut(value, room - 3) + "..."
        note = f" ({length:,} {noun})"
        end = written(value[-(room // 8) :])
        end = end if len(end) <= room // 4 else ""
        return cut(value, room - len(note) - len(end) - 3) + "..." + end + note

    return write


def redact_long_text(redactor: Redactor, value: Any, room: int) -> Any:
    """Redact a str or bytes; of a very long one only the parts that may be shown are kept."""
    if len(value) > 2 * (room + _MAX_SECRET_CHARS):
        value = value[: room + _MAX_SECRET_CHARS] + value[-room - _MAX_SECRET_CHARS :]
    if type(value) is bytes:
        return redactor.redact(value.decode("latin-1")).encode("latin-1")
    return redactor.redact(value)


_MAX_SECRET_CHARS = 2_000
"""Characters of a secret that is recognized where only a part of it would be shown."""

SCALAR_WRITERS: dict[type, WriteFunction] = {
    type(None): lambda writer, value, room, exact: "None",
    type(...): lambda writer, value, room, exact: "...",
    bool: lambda writer, value, room, exact: "True" if value else "False",
    int: _write_int,
    float: lambda writer, value, room, exact: float.__repr__(value),
    complex: lambda writer, value, room, exact: complex.__repr__(value),
    str: _make_quoted_writer(str.__repr__, "characters"),
    bytes: _make_quoted_writer(bytes.__repr__, "bytes"),
}


def make_subclass_writer(cls: type) -> WriteFunction:
    """Write an instance of a subclass of a scalar as `UserId(3)`."""
    plain = SCALAR_WRITERS[cls]

    def write(writer: ValueWriter, value: Any, room: int, exact: bool) -> str:
        name = get_class_name(type(value))
        base = cls.__getitem__(value, slice(None)) if cls in (str, bytes) else value
        return f"{name}({plain(writer, base, room - len(name) - 2, exact)})"

    return write
