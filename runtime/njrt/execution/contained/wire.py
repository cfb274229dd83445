"""Values and messages between contained code and its program.

    encode(3)                        3
    encode((1, date(2026, 1, 2)))    ["t", [1, ["date", "2026-01-02"]]]
    encode(order)                    ["r", 7, ...]      the program's object number 7

A message is its length in 4 bytes, then JSON in UTF-8. JSON lists are tagged values; both sides read the plain tags
below, and each has its own tags for references. The program never unpickles or evaluates anything from the child.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import json
import operator
import os
import socket
import struct
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
MAX_ZONE_BYTES = 255
"""Most bytes in the name of the program's time zone."""
MAX_TUPLE = 100
"""Longer tuples of the program cross as references: copying each would cost more than a touch."""
_MAX_JSON_INT_BITS = 1000
_BIG = 1 << _MAX_JSON_INT_BITS
_LOOKS = 100
"""How often a side polls before it sleeps: some 60 microseconds. With one processor it sleeps immediately."""
_LENGTH = struct.Struct(">I")
_dump = json.JSONEncoder(separators=(",", ":"), check_circular=False, ensure_ascii=False).encode

Data = Any
"""A JSON value: None, bool, int, float, str, or a list that starts with a tag."""


class WireError(Exception):
    """A message cannot be read, or the other side has ended."""


class Connection:
    """Sends and receives messages on a socket."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self._buffer = bytearray()

    def send(self, message: Data) -> None:
        # Lone surrogates stay apart: as escapes in ASCII, two in a row would become one character.
        text = _dump(message).encode("utf-8", "surrogatepass")
        if len(text) > MAX_MESSAGE_BYTES:
            raise ValueError(f"a value of {len(text)} bytes is too large to cross")
        left = memoryview(_LENGTH.pack(len(text)) + text)
        while left:  # the other side may have to wait for a processor
            with suppress(BlockingIOError):
                left = left[self.channel.send(left) :]

    def receive(self) -> Data:
        """Wait for one message.

        Raises WireError if it cannot be read, or the other side has ended, and BlockingIOError after the socket's
        timeout.
        """
        buffer = self._buffer
        while True:
            if len(buffer) >= _LENGTH.size:
                (length,) = _LENGTH.unpack_from(buffer)
                if length > MAX_MESSAGE_BYTES:
                    raise WireError(f"a message of {length} bytes is too long")
                if len(buffer) >= _LENGTH.size + length:
                    break
            received = self._wait_briefly() or self.channel.recv(65536)
            if not received:
                raise WireError("the other side has ended")
            buffer += received
        text = bytes(buffer[_LENGTH.size : _LENGTH.size + length])
        del buffer[: _LENGTH.size + length]
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise WireError(f"a message cannot be read: {type(error).__name__}") from None

    def _wait_briefly(self) -> bytes | None:
        """Poll for an answer without sleeping; the next message usually arrives within microseconds.

        Waking a process that sleeps on another processor takes longer than a whole touch. Between polls the processor
        is yielded to others.
        """
        for _ in range(_LOOKS if _count_processors() > 1 else 0):
            try:
                return self.channel.recv(65536, socket.MSG_DONTWAIT)
            except BlockingIOError:
                os.sched_yield()
        return None


@cache
def _count_processors() -> int:
    return len(os.sched_getaffinity(0))


def _encode_int(value: int) -> Data:
    return value if value.bit_length() <= _MAX_JSON_INT_BITS else ["i", hex(value)]


WRITERS: dict[type, Callable[[Any], Data]] = {
    int: _encode_int,
    bytes: lambda value: ["b", value.decode("latin-1")],
    complex: lambda value: ["complex", value.real, value.imag],
    range: lambda value: ["range", *map(_encode_int, (value.start, value.stop, value.step))],
    datetime.date: lambda value: ["date", value.isoformat()],
    datetime.datetime: lambda value: ["datetime", value.isoformat()],
    datetime.time: lambda value: ["time", value.isoformat()],
    datetime.timedelta: lambda value: ["timedelta", value.days, value.seconds, value.microseconds],
    decimal.Decimal: lambda value: ["Decimal", str(value)],
    fractions.Fraction: lambda it: ["Fraction", *map(_encode_int, it.as_integer_ratio())],
    uuid.UUID: lambda value: ["UUID", str(value)],
    type(...): lambda _: ["..."],
    type(NotImplemented): lambda _: ["NotImplemented"],
}
"""Functions that write plain values, by their exact class."""

_JSON_CLASSES = frozenset({type(None), bool, str, float})
_TIMES = (datetime.datetime, datetime.time)


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
    "datetime": lambda data: datetime.datetime.fromisoformat(data[1]),
    "time": lambda data: datetime.time.fromisoformat(data[1]),
    "timedelta": lambda data: datetime.timedelta(data[1], data[2], data[3]),
    "Decimal": lambda data: decimal.Decimal(data[1]),
    "Fraction": lambda data: fractions.Fraction(*map(_read_int, data[1:3])),
    "UUID": lambda data: uuid.UUID(data[1]),
    "...": lambda _: ...,
    "NotImplemented": lambda _: NotImplemented,
}
"""Functions that read plain values, by their tag."""


def encode_decimal_context() -> Data:
    """Return the settings of this thread's decimal context."""
    context = decimal.getcontext()
    traps = [signal.__name__ for signal, is_set in context.traps.items() if is_set]
    limits = [context.Emin, context.Emax, context.capitals, context.clamp]
    return [context.prec, context.rounding, *limits, traps]


