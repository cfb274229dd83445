"""Snapshots: the state of all objects that are reachable from some values, to restore it.

    snapshot = take_snapshot([graph, answers])  shallow copies of every list, dict, set and instance reachable
    graph.cited_by[3].add(5)
    snapshot.restore()                          in place: each object is the same object, as it was

Not restored: files, arrays and other objects of extension types, what modules, classes, functions and
methods hold, and the attributes of a class that defines `__dict__` itself. If more than `MAX_SNAPSHOT_OBJECTS` are reachable, nothing is copied.
"""

from __future__ import annotations

import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from njrt.outcome import UserValue
from njrt.values.introspection import Slot, list_slots, make_namespace_reader, read_slots

MAX_SNAPSHOT_OBJECTS = 20_000
"""Objects that are copied at most; it takes some ten milliseconds."""

_SKIPPED_TYPES = (
    types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.GeneratorType,
    types.CoroutineType,
)  # fmt: skip
RestoreStep = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The steps that restore the objects; `is_complete` is False if there were too many."""

    steps: tuple[RestoreStep, ...]
    is_complete: bool

    def restore(self) -> None:
        """Give all objects the state that they had."""
        for step in self.steps:
            step()


def take_snapshot(values: Iterable[UserValue], most: int = MAX_SNAPSHOT_OBJECTS) -> Snapshot:
    """Copy the state of all that is reachable from the values."""
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
    namespace = make_namespace_reader(type(value))(value)
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
    """Return a method of the built-in type: a method of a subclass may check, log or refuse changes."""
    for kind in _CONTAINERS:
        if issubclass(type(value), kind):
            return partial(getattr(kind, name), value)
    method: Callable[..., UserValue] = getattr(value, name)  # a proxy: its type is another
    return method


def _save_slots(
    value: UserValue, slots: tuple[Slot, ...], steps: list[RestoreStep]
) -> Iterator[UserValue]:
    # A subclass may have a slot of the same name: they are kept by descriptor, an unset one as ().
    held = [(slot[1], tuple(item for _, item in read_slots((slot,), value))) for slot in slots]

    def restore() -> None:
        for member, items in held:
            if items:
                member.__set__(value, *items)
            else:
                with suppress(AttributeError):  # it is not set now either
                    member.__delete__(value)

    steps.append(restore)
    yield from (item for _, items in held for item in items)
