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
                 ["error", "builtins:KeyError", ["'tea'", cause, ..., argument, ...], []]
                 ["handle", "socket.socket", [], []]
                 ["remote", "shop:User", [], []]         its members are used by calls

An instance of an own class crosses with its attributes that have no underscore. Rows are compared
by their `repr`, so that True is not 1 and -0.0 is not 0.0.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Protocol

from njrt.execution.contained import wire
from njrt.execution.contained.contents import Contents, Kind, StateError, iterate, list_public
from njrt.execution.contained.wire import BIG, PLAIN, READERS, Data, WireError, write
from njrt.records import record

MAX_ROWS = 1_000_000
UNBOUND = ["unbound"]
"""Data in place of a value, for a name that is not bound."""

Row = list[Data]

_EXACT: Mapping[type, Kind] = {
    list: ("list", ""),
    dict: ("dict", ""),
    set: ("set", ""),
    tuple: ("tuple", ""),
    frozenset: ("frozenset", ""),
    Counter: ("dict", "Counter"),
    OrderedDict: ("dict", "OrderedDict"),
    SimpleNamespace: ("object", "SimpleNamespace"),
}
FACTORIES: Mapping[str, Any] = {it.__name__: it for it in (list, dict, set, int, float, str, bool)}
"""The default factories that both sides know."""
_FACTORY_NAMES = {factory: name for name, factory in FACTORIES.items()}


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
        """Make a named tuple."""

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
        self.nested: dict[int, tuple[int, int]] = {}
        """How deep tuples of the other side are, and how much they hold, by number."""
        self.held = 0
        """How much they hold together."""
        self._own_kinds: dict[int, Kind] = {}
        """The kinds of own classes that have numbered objects, by the classes' identity."""
        self.is_marked = False
        """Whether instances of own classes are marked when an attribute is set (`mark`)."""
        self._contents = Contents()
        self._suspects: set[int] = set()

    # ── values ───────────────────────────────────────────────────────────────────────────────────

    def encode(self, value: Any) -> Data:
        """Return the data of a value; an object that has no number gets the next one."""
        if type(value) in PLAIN or (type(value) is int and -BIG < value < BIG):
            return value
        number = self.numbers.get(id(value))
        if number is not None:
            return ["r", number]
        cls = type(value)
        kind = _EXACT.get(cls) or self._own_kinds.get(id(cls))
        if kind is None:
            data = write(value)
            if data is None:
                data = self.side.write_special(value)
            if data is not None:
                return data
            kind = self.find_kind(value)
            if kind[0] == "object":
                self._own_kinds[id(cls)] = kind
        return ["r", self._add(value, kind)]

    def find_kind(self, value: Any) -> Kind:
        cls = type(value)
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
        if tag == "error":
            is_shown = wire.IS_CHILD or name[:1] != "="
            attributes = _write_attributes(value, encode) if is_shown else []
            return [tag, name, self.side.write_error(value, encode), attributes]
        items = [] if tag in ("handle", "remote") else [encode(it) for it in iterate(tag, value)]
        return [tag, name, items, []]

    # ── messages ─────────────────────────────────────────────────────────────────────────────────

    def mark(self, value: Any) -> None:
        """Record that an attribute of an object was set."""
        number = self.numbers.get(id(value))
        if number is not None:
            self._suspects.add(number)

    def find_changed(self) -> dict[int, Row]:
        """Return the rows of the objects that differ from what both sides know."""
        self._suspects.update(self._contents.find_suspects(self.is_marked))
        found = ((number, self.read_row(number)) for number in sorted(self._suspects))
        return {number: row for number, row in found if not is_same(row, self.rows[number])}

    def read_added(self) -> list[Row]:
        """Read the rows of objects that have got numbers since the last message."""
        rows: list[Row] = []
        while len(self.rows) + len(rows) < len(self.objects):  # reading a row may add objects
            rows.append(self.read_row(len(self.rows) + len(rows)))
        return rows

    def forget_added(self, first: int | None = None) -> None:
        """Forget objects that have got numbers since the last message, or from this number on."""
        first = len(self.rows) if first is None else first
        for value in self.objects[first:]:
            del self.numbers[id(value)]
        del self.objects[first:], self.kinds[first:]

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


def _write_attributes(value: Any, encode: Callable[[Any], Data]) -> list[Data]:
    parts: list[Data] = []
    for name, it in list_public(value):
        parts.append(name)
        parts.append(it if type(it) in PLAIN else encode(it))
    return parts


def write_member(key: str, value: Any) -> Data:
    """Return the data of a member of an enum, or of a flag without a name."""
    is_named = value._name_ in type(value).__members__
    return ["member", key, value._name_ if is_named else None, 0 if is_named else value._value_]


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