def set_decimal_context(data: Data) -> None:
    """Set this thread's decimal context to these settings."""
    prec, rounding, lowest, highest, capitals, clamp, names = data
    traps = [getattr(decimal, name) for name in names]
    decimal.setcontext(decimal.Context(prec, rounding, lowest, highest, capitals, clamp, [], traps))


class Codec:
    """Writes and reads values; each side adds its references (`encode_object`, `decode_object`)."""

    def encode(self, value: Any) -> Data:
        kind = type(value)
        if kind in _JSON_CLASSES or (kind is int and -_BIG < value < _BIG):
            return value
        if kind is tuple and len(value) <= MAX_TUPLE:
            return ["t", [self.encode(member) for member in value]]
        if kind is frozenset and len(value) <= MAX_TUPLE:
            return ["fs", [self.encode(member) for member in value]]
        if kind is slice:
            return ["slice", *(self.encode(part) for part in (value.start, value.stop, value.step))]
        writer = WRITERS.get(kind)
        is_plain = kind not in _TIMES or (
            value.fold == 0 and type(value.tzinfo) in (type(None), datetime.timezone)
        )
        if writer is not None and is_plain:
            return writer(value)
        return self.encode_object(value)

    def decode(self, data: Data) -> Any:
        if type(data) is not list:
            return data
        tag = data[0]
        if tag == "t":
            return tuple(map(self.decode, data[1]))
        if tag == "fs":
            return frozenset(map(self.decode, data[1]))
        if tag == "slice":
            return slice(*map(self.decode, data[1:4]))
        reader = READERS.get(tag)
        return reader(data) if reader else self.decode_object(data)

    def encode_object(self, value: Any) -> Data:
        """Return the data for a value that is not plain."""
        raise NotImplementedError

    def decode_object(self, data: list[Data]) -> Any:
        """Return the value for data with one of this side's tags."""
        raise NotImplementedError


# ── containers that the code made, which both sides have ─────────────────────────────────────────


class Mirrors:
    """Containers that the code made and the program has received: both sides hold one, with the same contents.

    Before each message a side sends its changes (`encode_changes`), and the other applies them to its own containers
    (`apply_changes`), so that neither can see an old state. Contents are compared by identity.
    """

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.by_number: dict[int, Any] = {}
        self.numbers: dict[int, int] = {}
        self._seen: dict[int, list[Any]] = {}

    def add(self, number: int, container: Any) -> None:
        """Add a container under its number, with contents that the other side knows."""
        self.by_number[number] = container
        self.numbers[id(container)] = number

    def remember(self, number: int) -> None:
        """Record that the other side knows the current contents."""
        self._seen[number] = list_contents(self.by_number[number])

    def drop(self, number: int) -> None:
        container = self.by_number.pop(number, None)
        self.numbers.pop(id(container), None)
        self._seen.pop(number, None)

    def encode_changes(self) -> list[Data]:
        """Return `[number, first, members]` for each container that changed: from `first` on it has these members."""
        changes: list[Data] = []
        found: dict[int, list[Any]] = {}
        for number, container in list(self.by_number.items()):
            seen, now = self._seen[number], list_contents(container)
            has_start = len(now) >= len(seen) and all(map(operator.is_, seen, now))
            if has_start and len(now) == len(seen):
                continue
            first = len(seen) if has_start and type(container) is list else 0
            changes.append([number, first, [self.codec.encode(member) for member in now[first:]]])
            found[number] = now
        self._seen |= found
        return changes

    def apply_changes(self, changes: list[Data]) -> None:
        """Apply the changes that the other side has made to its containers."""
        for number, first, members in changes:
            fill(self.by_number[number], first, [self.codec.decode(member) for member in members])
            self.remember(number)


MIRRORED: dict[str, type] = {"list": list, "dict": dict, "set": set}
MIRRORED_NAMES = {kind: name for name, kind in MIRRORED.items()}


def list_contents(container: Any) -> list[Any]:
    """Return the members of a container; for a dict, its keys and values, alternating."""
    if type(container) is dict:
        return [part for pair in container.items() for part in pair]
    return list(container)


def fill(container: Any, first: int, members: list[Any]) -> None:
    """Make `members` the contents of a container from position `first` on.

    Hashing a proxy is a touch, which sends the changes of all containers first, so none may be half filled.
    """
    if type(container) is list:
        container[first:] = members
        return
    pairs = zip(members[::2], members[1::2], strict=True)
    filled: Any = dict(pairs) if type(container) is dict else set(members)
    container.clear()
    container.update(filled)
