"""The state of contained code as data: the same objects, by number, in the program and the child.

    table.enter({"orders": orders})      the program: numbers for all objects that the names reach
    table.take_changes(names)            what differs from what the other side knows

What crosses, in JSON:

    a value      None, bool, int, float, str; a tagged list of `wire.py`, as ["date", "2026-01-02"];
                 a tagged list of a `Side`, as ["member", "shop:Color", "RED"];
                 or ["r", 7], the object number 7, the same number for the same object
    a row        the contents of an object: [tag, name, items, attributes]
                 ["list", "", [value, ...], []]              also set, tuple, frozenset, deque
                 ["dict", "Counter", [key, value, ...], []]
                 ["object", "shop:Order", [], ["status", "paid", ...]]
                 ["list", "shop:Items", [value, ...], [name, value, ...]]
                 ["error", "builtins:KeyError", ["'tea'", cause, ..., argument, ...], []]
                 ["handle", "socket.socket", [], []]
                 ["remote", "shop:User", [], []]         its attributes are read by calls

An instance of an own class crosses with its attributes that have no underscore. Rows are compared
by their `repr`, so that True is not 1 and -0.0 is not 0.0.
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain, compress, count
from types import MemberDescriptorType, SimpleNamespace
from typing import Any, Protocol

from njrt.execution.contained import wire
from njrt.execution.contained.wire import BIG, PLAIN, READERS, Data, WireError, write
from njrt.records import record
from njrt.values.introspection import find_member, list_slots, make_attribute_reader

MAX_ROWS = 1_000_000
MISSING = object()

Row = list[Data]
Kind = tuple[str, str]
"""The tag and the name of a row."""

_EXACT: Mapping[type, Kind] = {
    list: ("list", ""),
    dict: ("dict", ""),
    set: ("set", ""),
    tuple: ("tuple", ""),
    frozenset: ("frozenset", ""),
    bytearray: ("bytearray", ""),
    Counter: ("dict", "Counter"),
    OrderedDict: ("dict", "OrderedDict"),
    SimpleNamespace: ("object", "SimpleNamespace"),
}
FACTORIES: Mapping[str, Any] = {it.__name__: it for it in (list, dict, set, int, float, str, bool)}
"""The default factories that both sides know."""
_FACTORY_NAMES = {factory: name for name, factory in FACTORIES.items()}
BUILTIN: Mapping[str, type] = {
    "list": list,
    "dict": dict,
    "set": set,
    "tuple": tuple,
    "frozenset": frozenset,
    "bytearray": bytearray,
    "deque": deque,
}
FROZEN = ("tuple", "frozenset", "group")
"""Rows of objects that are made with their contents."""
UNCHANGING = (*FROZEN, "handle", "remote", "error")
"""Rows that stay as they are."""


class StateError(Exception):
    """A value cannot cross, or may not change; the message is for the model."""


class Side(Protocol):
    """What the program and the child know about objects that are not plain."""

    def write_special(self, value: Any) -> Data:
        """Return the tagged data of a class, a function, a module or an enum member, else None."""

    def read_special(self, data: list[Data]) -> Any:
        """Return the object for tagged data; raise WireError for unknown data."""

    def find_kind(self, cls: type) -> Kind:
        """Return the kind of row of a class; raise StateError if its objects cannot cross."""

    def make_empty(self, kind: Kind) -> Any:
        """Make an object of an own class, without attributes; or a handle, or an error."""

    def make_frozen(self, kind: Kind, members: list[Any]) -> Any:
        """Make a named tuple, or a group of exceptions."""

    def write_error(self, error: Any, encode: Callable[[Any], Data]) -> list[Data]:
        """Return the items of an error's row."""

    def fill_error(self, error: Any, items: list[Any]) -> None:
        """Set what the items of an error's row say."""


@record
class Delta:
    """What one side has changed since the last message."""

    changed: Sequence[tuple[int, Row]]
    added: Sequence[Row]
    """The rows of new objects; their numbers follow those that exist."""
    names: Sequence[tuple[str, Data]] = ()

    def write(self) -> Data:
        return [[[n, row] for n, row in self.changed], self.added, [[*it] for it in self.names]]


def is_same(first: Data, second: Data) -> bool:
    """Return whether two rows or values are the same, where True is not 1 and -0.0 not 0.0."""
    return bool(first == second) and repr(first) == repr(second)


