"""The state of all objects reachable from some values, to find out whether they have changed.

    state = read_state(graph)                   every reachable object, with its parts
    is_same_state(state, read_state(graph))     False once any of them holds other objects

The contents of functions, classes and modules are read only for the value itself.
"""

from __future__ import annotations

import types
from collections import OrderedDict, deque
from collections.abc import Callable
from operator import is_
from typing import Any

from njrt.data.outcome import UserValue
from njrt.values.introspection import (
    find_member,
    get_class_namespace,
    get_mro,
    has_known_state,
    is_a,
    make_attribute_reader,
    read_attributes,
)

MAX_COMPARED_PARTS = 50_000
"""The most parts of objects that are compared, which takes some ten milliseconds."""

State = list[tuple[UserValue, list[UserValue]]]
"""Objects with their parts: items, keys, and attributes with names."""

PartReader = Callable[[UserValue, int], list[UserValue] | None]

_ATOMS = frozenset(
    map(id, (bool, int, float, complex, str, bytes, type(None), type(...), range, object))
)
"""The ids of types without parts: ids, because hashing a type may run its metaclass's code."""

_COMPARED_CONTAINERS: tuple[Any, ...] = (list, OrderedDict, dict, tuple, set, frozenset, deque)
_SHALLOW_TYPES = {
    *map(id, (type, types.ModuleType, types.FunctionType, types.MethodType)),
    *map(id, (types.BuiltinFunctionType, types.GetSetDescriptorType, types.MemberDescriptorType)),
    *map(id, (property, classmethod, staticmethod)),
}
"""Identities of types of objects that are compared only if an output names them."""


def read_state(value: UserValue, most: int = MAX_COMPARED_PARTS) -> State | None:
    """Return everything reachable from a value, without running code; None if too much or unknown.

    The contents of functions, classes and modules are read only for the value itself.
    """
    state: State = []
    seen: set[int] = set()
    waiting = [value]
    readers: dict[int, PartReader] = {}
    if _is_shallow(type(value)):
        namespace = get_class_namespace(value) if is_a(value, type) else read_attributes(value)
        waiting = [*namespace, *namespace.values()]
        state.append((value, waiting[:]))
    while waiting:
        value = waiting.pop()
        kind = id(type(value))
        if kind in _ATOMS or id(value) in seen:
            continue
        seen.add(id(value))
        if kind not in readers:
            readers[kind] = _make_part_reader(type(value))
        try:
            parts = readers[kind](value, most)
        except Exception:  # another thread is changing a container
            return None
        if parts is None or (most := most - len(parts) - 1) < 0:
            return None
        state.append((value, parts))
        if not _ATOMS.issuperset(map(id, map(type, parts))):
            waiting += parts
    return state


def is_same_state(one: State | None, other: State | None) -> bool:
    """Return whether two states of an object hold the same objects; False if either is unknown."""
    return (
        one is not None
        and other is not None
        and len(one) == len(other)
        and all(
            value is current and len(parts) == len(held) and all(map(is_, parts, held))
            for (value, parts), (current, held) in zip(one, other, strict=True)
        )
    )


def _make_part_reader(cls: type) -> PartReader:
    """Return a function listing the parts of a class's instances; None if too many or unknown."""
    read = make_attribute_reader(cls)
    kind: Any = next((one for one in _COMPARED_CONTAINERS if issubclass(cls, one)), None)
    if kind is not None:
        is_plain, is_mapping = cls is kind, kind in (dict, OrderedDict)

        def list_items(value: UserValue, most: int) -> list[UserValue] | None:
            if kind.__len__(value) > most:
                return None
            parts = [*kind.__iter__(value), *(kind.values(value) if is_mapping else ())]
            return parts if is_plain else [*parts, *read(value), *read(value).values()]

        return list_items
    if _is_shallow(cls):
        return lambda value, most: []
    if has_known_state(cls):
        return lambda value, most: [*(found := read(value)), *found.values()]
    is_changeable = _is_changeable(cls)
    return lambda value, most: None if is_changeable else []


def _is_shallow(cls: type) -> bool:
    return not _SHALLOW_TYPES.isdisjoint(map(id, get_mro(cls)))  # a class may define `__eq__`


def _is_changeable(cls: type) -> bool:
    """Return whether an extension type's instances may change; not if they are hashed by value."""
    is_by_value = find_member(cls, "__eq__") is not vars(object)["__eq__"]
    return not is_by_value or find_member(cls, "__hash__") is None
