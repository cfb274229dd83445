"""Putting objects back as they were: what is reachable from some values, as far as it can be told.

    kept = keep([graph, answers])           shallow copies of every list, dict, set and instance reachable
    graph.cited_by[3].add(5)
    kept.put_back()                         in place: each object is the same object, as it was

Files, arrays and other objects of foreign kinds are left as they are, and so is what modules, classes and
functions hold. More than `MOST` objects are not copied at all.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from njrt.outcome import UserValue

MAX_SNAPSHOT_OBJECTS = 20_000
"""Objects that are copied at most; it takes some ten milliseconds."""

_SKIPPED_TYPES = (
    types.ModuleType,
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.GeneratorType,
    types.CoroutineType,
)
RestoreStep = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What puts each of the objects back; `is_complete` is False where there were too many."""

    steps: tuple[RestoreStep, ...]
    is_complete: bool

    def restore(self) -> None:
        """Make all objects what they were."""
        for step in self.steps:
            step()


def take_snapshot(values: Iterable[UserValue], most: int = MAX_SNAPSHOT_OBJECTS) -> Snapshot:
    """Remember all that is reachable from the values."""
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
    """Note how to put one object back, and give what it holds."""
    match value:
        case str() | bytes() | int() | float() | complex() | None:
            return
        case list() | deque() | bytearray():
            held = list(value)
            steps.append(lambda: _refill(value, held))
            yield from held
        case dict():
            items = dict(value)
            steps.append(lambda: _refill(value, items))
            yield from items.keys()
            yield from items.values()
        case set():
            members = set(value)
            steps.append(lambda: _refill(value, members))
            yield from members
        case tuple() | frozenset():
            yield from value
    namespace = getattr(value, "__dict__", None)
    if type(namespace) is dict:
        attributes = dict(namespace)
        steps.append(lambda: _refill(namespace, attributes))
        yield from attributes.values()
    for name in _list_slots(value):
        yield from _save_slot(value, name, steps)


def _refill(
    value: UserValue, held: list[UserValue] | dict[UserValue, UserValue] | set[UserValue]
) -> None:
    """Put the same content into the same object, unless it is there already."""
    if isinstance(value, list | bytearray):
        value[:] = held
    else:
        value.clear()
        value.extend(held) if isinstance(value, deque) else value.update(held)


def _list_slots(value: UserValue) -> Iterator[str]:
    for kind in type(value).__mro__:
        names = kind.__dict__.get("__slots__", ())
        yield from (names,) if isinstance(names, str) else tuple(names)


def _save_slot(value: UserValue, name: str, steps: list[RestoreStep]) -> Iterator[UserValue]:
    if name in ("__dict__", "__weakref__"):
        return
    try:
        held = getattr(value, name)
    except AttributeError:
        return
    steps.append(lambda: object.__setattr__(value, name, held))
    yield held