class Table:
    """Objects by number (state: objects, the rows that both sides know, the last contents)."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.objects: list[Any] = []
        self.rows: list[Row] = []
        self.kinds: list[Kind] = []
        self.numbers: dict[int, int] = {}
        self._contents = _Contents()
        self._suspects: set[int] = set()

    # ── values ───────────────────────────────────────────────────────────────────────────────────

    def encode(self, value: Any) -> Data:
        """Return the data of a value; an object that has no number gets the next one."""
        if type(value) in PLAIN or (type(value) is int and -BIG < value < BIG):
            return value
        number = self.numbers.get(id(value))
        if number is not None:
            return ["r", number]
        data = write(value)
        if data is None:
            data = self.side.write_special(value)
        return ["r", self._add(value, self.find_kind(value))] if data is None else data

    def find_kind(self, value: Any) -> Kind:
        cls = type(value)
        kind = _EXACT.get(cls)
        if kind is not None:
            return kind
        if cls is deque:
            return "deque", "" if value.maxlen is None else str(value.maxlen)
        if cls is defaultdict:
            return "dict", f"defaultdict={_FACTORY_NAMES.get(value.default_factory, '?')}"
        return self.side.find_kind(cls)

    def _add(self, value: Any, kind: Kind) -> int:
        number = len(self.objects)
        if number >= MAX_ROWS:
            raise StateError(f"the state has more than {MAX_ROWS:,} objects")
        self.numbers[id(value)] = number
        self.objects.append(value)
        self.kinds.append(kind)
        return number

    def decode(self, data: Data) -> Any:
        return decode_value(data, self.objects, self.side)

    def read_row(self, number: int) -> Row:
        """Return the present contents of an object."""
        (tag, name), value, encode = self.kinds[number], self.objects[number], self.encode
        if tag == "object":
            return [tag, name, [], _write_attributes(value, encode)]
        if tag in ("error", "group"):
            is_shown = tag == "error" and (wire.IS_CHILD or name[:1] != "=")
            attributes = _write_attributes(value, encode) if is_shown else []
            return [tag, name, self.side.write_error(value, encode), attributes]
        if tag in ("handle", "remote"):
            return [tag, name, [], []]
        if tag == "bytearray":
            return [tag, name, [write(bytes(value))], []]
        is_own = ":" in name and tag not in FROZEN
        items = [encode(it) for it in iterate(tag, value)]
        return [tag, name, items, _write_attributes(value, encode) if is_own else []]

    # ── messages ─────────────────────────────────────────────────────────────────────────────────

    def find_changed(self) -> dict[int, Row]:
        """Return the rows of the objects that differ from what both sides know."""
        self._suspects.update(self._contents.find_suspects())
        found = ((number, self.read_row(number)) for number in sorted(self._suspects))
        return {number: row for number, row in found if not is_same(row, self.rows[number])}

    def read_added(self) -> list[Row]:
        """Read the rows of objects that have got numbers since the last message."""
        rows: list[Row] = []
        while len(self.rows) + len(rows) < len(self.objects):  # reading a row may add objects
            rows.append(self.read_row(len(self.rows) + len(rows)))
        return rows

    def forget_added(self) -> None:
        """Forget objects that have got numbers since the last message, which is not sent."""
        for value in self.objects[len(self.rows) :]:
            del self.numbers[id(value)]
        del self.objects[len(self.rows) :], self.kinds[len(self.rows) :]

    def send(self, changed: Iterable[tuple[int, Row]], added: Sequence[Row]) -> None:
        """Record that the other side gets the rows that differ, and those of new objects."""
        self._suspects.clear()
        self.agree(changed, added)

    def agree(self, changed: Iterable[tuple[int, Row]], added: Sequence[Row]) -> None:
        """Record what both sides know from here on."""
        for number, row in changed:
            self.rows[number] = row
        self.rows += added

    def add_made(self, made: Sequence[Any], rows: Sequence[Row]) -> None:
        """Give objects that the other side has added the same numbers here."""
        for value, row in zip(made, rows, strict=True):
            self._add(value, (row[0], row[1]))

    def remember(self) -> None:
        """Watch the contents of the objects that are new since the last message."""
        if self._contents.is_scattered():
            self._suspects.update(self._contents.find_suspects())
        self._contents.extend(self.objects, self.kinds)


class _Contents:
    """Finds objects whose contents may have changed, by identity (state: the last contents).

    The loops run in C: it is asked at each call, of all objects.
    """

    def __init__(self) -> None:
        self._segments: list[_Segment] = []
        self._known = 0

    def find_suspects(self) -> list[int]:
        """Return the numbers of objects whose contents may differ from those of the last call."""
        return [number for segment in self._segments for number in segment.find_suspects()]

    def is_scattered(self) -> bool:
        return len(self._segments) > _MOST_SEGMENTS

    def extend(self, objects: Sequence[Any], kinds: Sequence[Kind]) -> None:
        """Take the present contents of the new objects as the last ones."""
        if self.is_scattered():
            self._segments, self._known = [], 0
        if self._known < len(objects):
            numbers = range(self._known, len(objects))
            self._segments.append(_Segment(numbers, objects, kinds))
            self._known = len(objects)


_MOST_SEGMENTS = 32
_Reading = tuple[list[Any], list[int], list[Any]]
"""The names of attributes, the length of each part, and all members."""


class _Segment:
    """The last contents of some objects."""

    def __init__(
        self, numbers: Iterable[int], objects: Sequence[Any], kinds: Sequence[Kind]
    ) -> None:
        self._instances, self._containers, self._dicts = ([], [], [])  # type: ignore[var-annotated]
        self._others: list[tuple[Any, str]] = []
        found: tuple[list[int], ...] = ([], [], [], [])
        for number in numbers:
            value, (tag, _) = objects[number], kinds[number]
            if tag in UNCHANGING:
                continue
            if tag == "object" and has_only_namespace(type(value)):
                found[0].append(number)
                self._instances.append(value)
            elif type(value) not in _EXACT or type(value) in (Counter, OrderedDict):
                found[1].append(number)
                self._others.append((value, tag))
            else:
                found[3 if tag == "dict" else 2].append(number)
                (self._dicts if tag == "dict" else self._containers).append(value)
        instances, others, containers, dicts = found
        self._numbers = [*instances, *others, *containers, *dicts, *dicts]
        self._last = self._read()

    def _read(self) -> _Reading:
        for _ in range(10):
            try:
                held = [*map(_get_namespace, self._instances)]
                names = [*chain.from_iterable(held)]
                others = [[*iterate(tag, it), *_list_attributes(it)] for it, tag in self._others]
                parts = [*others, *self._containers, *self._dicts]
                parts += map(dict.values, self._dicts)
                # The views of many namespaces at a time would keep the garbage collector busy.
                members = [*chain.from_iterable(map(dict.values, held))]
                members += chain.from_iterable(parts)
                return names, [*map(len, held), *map(len, parts)], members
            except RuntimeError:  # another thread has just changed a dict or a set
                continue
        raise StateError("the program changes its objects at the same time, all the time")

    def find_suspects(self) -> list[int]:
        (names, sizes, members), (old_names, old_sizes, old) = now, last = self._read(), self._last
        self._last, numbers = now, self._numbers
        if sizes == old_sizes and names == old_names:
            if all(map(operator.is_, members, old)):
                return []
            places = compress(count(), map(operator.is_not, members, old))
            ends = [*accumulate(sizes)]
            return sorted({numbers[bisect_right(ends, place)] for place in places})
        if sizes == old_sizes:
            return sorted({*numbers})
        found, start, old_start = set(), 0, 0
        for number, size, old_size in zip(numbers, sizes, last[1], strict=True):
            end, old_end = start + size, old_start + old_size
            now_held, was = members[start:end], old[old_start:old_end]
            if size != old_size or not all(map(operator.is_, now_held, was)):
                found.add(number)
            start, old_start = end, old_end
        return sorted(found)


_get_namespace = operator.attrgetter("__dict__")


def iterate(tag: str, value: Any) -> Iterable[Any]:
    """Return the items of a container without running its class's methods."""
    match tag:
        case "object":
            return ()
        case "dict":
            kind: Any = OrderedDict if isinstance(value, OrderedDict) else dict
            return (part for pair in kind.items(value) for part in pair)
    iterator: Iterable[Any] = BUILTIN[tag].__iter__(value)  # type: ignore[attr-defined]
    return iterator


