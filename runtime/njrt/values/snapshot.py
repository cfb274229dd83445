"""Snapshots: the state of all objects reachable from some values, in order to restore it.

    snapshot = take_snapshot([graph, answers])  shallow copies of every object reachable
    graph.cited_by[3].add(5)
    snapshot.restore()                          in place: each object stays the same object

    state = read_state(graph)                   every reachable object, with its parts
    is_same_state(state, read_state(graph))     False once any of them holds other objects

Not restored: files, arrays and other objects of extension types; the contents of modules, classes,
functions and methods; attributes of a class that defines `__dict__` itself. Above
`MAX_SNAPSHOT_OBJECTS`, nothing is copied.
"""

from __future__ import annotations

import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from operator import is_
from typing import Any

from njrt.data.outcome import UserValue
from njrt.data.records import record
from njrt.values.introspection import (
    Slot,
    find_member,
    get_class_namespace,
    get_mro,
    has_known_state,
    is_a,
    list_slots,
    make_attribute_reader,
    make_namespace_reader,
    read_attributes,
    read_slots,
)

MAX_SNAPSHOT_OBJECTS = 20_000
"""The most objects that are copied, which takes some ten milliseconds."""

_SKIPPED_TYPES = (
    types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType, types.MethodType,
    types.GeneratorType, types.CoroutineType,
)  # fmt: skip
RestoreStep = Callable[[], None]


@record
class Snapshot:
    """The steps that restore the objects; `is_complete` is False if there were too many."""

    steps: tuple[RestoreStep, ...]
    is_complete: bool

    def restore(self) -> None:
        """Restore the state of all objects."""
        for step in self.steps:
            step()


def take_snapshot(values: Iterable[UserValue], most: int = MAX_SNAPSHOT_OBJECTS) -> Snapshot:
    """Copy the state of everything reachable from the values."""
    steps: list[RestoreStep] = []
    seen: set[int] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, _SKIPPED_TYPES):
            continue
        if len(seen) >= most:
            return Snapshot((), False)
        seen.add(id(value))
        waiting += _save_object(value, steps)
    return Snapshot(tuple(steps), True)


def _save_object(value: UserValue, steps: list[RestoreStep]) -> Iterator[UserValue]:
    """Add the steps that restore one object, and yield its parts."""
    match value:
        case str() | bytes() | int() | float() | complex() | None:
            return
        case list() | deque() | bytearray():
            items = list(_get_method(value, "__iter__")())
            steps.append(lambda: _refill(value, items))
            yield from items
        case dict():
            table = dict(_get_method(value, "items")())
            steps.append(lambda: _refill(value, table))
            yield from table.keys()
            yield from table.values()
        case set():
            members = set(_get_method(value, "__iter__")())
            steps.append(lambda: _refill(value, members))
            yield from members
        case tuple() | frozenset():
            yield from value
    if slots := list_slots(type(value)):
        yield from _save_slots(value, slots, steps)
    namespace = make_namespace_reader(type(value), None)(value)
    if namespace is not None:
        attributes = dict(namespace)
        steps.append(lambda: _refill(namespace, attributes))
        yield from attributes.values()


def _refill(
    value: UserValue, content: list[UserValue] | dict[UserValue, UserValue] | set[UserValue]
) -> None:
    if isinstance(value, list | bytearray):
        _get_method(value, "__setitem__")(slice(None), content)
        return
    _get_method(value, "clear")()
    if isinstance(content, dict):
        set_item = _get_method(value, "__setitem__")
        for key, item in content.items():
            set_item(key, item)
    else:
        _get_method(value, "extend" if isinstance(value, deque) else "update")(content)


_CONTAINERS = (list, OrderedDict, dict, set, deque, bytearray)


def _get_method(value: UserValue, name: str) -> Callable[..., UserValue]:
    """Return a method of the built-in type: a subclass's may check, log or refuse changes."""
    for kind in _CONTAINERS:
        if issubclass(type(value), kind):
            return partial(getattr(kind, name), value)
    method: Callable[..., UserValue] = getattr(value, name)  # a proxy, whose type is different
    return method


def _save_slots(
    value: UserValue, slots: tuple[Slot, ...], steps: list[RestoreStep]
) -> Iterator[UserValue]:
    # Kept by descriptor, as a subclass may have a slot of the same name; an unset slot is ().
    held = [(slot[1], tuple(item for _, item in read_slots((slot,), value))) for slot in slots]

    def restore() -> None:
        for member, items in held:
            if items:
                member.__set__(value, *items)
            else:
                with suppress(AttributeError):  # it is unset now, too
                    member.__delete__(value)

    steps.append(restore)
    yield from (item for _, items in held for item in items)


# ── whether an object has changed ────────────────────────────────────────────────────────────────

MAX_COMPARED_PARTS = 50_000
"""The most parts of objects that are compared, which takes some ten milliseconds."""

State = list[tuple[UserValue, list[UserValue]]]
"""Objects with their parts: items, keys, bytes, and attributes with names."""

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
    return _list_bytes if _is_changeable(cls) else lambda value, most: []


def _is_shallow(cls: type) -> bool:
    return not _SHALLOW_TYPES.isdisjoint(map(id, get_mro(cls)))  # a class may define `__eq__`


def _is_changeable(cls: type) -> bool:
    """Return whether an extension type's instances may change; not if they are hashed by value."""
    is_by_value = find_member(cls, "__eq__") is not vars(object)["__eq__"]
    return not is_by_value or find_member(cls, "__hash__") is None


def _list_bytes(value: Any, most: int) -> list[UserValue] | None:
    """Return an array's bytes as numbers; None for other objects, such as iterators and files."""
    try:
        with memoryview(value) as view:
            is_known = view.nbytes <= most and "O" not in view.format
            return list(view.tobytes()) if is_known else None
    except (TypeError, ValueError, BufferError):
        return None
