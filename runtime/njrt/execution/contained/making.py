"""Check what the other side has sent, and make objects of its rows.

read_delta(data, 7)                 the changes, if their form is right; else WireError
make_objects(rows, table)           real lists, dicts and instances for the new rows
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from njrt.execution.contained import wire
from njrt.execution.contained.contents import (
    BUILTIN,
    FROZEN,
    StateError,
    has_only_namespace,
    set_raw,
)
from njrt.execution.contained.state import FACTORIES, Delta, Row, Table, decode_value
from njrt.execution.contained.wire import Data, WireError

MAX_DEPTH = 100
"""How deep tuples and frozen sets may be nested: Python's `hash` recurses in C."""
_MAX_HELD = 16_000_000
"""How much all of them may hold, with repetitions: `hash` visits each, and is not interrupted."""
_MAX_WEAK_KEYS = 1000
"""Keys whose hash another process can choose: numbers beyond 2**61 and floats."""


def read_delta(data: Data, known: int) -> Delta:
    """Check the form of a message's changes; raise WireError unless it is right."""
    match data:
        case [list(changed), list(added), list(names)]:
            pass
        case _:
            raise WireError("not a list of changes")
    total = known + len(added)
    numbers = set()
    for pair in changed:
        if type(pair) is not list or len(pair) != 2 or type(pair[0]) is not int:
            raise WireError("not a list of changes")
        if not 0 <= pair[0] < known:
            raise WireError("no object has this number")
        check_row(pair[1], total)
        numbers.add(pair[0])
    if len(numbers) != len(changed):
        raise WireError("an object is changed twice")
    for row in added:
        check_row(row, total)
    for pair in names:
        match pair:
            case [str(), value]:
                check_value(value, total)
            case _:
                raise WireError("not a name")
    return Delta([tuple(it) for it in changed], added, [tuple(it) for it in names])


def check_row(row: Data, total: int) -> None:
    """Raise WireError unless this is a row whose numbers are below `total`."""
    if type(row) is not list or [*map(type, row)] != [str, str, list, list]:
        raise WireError("not a row")
    tag, _, items, parts = row
    if tag not in _TAGS or len(parts) % 2:
        raise WireError("not a row")
    if (tag == "dict" and len(items) % 2) or (tag in ("object", "handle", "remote") and items):
        raise WireError("not the items of a row")
    for name in parts[::2]:
        if type(name) is not str or name[:1] == "_":
            raise WireError("not the name of a public attribute")
    for value in (*items, *parts[1::2]):
        if type(value) is list or type(value) is dict:
            check_value(value, total)
    keys = [it[1] for it in items[:: 1 + (tag == "dict")] if _is_reference(it)]
    if tag in ("set", "frozenset", "dict") and len({*keys}) != len(keys):
        raise WireError("a key is there twice")


def check_value(value: Data, total: int) -> None:
    """Raise WireError for a list or dict that is no value."""
    if type(value) is not list:
        if type(value) is dict:
            raise WireError("not a value")
        return
    match value:
        case ["r", number]:
            if type(number) is not int or not 0 <= number < total:
                raise WireError("no object has this number")
        case [str(), *parts]:
            if any(isinstance(it, list | dict) and not _is_number(it) for it in parts):
                raise WireError("not a value")
        case _:
            raise WireError("not a value")


_TAGS = frozenset([*BUILTIN, "object", "handle", "remote", "error"])


def _is_number(part: Data) -> bool:
    return type(part) is list and len(part) == 2 and part[0] == "i" and type(part[1]) is str


def make_objects(rows: Sequence[Row], table: Table) -> list[Any]:
    """Make objects for rows that follow those of a table: empty ones, then their contents.

    A set or a dict is filled after the attributes of its members are set, which their hashes need.
    Raises StateError for tuples and frozen sets that contain themselves or are too deep.
    """
    if not rows:
        return []
    return _Maker(rows, table).make()