Reader = Callable[[Any], dict[str, Any]]
find_reader: Callable[[type], Reader] = lru_cache(maxsize=256)(make_attribute_reader)
"""Return the function that reads all attributes of an object, from its namespace and slots."""


def _has_only_namespace(cls: type) -> bool:
    return "__dict__" in dir(cls) and all(name[:1] == "_" for name, _ in list_slots(cls))


has_only_namespace: Callable[[type], bool] = lru_cache(maxsize=256)(_has_only_namespace)
"""Return whether all public attributes of a class's instances are in their `__dict__`."""


def list_public(value: Any) -> list[tuple[str, Any]]:
    """Return the attributes of an object that have no underscore."""
    cls = type(value)
    held = value.__dict__ if has_only_namespace(cls) else find_reader(cls)(value)
    if wire.IS_CHILD and not issubclass(cls, BaseException):
        for name in held:
            if name[:1] == "_":
                raise StateError(f"`{name}` of a {cls.__name__} cannot be set in contained code")
    return [it for it in held.items() if it[0][:1] != "_"]


def _list_attributes(value: Any) -> list[Any]:
    return [part for pair in list_public(value) for part in pair]


def _write_attributes(value: Any, encode: Callable[[Any], Data]) -> list[Data]:
    parts: list[Data] = []
    for name, it in list_public(value):
        parts.append(name)
        parts.append(it if type(it) in PLAIN else encode(it))
    return parts


def set_raw(value: Any, name: str, new: Any) -> None:
    """Set or, if it is `MISSING`, delete an attribute without running the class's methods."""
    member = find_member(type(value), name)
    if type(member) is MemberDescriptorType:
        if new is not MISSING:
            member.__set__(value, new)
        elif name in find_reader(type(value))(value):
            member.__delete__(value)
    elif new is not MISSING:
        value.__dict__[name] = new
    else:
        value.__dict__.pop(name, None)


def decode_value(data: Data, objects: Mapping[int, Any] | Sequence[Any], side: Side) -> Any:
    """Return the value for data; objects are found by their numbers. Raises WireError."""
    if type(data) is not list:
        return data
    try:
        if data[0] == "r":
            return objects[data[1]]
        reader = READERS.get(data[0])
        return side.read_special(data) if reader is None else reader(data)
    except (WireError, StateError):
        raise
    except Exception as error:
        raise WireError(f"a value cannot be read: {type(error).__name__}") from None
