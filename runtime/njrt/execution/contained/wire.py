"""Values and messages between contained code and its program.

    write(3)                     3
    write(date(2026, 1, 2))      ["date", "2026-01-02"]
    write((1, order))            None: it is an object with a row of its own (`state.py`)

A message is its length in 4 bytes, then JSON in UTF-8. JSON lists are tagged values. The program
never unpickles or evaluates anything from the child, and counts the nodes of a message before it
parses it.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import io
import json
import socket
import struct
import uuid
import zoneinfo
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
MAX_NODES = 4_000_000
"""Most lists and members in a message."""
_MAX_JSON_INT_BITS = 1000
BIG = 1 << _MAX_JSON_INT_BITS
_LENGTH = struct.Struct(">I")
IS_CHILD = False
"""Whether this is the process of contained code, which trusts its program."""
_dump = json.JSONEncoder(separators=(",", ":"), check_circular=False, ensure_ascii=False).encode

Data = Any
"""A JSON value: None, bool, int, float, str, or a list that starts with a tag."""


class WireError(Exception):
    """A message cannot be read, or the other side has ended."""


class TooLargeError(Exception):
    """A message is larger than `MAX_MESSAGE_BYTES` (`size`, in bytes)."""

    def __init__(self, size: int) -> None:
        super().__init__(f"{size / 1e6:.0f} MB are too much; at most 16 MB can cross at a time")
        self.size = size


def measure(message: Data) -> int:
    """Return the size of a message in bytes."""
    return len(_dump(message).encode("utf-8", "surrogatepass"))


class Connection:
    """Sends and receives messages on a socket."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self._buffer = bytearray()

    def send(self, message: Data) -> None:
        # Lone surrogates stay apart: as escapes in ASCII, two in a row would become one character.
        text = _dump(message).encode("utf-8", "surrogatepass")
        if len(text) > MAX_MESSAGE_BYTES:
            raise TooLargeError(len(text))
        left = memoryview(_LENGTH.pack(len(text)) + text)
        while left:  # the other side may have to wait for a processor
            with suppress(BlockingIOError):
                left = left[self.channel.send(left) :]

    def receive(self) -> Data:
        """Wait for one message.

        Raises WireError if it cannot be read, or the other side has ended, and BlockingIOError
        after the socket's timeout.
        """
        buffer = self._buffer
        while True:
            if len(buffer) >= _LENGTH.size:
                (length,) = _LENGTH.unpack_from(buffer)
                if length > MAX_MESSAGE_BYTES:
                    raise WireError(f"a message of {length} bytes is too long")
                if len(buffer) >= _LENGTH.size + length:
                    break
            received = self.channel.recv(65536)
            if not received:
                raise WireError("the other side has ended")
            buffer += received
        text = bytes(buffer[_LENGTH.size : _LENGTH.size + length])
        del buffer[: _LENGTH.size + length]
        if text.count(b"[") + text.count(b",") + text.count(b"{") > MAX_NODES:
            raise WireError("a message has too many parts")
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise WireError(f"a message cannot be read: {type(error).__name__}") from None


def _encode_int(value: int) -> Data:
    return value if value.bit_length() <= _MAX_JSON_INT_BITS else ["i", hex(value)]


WRITERS: dict[type, Callable[[Any], Data]] = {
    int: _encode_int,
    bytes: lambda value: ["b", value.decode("latin-1")],
    complex: lambda value: ["complex", value.real, value.imag],
    range: lambda value: ["range", *map(_encode_int, (value.start, value.stop, value.step))],
    datetime.date: lambda value: ["date", value.isoformat()],
    datetime.datetime: lambda it: ["datetime", _drop_zone(it), it.fold, *_write_zone(it.tzinfo)],
    datetime.time: lambda it: ["time", _drop_zone(it), it.fold, *_write_zone(it.tzinfo)],
    datetime.timezone: lambda value: _write_zone(value),
    zoneinfo.ZoneInfo: lambda value: _write_zone(value),
    datetime.timedelta: lambda value: ["timedelta", value.days, value.seconds, value.microseconds],
    decimal.Decimal: lambda value: ["Decimal", str(value)],
    fractions.Fraction: lambda it: ["Fraction", *map(_encode_int, it.as_integer_ratio())],
    uuid.UUID: lambda value: ["UUID", str(value)],
    type(...): lambda _: ["..."],
    type(NotImplemented): lambda _: ["NotImplemented"],
}
"""Functions that write plain values, by their exact class."""