class _Maker:
    """Makes objects from rows (state: the objects made so far, and which are filled)."""

    def __init__(self, rows: Sequence[Row], table: Table) -> None:
        self.first, self.side, self.table = len(table.objects), table.side, table
        self.rows = dict(enumerate(rows, self.first))
        self.objects: dict[int, Any] = dict(enumerate(table.objects))
        self.filled: set[int] = set()
        self.making: list[int] = []

    def make(self) -> list[Any]:
        for number, row in self.rows.items():
            if row[0] not in FROZEN:
                self.objects[number] = self._make_empty(row)
        for number, row in self.rows.items():
            if row[0] in FROZEN and number not in self.objects:
                self._make_frozen(number)
        for tags in (("object", "list", "deque", "error"), ("dict", "set")):
            for number, row in self.rows.items():
                if row[0] in tags and number not in self.filled:
                    self._fill(number)
        return [self.objects[number] for number in self.rows]

    def _make_empty(self, row: Row) -> Any:
        tag, name = row[:2]
        match tag, name:
            case ("list" | "dict" | "set", ""):
                return BUILTIN[tag]()
            case "deque", _:
                return deque(maxlen=int(name[:9]) if name else None)
            case "dict", "Counter":
                return Counter()
            case "dict", "OrderedDict":
                return OrderedDict()
            case "object", "SimpleNamespace":
                return SimpleNamespace()
        if tag == "dict" and name.startswith("defaultdict="):
            factory = FACTORIES.get(name.partition("=")[2])
            return defaultdict(factory) if factory else self.side.make_empty((tag, name))
        return self.side.make_empty((tag, name))

    def _make_frozen(self, number: int) -> None:
        """Make a tuple or frozen set after its members; the members of a set are hashed."""
        if number in self.making or len(self.making) > MAX_DEPTH:
            raise StateError(f"tuples are nested more than {MAX_DEPTH} deep or in a circle")
        self.making.append(number)
        tag, name, items, _ = self.rows[number]
        inner = [it[1] for it in items if _is_reference(it)]
        for hashed in self._list_hashed(inner) if tag == "frozenset" else ():
            if hashed not in self.filled:
                self._fill(hashed)
        members = [*map(self._decode, items)]
        nested = [self.table.nested.get(it, (1, 1)) for it in inner]
        depth = 1 + max([it[0] for it in nested], default=0)
        size = len(items) + sum(it[1] for it in nested)
        self.table.nested[number] = depth, size
        self.table.held += 0 if wire.IS_CHILD else size
        if depth > MAX_DEPTH or self.table.held > _MAX_HELD:
            raise StateError(f"tuples are nested more than {MAX_DEPTH} deep, or hold too much")
        make = partial(self.side.make_frozen, (tag, name)) if name else BUILTIN[tag]
        self.objects[number] = make(members)
        self.making.pop()

    def _list_hashed(self, numbers: list[int]) -> list[int]:
        """Return the new objects among these, and in tuples among these."""
        waiting, seen = [*numbers], set[int]()
        while waiting:
            number = waiting.pop()
            if number >= self.first and number not in seen:
                seen.add(number)
                if self.rows[number][0] == "tuple":
                    waiting += [it[1] for it in self.rows[number][2] if _is_reference(it)]
        return [it for it in seen if self.rows[it][0] == "object"]

    def _fill(self, number: int) -> None:
        self.filled.add(number)
        made, (tag, _, items, parts) = self.objects[number], self.rows[number]
        if tag == "error":
            self.side.fill_error(made, [*map(self._decode, items)])
        elif tag != "object":
            fill_items(tag, made, [*map(self._decode, items)])
        values = [*map(self._decode, parts[1::2])]
        if has_only_namespace(type(made)):
            made.__dict__.update(zip(parts[::2], values, strict=True))
            return
        for name, value in zip(parts[::2], values, strict=True):
            set_raw(made, name, value)

    def _decode(self, data: Data) -> Any:
        if _is_reference(data) and data[1] not in self.objects:
            self._make_frozen(data[1])
        return decode_value(data, self.objects, self.side) if type(data) is list else data


def _is_reference(data: Data) -> bool:
    return type(data) is list and data[:1] == ["r"]


def fill_items(tag: str, made: Any, items: list[Any]) -> None:
    """Put items into an empty container, without running its class's methods."""
    match tag:
        case "list":
            list.extend(made, items)
        case "deque":
            made.extend(items)
        case "set":
            check_keys(items)
            set.update(made, items)
        case "dict":
            check_keys(items[::2])
            kind: Any = OrderedDict if isinstance(made, OrderedDict) else dict
            for key, value in zip(items[::2], items[1::2], strict=True):
                kind.__setitem__(made, key, value)


def check_keys(keys: Iterable[Any]) -> None:
    """Raise StateError for too many keys whose hash the code can choose."""
    weak = sum(type(it) is float or (type(it) is int and abs(it) >= 2**61) for it in keys)
    if weak > _MAX_WEAK_KEYS:
        raise StateError(f"more than {_MAX_WEAK_KEYS} keys are floats or very large numbers")
