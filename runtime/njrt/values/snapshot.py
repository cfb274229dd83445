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

MOST = 20_000
"""Objects that are copied at most; it takes some ten milliseconds."""

_PASSED_OVER = (
    types.ModuleType,
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.GeneratorType,
    types.CoroutineType,
)
PutBack = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Kept:
    """What puts each of the objects back; `is_complete` is False where there were too many."""

    steps: tuple[PutBack, ...]
    is_complete: bool

    def put_back(self) -> None:
        """Make all objects what they were."""
        for step in self.steps:
            step()


def keep(values: Iterable[UserValue], most: int = MOST) -> Kept:
    """Remember all that is reachable from the values."""
    steps: list[PutBack] = []
    seen: set[int] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, _PASSED_OVER):
            continue
        if len(seen) >= most:
            return Kept((), False)
        seen.add(id(value))
        waiting += _inside(value, steps)
    return Kept(tuple(steps), True)


def _inside(value: UserValue, steps: list[PutBack]) -> Iterator[UserValue]:
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
    for name in _slots(value):
        yield from _slot(value, name, steps)


def _refill(
    value: UserValue, held: list[UserValue] | dict[UserValue, UserValue] | set[UserValue]
) -> None:
    """Put the same content into the same object, unless it is there already."""
    if isinstance(value, list | bytearray):
        value[:] = held
    else:
        value.clear()
        value.extend(held) if isinstance(value, deque) else value.update(held)


def _slots(value: UserValue) -> Iterator[str]:
    for kind in type(value).__mro__:
        names = kind.__dict__.get("__slots__", ())
        yield from (names,) if isinstance(names, str) else tuple(names)


def _slot(value: UserValue, name: str, steps: list[PutBack]) -> Iterator[UserValue]:
    if name in ("__dict__", "__weakref__"):
        return
    try:
        held = getattr(value, name)
    except AttributeError:
        return
    steps.append(lambda: object.__setattr__(value, name, held))
    yield held