PLAIN = frozenset({type(None), bool, str, float})
"""Classes of values that JSON has, and both sides read as they are."""


def write(value: Any) -> Data:
    """Return the data of a plain value; None for other objects, and for None."""
    kind = type(value)
    if kind in PLAIN or (kind is int and -BIG < value < BIG):
        return value
    writer = WRITERS.get(kind)
    if writer is None or not _has_plain_zone(value.tzinfo if kind in _TIMES else value):
        return None
    return writer(value)


_TIMES = (datetime.datetime, datetime.time)


def _has_plain_zone(value: Any) -> bool:
    if isinstance(value, datetime.tzinfo):
        has_file = type(value) is zoneinfo.ZoneInfo and (IS_CHILD or read_zone(value.key) != b"")
        return has_file or type(value) is datetime.timezone
    return True


def _drop_zone(value: Any) -> str:
    return str(value.replace(tzinfo=None).isoformat())


def _write_zone(zone: Any) -> list[Data]:
    match zone:
        case None:
            return []
        case zoneinfo.ZoneInfo():
            _sent_zones.add(zone.key)
            return ["zone", zone.key, read_zone(zone.key).decode("latin-1")]
    offset = zone.utcoffset(None)
    return ["timezone", offset.days, offset.seconds, offset.microseconds]


@cache
def read_zone(key: str | None) -> bytes:
    """Return the file of a time zone, which the child cannot open; empty if there is none."""
    for folder in zoneinfo.TZPATH if key else ():
        with suppress(OSError):
            return Path(folder, key or "").read_bytes()
    with suppress(ImportError, OSError):  # the package that Python uses where the system has none
        return resources.files("tzdata").joinpath("zoneinfo", *(key or "").split("/")).read_bytes()
    return b""


_sent_zones: set[str | None] = set()


@cache
def make_zone(key: str, content: str) -> datetime.tzinfo:
    """Return the time zone with this key: in a child from its content, else one that was sent."""
    if IS_CHILD:
        return zoneinfo.ZoneInfo.from_file(io.BytesIO(content.encode("latin-1")), key)
    if key not in _sent_zones:
        raise WireError("no such time zone")
    return zoneinfo.ZoneInfo(key)


def _read_time(kind: Any, text: str, fold: int, *zone: Data) -> Any:
    found = READERS[zone[0]](list(zone)) if zone else None
    return kind.fromisoformat(text).replace(tzinfo=found, fold=int(fold == 1))


def _read_int(value: Data) -> int:
    if type(value) is list:
        return int(value[1], 16)
    if type(value) is not int:
        raise WireError("a whole number was expected")
    return value


READERS: dict[str, Callable[[list[Data]], Any]] = {
    "i": lambda data: int(data[1], 16),
    "b": lambda data: data[1].encode("latin-1"),
    "complex": lambda data: complex(data[1], data[2]),
    "range": lambda data: range(*map(_read_int, data[1:4])),
    "date": lambda data: datetime.date.fromisoformat(data[1]),
    "datetime": lambda data: _read_time(datetime.datetime, *data[1:]),
    "time": lambda data: _read_time(datetime.time, *data[1:]),
    "timezone": lambda data: datetime.timezone(datetime.timedelta(*map(_read_int, data[1:4]))),
    "zone": lambda data: make_zone(data[1], data[2]),
    "timedelta": lambda data: datetime.timedelta(data[1], data[2], data[3]),
    "Decimal": lambda data: decimal.Decimal(data[1]),
    "Fraction": lambda data: fractions.Fraction(*map(_read_int, data[1:3])),
    "UUID": lambda data: uuid.UUID(data[1]),
    "...": lambda _: ...,
    "NotImplemented": lambda _: NotImplemented,
}
"""Functions that read plain values, by their tag."""


_DECIMAL = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")


def encode_decimal_context() -> Data:
    """Return the settings of this thread's decimal context."""
    context = decimal.getcontext()
    traps = [signal.__name__ for signal, is_set in context.traps.items() if is_set]
    return {"traps": traps, **{name: getattr(context, name) for name in _DECIMAL}}


def set_decimal_context(data: Data) -> None:
    """Set this thread's decimal context to these settings."""
    traps = [getattr(decimal, name) for name in data["traps"]]
    decimal.setcontext(decimal.Context(**{**data, "traps": traps, "flags": []}))
