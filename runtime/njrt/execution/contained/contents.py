"""What each kind of object holds: reading it, putting it back, finding what has changed.

    read("dict", {"a": 1})              (("a",), (1,))          keys and values
    read("list", [1, 2])                ((), (1, 2))
    read("set", {1, 2})                 ((1, 2), ())
    read("object", Order(1))            (("id",), (1,))         attributes without an underscore

No code of the objects' classes runs.
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import accumulate, chain, compress, count
from typing import Any

from njrt.execution.contained import wire
from njrt.values.introspection import list_slots, make_attribute_reader, set_raw

MISSING = object()
Kind = tuple[str, str]
"""The tag and the name of a row."""
Image = tuple[tuple[Any, ...], tuple[Any, ...]]
"""The keys and the values of an object at one moment."""

BUILTIN: Mapping[str, type] = {it.__name__: it for it in (list, dict, set, tuple, frozenset, deque)}
SEQUENCES = ("list", "deque", "tuple")
"""Kinds without keys."""
FROZEN = ("tuple", "frozenset", "error")
"""Kinds that are made with their contents."""
UNCHANGING = (*FROZEN, "handle", "remote")
"""Kinds whose contents stay as they are."""


class StateError(Exception):
    """A value cannot cross, or may not change; the message is for the model."""


def read(tag: str, value: Any) -> Image:
    """Return what an object holds: keys or names, and values; of a set only keys."""
    match tag:
        case "object":
            return list_public(value)
        case "dict":
            pairs = [*value.items()]
            return tuple([key for key, _ in pairs]), tuple([it for _, it in pairs])
        case "set" | "frozenset":
            return (*value,), ()
        case "tuple":
            return (), (*tuple.__iter__(value),)  # a named tuple may have its own `__iter__`
        case "list" | "deque":
            return (), (*value,)
    return (), ()


def restore(tag: str, value: Any, image: Image) -> None:
    """Give an object these contents."""
    keys, values = image
    match tag:
        case "object" if has_only_namespace(type(value)):
            value.__dict__.update(zip(keys, values, strict=True))
        case "object":
            for name, it in zip(keys, values, strict=True):
                set_raw(value, name, it)
        case "list" | "deque":
            value.clear()
            value.extend(values)
        case "set":
            value.clear()
            value |= {*keys}
        case "dict":
            value.clear()
            for key, it in zip(keys, values, strict=True):
                value[key] = it


def is_identical(one: Image, other: Image) -> bool:
    """Return whether two images hold the same objects in the same order."""
    return all(
        len(first) == len(second) and all(map(operator.is_, first, second))
        for first, second in zip(one, other, strict=True)
    )


class Watch:
    """Finds those of some objects that may have changed (state: what they held at the last look).

    It looks at all of them at each call, so its loops run in C.
    """

    def __init__(self, find: Callable[[Any], Any] | None = None, is_dict: bool = False) -> None:
        self._find, self._is_dict = find, is_dict
        self._objects: list[Any] = []
        self._numbers: list[int] = []
        self._sizes: list[int] = []
        self._columns: list[list[Any]] = [[], []]

    def add(self, number: int, value: Any) -> None:
        """Watch an object from the next look on."""
        self._objects.append(value)
        self._numbers.append(number)

    def find_suspects(self) -> Iterable[int]:
        """Return the numbers of objects whose contents may differ from those at the last look."""
        held = [*map(self._find, self._objects)] if self._find else self._objects
        sizes, old_sizes, old = [*map(len, held)], self._sizes, self._columns
        pairs = zip(self._list_columns(held), old, strict=False)
        if sizes == old_sizes and all(all(map(operator.is_, *pair)) for pair in pairs):
            return ()
        columns = [[*it] for it in self._list_columns(held)]
        while any(len(it) != sum(sizes) for it in columns):  # another thread is changing them
            sizes, columns = [*map(len, held)], [[*it] for it in self._list_columns(held)]
        self._sizes, self._columns = sizes, columns
        ends, found = [*accumulate(old_sizes)], set[int]()
        for now, was in zip(columns, old, strict=False):
            if sizes[: len(old_sizes)] == old_sizes:
                places = compress(count(), map(operator.is_not, now, was))
                found.update(bisect_right(ends, place) for place in places)
                continue
            for place, (size, end, old_size, old_end) in enumerate(
                zip(sizes, accumulate(sizes), old_sizes, ends, strict=False)
            ):
                pair = now[end - size : end], was[old_end - old_size : old_end]
                if size != old_size or not all(map(operator.is_, *pair)):
                    found.add(place)
        return {self._numbers[place] for place in found}

    def _list_columns(self, held: list[Any]) -> Iterator[Iterable[Any]]:
        """Return the members of all collections in a row; of dicts first keys, then values."""
        yield chain.from_iterable(held)
        if self._is_dict:
            yield chain.from_iterable(map(dict.values, held))


def make_watches() -> dict[str, Watch]:
    """Return the watches for containers, dicts, and objects with and without a namespace."""
    return {
        "container": Watch(),
        "dict": Watch(is_dict=True),
        "object": Watch(operator.attrgetter("__dict__"), is_dict=True),
        "slots": Watch(lambda it: [*chain(*list_public(it))]),
    }


def find_watch(tag: str, value: Any) -> str:
    """Return which of the watches watches an object."""
    if tag == "object":
        return "object" if has_only_namespace(type(value)) else "slots"
    return "dict" if tag == "dict" else "container"


Reader = Callable[[Any], dict[str, Any]]
find_reader: Callable[[type], Reader] = lru_cache(maxsize=256)(make_attribute_reader)
"""Return the function that reads all attributes of an object, from its namespace and slots."""


def _has_only_namespace(cls: type) -> bool:
    return "__dict__" in dir(cls) and all(name[:1] == "_" for name, _ in list_slots(cls))


has_only_namespace: Callable[[type], bool] = lru_cache(maxsize=256)(_has_only_namespace)
"""Return whether all public attributes of a class's instances are in their `__dict__`."""


def list_public(value: Any) -> Image:
    """Return the names and the values of an object's attributes that have no underscore."""
    cls = type(value)
    held = value.__dict__ if has_only_namespace(cls) else find_reader(cls)(value)
    names, values = (*held,), (*held.values(),)
    public = _select_public(names)
    if len(public) == len(names):
        return public, values
    if wire.IS_CHILD and not issubclass(cls, BaseException):
        private = next(it for it in names if it[:1] == "_")
        raise StateError(f"`{private}` of a {cls.__name__} cannot be set in contained code")
    return public, tuple([it for name, it in zip(names, values, strict=True) if name[:1] != "_"])


@lru_cache(maxsize=256)
def _select_public(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple([name for name in names if name[:1] != "_"])
