"""The state of contained code as data: the same objects, by number, in the program and the child.

    table.encode(orders)            ["r", 0]: a number for each object that the value reaches
    table.find_changed()            {0: ([], [order])}: objects that differ from what both know

What crosses, in JSON:

    a value      None, bool, int, float, str; a tagged list of `wire.py`, as ["date", "2026-01-02"];
                 a tagged list of a `Side`, as ["member", "shop:Color", "RED", 0];
                 or ["r", 7], the object number 7, the same number for the same object
    a row        a new object: [tag, name, keys, values], see `contents.py`
                 ["list", "", [], [value, ...]]              also tuple, deque
                 ["set", "", [value, ...], []]               also frozenset
                 ["dict", "Counter", [key, ...], [value, ...]]
                 ["object", "shop:Order", ["status", ...], ["paid", ...]]
                 ["error", "builtins:KeyError", ["name", ...], [text, argument, ..., value, ...]]
                 ["handle", "socket.socket", [], []]
                 ["remote", "shop:User", [], []]             its members are used by calls
    a change     the new contents of an object: [number, keys, values]

An instance of an own class crosses with its attributes that have no underscore. Values are compared
by the text of their data, so that True is not 1 and -0.0 is not 0.0.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Protocol

from njrt.execution.contained.contents import (
    MISSING,
    UNCHANGING,
    Image,
    Kind,
    StateError,
    find_watch,
    make_watches,
    read,
)
from njrt.execution.contained.wire import BIG, PLAIN, READERS, Data, WireError, write

MAX_ROWS = 1_000_000
UNBOUND = ["unbound"]
"""Data in place of a value, for a name that is not bound."""

Row = list[Data]
ATOMS = frozenset({str, int, bool, type(None)})
"""Classes whose equal values are the same."""

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
        """Make an object of an own class, without attributes; or a handle."""

    def make_frozen(self, kind: Kind, members: list[Any]) -> Any:
        """Make a named tuple, or an error of its text and its arguments."""

    def read_error(self, error: Any) -> Image:
        """Return what crosses of an error: names; text, arguments, attributes."""


class Table:
    """Objects by number (state: objects, their contents that both sides know, marks)."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.objects: list[Any] = []
        self.known: list[Image] = []
        self.kinds: list[Kind] = []
        self.numbers: dict[int, int] = {}
        self.nested: dict[int, tuple[int, int]] = {}
        """How deep tuples of the other side are, and how much they hold, by number."""
        self.held = 0
        """How much they hold together."""
        self.is_marked = False
        """Whether instances of own classes are marked when an attribute is set (`mark`)."""
        self._own_kinds: dict[int, Kind] = {}
        """The kinds of own classes that have numbered objects, by the classes' identity."""
        self._marks: set[int] = set()
        self._watches = make_watches()
        self._watched = 0

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
            kind = self._find_kind(value)
            if kind[0] == "object":
                self._own_kinds[id(cls)] = kind
        return ["r", self.add(value, kind)]

    def _find_kind(self, value: Any) -> Kind:
        cls = type(value)
        if cls is deque:
            return "deque", "" if value.maxlen is None else str(value.maxlen)
        if cls is defaultdict:
            return "dict", f"defaultdict={_FACTORY_NAMES.get(value.default_factory, '?')}"
        return self.side.find_kind(cls)

    def add(self, value: Any, kind: Kind) -> int:
        """Give an object the next number."""
        number = len(self.objects)
        if number >= MAX_ROWS:
            raise StateError(f"the state has more than {MAX_ROWS:,} objects")
        self.numbers[id(value)] = number
        self.objects.append(value)
        self.kinds.append(kind)
        return number

    def decode(self, data: Data, find: Callable[[int], Any] | None = None) -> Any:
        """Return the value for data; raise WireError. `find` finds objects by their numbers."""
        if type(data) is not list:
            if type(data) is dict:
                raise WireError("not a value")
            return data
        try:
            if data[0] == "r":
                _, number = data
                if type(number) is not int or number < 0:
                    raise WireError("no object has this number")
                return self.objects[number] if find is None else find(number)
            reader = READERS.get(data[0])
            return self.side.read_special(data) if reader is None else reader(data)
        except (WireError, StateError):
            raise
        except Exception as error:
            raise WireError(f"a value cannot be read: {type(error).__name__}") from None

    # ── contents ─────────────────────────────────────────────────────────────────────────────────

    def read(self, number: int) -> Image:
        """Return the present contents of an object."""
        tag, value = self.kinds[number][0], self.objects[number]
        return self.side.read_error(value) if tag == "error" else read(tag, value)

    def write(self, tag: str, image: Image) -> list[Data]:
        """Return contents as data."""
        encode, (keys, values) = self.encode, image
        return [
            [*keys] if tag == "object" else [*map(encode, keys)],
            [it if type(it) in PLAIN else encode(it) for it in values],
        ]

    def is_same(self, one: Any, other: Any) -> bool:
        """Return whether two values are the same, where True is not 1 and -0.0 not 0.0."""
        if one is other or one is MISSING or other is MISSING:
            return one is other
        if type(one) in ATOMS and type(other) in ATOMS:
            return type(one) is type(other) and bool(one == other)
        return repr(self.encode(one)) == repr(self.encode(other))

    def _is_same_image(self, one: Image, other: Image) -> bool:
        (keys, values), (old_keys, old_values) = one, other
        return (
            (len(keys), len(values)) == (len(old_keys), len(old_values))
            and all(map(self.is_same, keys, old_keys))
            and all(map(self.is_same, values, old_values))
        )

    def pair(self, tag: str, image: Image) -> dict[str, tuple[Any, Any]]:
        """Return keys and values by the text of the key's data; a member of a set for itself."""
        keys, values = image
        texts = keys if tag == "object" else [repr(self.encode(key)) for key in keys]
        return dict(zip(texts, zip(keys, values or keys, strict=True), strict=True))

    # ── messages ─────────────────────────────────────────────────────────────────────────────────

    def mark(self, value: Any) -> None:
        """Record that an attribute of an object was set."""
        number = self.numbers.get(id(value))
        if number is not None:
            self._marks.add(number)

    def find_changed(self) -> dict[int, Image]:
        """Return the contents of the objects that differ from what both sides know."""
        self._look()
        images = ((number, self.read(number)) for number in sorted(self._marks))
        found = {n: image for n, image in images if not self._is_same_image(image, self.known[n])}
        self._marks = {*found}
        return found

    def _look(self) -> None:
        for name, watch in self._watches.items():
            if name != "object" or not self.is_marked:
                self._marks.update(watch.find_suspects())

    def write_changed(self, changed: Mapping[int, Image]) -> list[Data]:
        """Return changes as data."""
        return [[n, *self.write(self.kinds[n][0], image)] for n, image in changed.items()]

    def write_added(self, first: int) -> tuple[list[Image], list[Row]]:
        """Return the contents and the rows of the new objects from a number on."""
        images: list[Image] = []
        rows: list[Row] = []
        while first + len(images) < len(self.objects):  # a row may add objects
            number = first + len(images)
            image, (tag, name) = self.read(number), self.kinds[number]
            images.append(image)
            rows.append([tag, name, *self.write(tag, image)])
        return images, rows

    def forget_added(self, first: int | None = None) -> None:
        """Forget objects that have got numbers since the last message, or from this number on."""
        first = len(self.known) if first is None else first
        for value in self.objects[first:]:
            del self.numbers[id(value)]
        del self.objects[first:], self.kinds[first:]

    def agree(self, changed: Mapping[int, Image], added: Sequence[Image]) -> None:
        """Record what both sides know from here on."""
        for number, image in changed.items():
            self.known[number] = image
        self.known += added

    def remember(self) -> None:
        """Watch the objects that are new since the last message."""
        for number in range(self._watched, len(self.objects)):
            tag, value = self.kinds[number][0], self.objects[number]
            if tag not in UNCHANGING:
                self._watches[find_watch(tag, value)].add(number, value)
        if self._watched < len(self.objects):
            self._watched = len(self.objects)
            self._look()


def write_member(key: str, value: Any) -> Data:
    """Return the data of a member of an enum, or of a flag without a name."""
    is_named = value._name_ in type(value).__members__
    return ["member", key, value._name_ if is_named else None, 0 if is_named else value._value_]
