"""Read what the other side has sent: check it, and make objects of its rows.

    read_delta(table, data)         the new contents of objects, new objects, names

The program does not trust the child: everything is checked here, and nothing has changed if a
WireError or a StateError is raised.
"""

from __future__ import annotations

import operator
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from njrt.data.records import record
from njrt.execution.contained import wire
from njrt.execution.contained.contents import (
    BUILTIN,
    FROZEN,
    MISSING,
    UNCHANGING,
    Image,
    StateError,
    restore,
)
from njrt.execution.contained.state import FACTORIES, UNBOUND, Table
from njrt.execution.contained.wire import Data, WireError
from njrt.values.introspection import set_raw

MAX_DEPTH = 100
"""How deep tuples and frozen sets may be nested: Python's `hash` recurses in C."""
_MAX_HELD = 16_000_000
"""How much all of them may hold, with repetitions: `hash` visits each, and is not interrupted."""
_MAX_COLLISIONS = 100
"""Keys with the same hash in one container: of numbers another process can choose it."""


@record
class Delta:
    """What the other side has changed since the last message."""

    changed: Mapping[int, Image]
    images: Sequence[Image]
    """What the new objects hold."""
    names: Mapping[str, Any]
    """The new values of names, or `MISSING`."""


def read_delta(table: Table, data: Data) -> Delta:
    """Return changes that are right in form; the new objects get the same numbers here.

    Raises WireError, and StateError for tuples and frozen sets that contain themselves or are too
    deep, and for too many keys whose hash the other side can choose.
    """
    match data:
        case [list(changed), list(added), dict(names)]:
            table.forget_added()  # what comparing has numbered; the other side does not know it
            try:
                return _Maker(table, added).read(changed, names)
            except BaseException as error:
                table.forget_added()
                if isinstance(error, WireError | StateError) or not isinstance(error, Exception):
                    raise
                raise StateError(f"{type(error).__name__}: {error}") from None
    raise WireError("not a list of changes")


def _check_row(row: Data) -> tuple[str, str, list[Data], list[Data]]:
    if type(row) is not list or [*map(type, row)] != _TYPES or row[0] not in _TAGS:
        raise WireError("not a row")
    tag, name, keys, values = row
    if not wire.IS_CHILD:
        _check_shape(tag, keys, values)
    return tag, name, keys, values


def _check_shape(tag: str, keys: list[Data], values: list[Data]) -> None:
    """Raise WireError unless an object of this kind may hold so many keys and values."""
    match tag:
        case "object":
            is_right = len(keys) == len(values) == len({*keys})
            is_right = is_right and all(type(it) is str and it[:1] != "_" for it in keys)
        case "dict" | "set" | "frozenset":
            is_right = len(keys) == len(values) if tag == "dict" else not values
            is_right = is_right and len({*map(repr, keys)}) == len(keys)
        case "handle" | "remote":
            is_right = not keys and not values
        case _:
            is_right = not keys and (tag != "error" or bool(values))
    if not is_right:
        raise WireError("not the contents of an object")


def _check_hashes(keys: Iterable[Any]) -> None:
    """Raise StateError for many keys with the same hash, among which each look-up is slow."""
    hashes = [] if wire.IS_CHILD else sorted(map(hash, keys))
    if any(map(operator.eq, hashes, hashes[_MAX_COLLISIONS:])):
        raise StateError(f"more than {_MAX_COLLISIONS} keys have the same hash")


_TYPES = [str, str, list, list]
_TAGS = frozenset([*BUILTIN, "object", "handle", "remote", "error"])


