"""Read the contents of objects, and find those that have changed, without running their code.

    contents = Contents()
    contents.extend(objects, kinds)         the last contents of each object
    contents.find_suspects()                the numbers of those that may have others now

Contents are compared by identity, by loops in C: they are compared at each call of the program.
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate, chain, compress, count
from types import MemberDescriptorType
from typing import Any

from njrt.execution.contained import wire
from njrt.values.introspection import find_member, list_slots, make_attribute_reader

MISSING = object()
Kind = tuple[str, str]
"""The tag and the name of a row."""

BUILTIN: Mapping[str, type] = {
    "list": list,
    "dict": dict,
    "set": set,
    "tuple": tuple,
    "frozenset": frozenset,
    "deque": deque,
}
FROZEN = ("tuple", "frozenset")
"""Rows of objects that are made with their contents."""
UNCHANGING = (*FROZEN, "handle", "remote", "error")
"""Rows that stay as they are."""


class StateError(Exception):
    """A value cannot cross, or may not change; the message is for the model."""


class Contents:
    """Finds objects whose contents may have changed, by identity (state: the last contents).

    The loops run in C: it is asked at each call, of all objects.
    """

    def __init__(self) -> None:
        self._groups: list[_Group] = []
        self._segments: list[_Segment] = []
        self._known = 0

    def find_suspects(self, is_marked: bool = False) -> list[int]:
        """Return the numbers of objects whose contents may differ from those of the last call.

        If instances of own classes are marked, only the other objects are compared.
        """
        found = [number for segment in self._segments for number in segment.find_suspects()]
        for group in [] if is_marked else [*self._groups]:
            suspects = group.find_suspects()
            if suspects is None:
                suspects = group.objects
                self._groups.remove(group)
                self._groups += _group_objects(group.objects)
            found += suspects
        return found

    def is_scattered(self) -> bool:
        return len(self._segments) > _MOST_SEGMENTS

    def extend(self, objects: Sequence[Any], kinds: Sequence[Kind]) -> None:
        """Take the present contents of the new objects as the last ones."""
        if self.is_scattered():
            self._groups, self._segments, self._known = [], [], 0
        if self._known == len(objects):
            return
        instances: dict[int, Any] = {}
        others: dict[int, tuple[Any, str]] = {}
        for number in range(self._known, len(objects)):
            value, (tag, name) = objects[number], kinds[number]
            if tag == "object" and ":" in name and has_only_namespace(type(value)):
                instances[number] = value
            elif tag not in UNCHANGING:
                others[number] = value, tag
        self._groups += _group_objects(instances)
        self._segments.append(_Segment(others))
        self._known = len(objects)


_MOST_SEGMENTS = 32
_get_namespace = operator.attrgetter("__dict__")


def _group_objects(objects: Mapping[int, Any]) -> list[_Group]:
    """Return groups of objects with the same attributes."""
    groups: dict[tuple[str, ...], dict[int, Any]] = {}
    for number, value in objects.items():
        groups.setdefault((*_get_namespace(value),), {})[number] = value
    return [_Group(names, held) for names, held in groups.items()]


class _Group:
    """The last values of the same attributes of some objects, all in their namespaces."""

    def __init__(self, names: Sequence[str], objects: Mapping[int, Any]) -> None:
        self.objects = objects
        self._length, self._width = len(names), max(2, len(names))
        several = names if len(names) > 1 else [*names, *names]  # of one it returns no tuple
        self._get: Any = operator.itemgetter(*several) if several else tuple
        self._last: list[Any] | None = None
        with suppress(KeyError):  # another thread has just changed an object
            self._last = [*self._read(self._list_namespaces())]

    def _list_namespaces(self) -> list[dict[str, Any]]:
        return [*map(_get_namespace, self.objects.values())]

    def _read(self, held: list[dict[str, Any]]) -> Iterator[Any]:
        return chain.from_iterable(map(self._get, held))

    def find_suspects(self) -> Iterable[int] | None:
        """Return the numbers of objects with other values, or None if one has other attributes."""
        held, last = self._list_namespaces(), self._last
        if last is None or {*map(len, held)} != {self._length}:
            return None
        try:
            if all(map(operator.is_, self._read(held), last)):
                return []
            now = self._last = [*self._read(held)]
        except KeyError:
            return None
        numbers, width = [*self.objects], self._width
        places = compress(count(), map(operator.is_not, now, last))
        return {numbers[place // width] for place in places}


class _Segment:
    """The last contents of containers, and of objects that are not only a namespace."""

    def __init__(self, objects: Mapping[int, tuple[Any, str]]) -> None:
        self._containers: dict[int, Any] = {}
        self._dicts: dict[int, Any] = {}
        self._others: dict[int, tuple[Any, str]] = {}
        for number, (value, tag) in objects.items():
            if type(value) in (list, set):
                self._containers[number] = value
            elif type(value) is dict:
                self._dicts[number] = value
            else:
                self._others[number] = value, tag
        self._numbers = [*self._others, *self._containers, *self._dicts, *self._dicts]
        self._last = self._read()

    def _read(self) -> tuple[list[int], list[Any]]:
        """Return the length of each part, and all members."""
        for _ in range(10):
            try:
                others, dicts = self._others.values(), self._dicts.values()
                parts: list[Any] = [
                    [*iterate(tag, it), *_list_attributes(it)] for it, tag in others
                ]
                parts += [*self._containers.values(), *dicts]
                parts += map(dict.values, dicts)
                return [*map(len, parts)], [*chain.from_iterable(parts)]
            except RuntimeError:  # another thread has just changed a dict or a set
                continue
        raise StateError("the program changes its objects at the same time, all the time")

    def find_suspects(self) -> set[int]:
        now, last, numbers = self._read(), self._last, self._numbers
        self._last = now
        (sizes, members), (old_sizes, old) = now, last
        if sizes == old_sizes:
            if all(map(operator.is_, members, old)):
                return set()
            places = compress(count(), map(operator.is_not, members, old))
            ends = [*accumulate(sizes)]
            return {numbers[bisect_right(ends, place)] for place in places}
        found, start, old_start = set(), 0, 0
        for number, size, old_size in zip(numbers, sizes, old_sizes, strict=True):
            end, old_end = start + size, old_start + old_size
            now_held, was = members[start:end], old[old_start:old_end]
            if size != old_size or not all(map(operator.is_, now_held, was)):
                found.add(number)
            start, old_start = end, old_end
        return found


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