class _Maker:
    """Makes objects from rows: empty ones, then their contents (state: those made so far).

    A set or a dict is filled after the attributes of its members are set, which their hashes need.
    """

    def __init__(self, table: Table, rows: Sequence[Data]) -> None:
        self.table, self.first = table, len(table.objects)
        self.rows = dict(enumerate(map(_check_row, rows), self.first))
        self.objects: dict[int, Any] = {}
        self.images: dict[int, Image] = {}
        self.making: list[int] = []

    def read(self, changed: list[Data], names: dict[str, Data]) -> Delta:
        for number, (tag, name, _, _) in self.rows.items():
            if tag not in FROZEN:
                self.objects[number] = self._make_empty(tag, name)
        for number in self.rows:
            self._find(number)
        for tags in (("object", "list", "deque", "error"), ("dict", "set")):
            for number, row in self.rows.items():
                if row[0] in tags:
                    self._fill(number)
        for number, (tag, name, _, _) in self.rows.items():
            self.table.add(self.objects[number], (tag, name))
        images = dict(map(self._read_change, changed))
        if len(images) != len(changed):
            raise WireError("an object is changed twice")
        made = [self.images.get(number, ((), ())) for number in self.rows]
        bound = {n: MISSING if it == UNBOUND else self._decode(it) for n, it in names.items()}
        return Delta(images, made, bound)

    def _read_change(self, change: Data) -> tuple[int, Image]:
        match change:
            case [int(number), list(keys), list(values)] if type(number) is int:
                tag = self.table.kinds[number][0] if 0 <= number < self.first else "handle"
                if tag in UNCHANGING:
                    raise WireError("no object with this number may change")
                _check_shape(tag, keys, values)
                return number, self._decode_image(tag, keys, values)
        raise WireError("not a change")

    def _make_empty(self, tag: str, name: str) -> Any:
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
            return defaultdict(factory) if factory else self.table.side.make_empty((tag, name))
        return self.table.side.make_empty((tag, name))

    def _find(self, number: int) -> Any:
        """Return an object, which is made if it is one that is made after its members."""
        if number < self.first:
            return self.table.objects[number]
        if number not in self.objects:
            self._make_frozen(number)
        return self.objects[number]

    def _make_frozen(self, number: int) -> None:
        tag, name, keys, values = self.rows[number]
        if number in self.making or len(self.making) > MAX_DEPTH:
            raise StateError(f"tuples are nested more than {MAX_DEPTH} deep or in a circle")
        self.making.append(number)
        items = values[: len(values) - len(keys)] if tag == "error" else keys or values
        inner = [it[1] for it in items if type(it) is list and it[:1] == ["r"]]
        members = [*map(self._decode, items)]
        self._measure(number, len(items), inner)
        if tag == "frozenset":
            for hashed in self._list_hashed(inner):
                self._fill(hashed)
            _check_hashes(members)
        if tag == "error" or name:
            self.objects[number] = self.table.side.make_frozen((tag, name), members)
        else:
            self.objects[number] = BUILTIN[tag](members)
        held = tuple(members)
        self.images[number] = (held, ()) if tag == "frozenset" else ((), held)
        self.making.pop()

    def _measure(self, number: int, size: int, inner: list[int]) -> None:
        """Raise StateError for a tuple that is too deep, or with all others too large."""
        table = self.table
        nested = [table.nested.get(it, (1, 1)) for it in inner]
        depth = 1 + max([it[0] for it in nested], default=0)
        size += sum(it[1] for it in nested)
        table.nested[number] = depth, size
        table.held += 0 if wire.IS_CHILD else size
        if depth > MAX_DEPTH or table.held > _MAX_HELD:
            raise StateError(f"tuples are nested more than {MAX_DEPTH} deep, or hold too much")

    def _list_hashed(self, numbers: list[int]) -> list[int]:
        """Return the new objects among these, and in tuples among these."""
        waiting, seen = [*numbers], set[int]()
        while waiting:
            number = waiting.pop()
            if number in self.rows and number not in seen:
                seen.add(number)
                if self.rows[number][0] == "tuple":
                    values = self.rows[number][3]
                    waiting += [it[1] for it in values if type(it) is list and it[:1] == ["r"]]
        return [it for it in seen if self.rows[it][0] == "object"]

    def _fill(self, number: int) -> None:
        tag, _, keys, values = self.rows[number]
        if tag == "error":
            _, members = self.images[number]
            held = [*map(self._decode, values[len(members) :])]
            self.images[number] = tuple(keys), (*members, *held)
            for name, value in zip(keys, held, strict=True):
                set_raw(self.objects[number], name, value)
        elif number not in self.images:
            self.images[number] = image = self._decode_image(tag, keys, values)
            restore(tag, self.objects[number], image)

    def _decode_image(self, tag: str, keys: list[Data], values: list[Data]) -> Image:
        decode = self._decode
        held = tuple([decode(it) if type(it) is list or type(it) is dict else it for it in values])
        if tag == "object":
            return tuple(keys), held
        found = tuple(map(decode, keys))
        _check_hashes(found)
        return found, held

    def _decode(self, data: Data) -> Any:
        return self.table.decode(data, self._find)
