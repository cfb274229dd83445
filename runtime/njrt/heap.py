"""References: small integers that stand for live objects, for the effect sets that speak in them.

    wire_of([1, "a"], heap)           {"type": "Ref", "addr": 1, "class": "list"}
    level_of(heap.at(1), heap)        [1, "a"]
    value_of([{"type": "Ref", "addr": 1}], heap)     [that very list]

Nothing is encoded ahead of time and nothing is copied: an object gets its number when the model first
meets it, and the number always means the object itself. What is shown of one is one level of it.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Iterable, Mapping

from njrt.effects import Reference, Wire
from njrt.outcome import UserValue

SCALARS = (str, int, float, bool, type(None))
ITEMS_SHOWN = 100
TEXT_SHOWN = 2000


class Heap:
    """The table of references of one run of a block. It keeps its objects alive until the run ends."""

    def __init__(self) -> None:
        self.objects: dict[Reference, UserValue] = {}
        self.addresses: dict[int, Reference] = {}

    def reference_to(self, value: UserValue) -> Reference:
        """The number of an object: the same object always has the same one."""
        address = self.addresses.get(id(value))
        if address is None:
            address = len(self.objects) + 1
            self.objects[address] = value
            self.addresses[id(value)] = address
        return address

    def at(self, address: Reference) -> UserValue:
        """The object behind a reference."""
        try:
            return self.objects[address]
        except KeyError:
            known = f"1 to {len(self.objects)}" if self.objects else "none yet"
            raise LookupError(f"there is no reference {address}; there are: {known}") from None


def wire_of(value: UserValue, heap: Heap) -> Wire:
    """A value as the model receives it: plain scalars as JSON, everything else as a reference."""
    if type(value) in SCALARS and not (isinstance(value, str) and len(value) > TEXT_SHOWN):
        return value if not isinstance(value, float) or value - value == 0 else repr(value)
    return {
        "type": "Ref",
        "addr": heap.reference_to(value),
        "class": type(value).__name__,
    }


def level_of(value: UserValue, heap: Heap) -> Wire:
    """One level of an object: its items or attributes, each as `wire_of` shows it."""
    if isinstance(value, str):
        return {"text": value[:TEXT_SHOWN], "length": len(value)}
    if isinstance(value, dict):
        first = itertools.islice(dict.items(value), ITEMS_SHOWN)
        pairs = [{"key": wire_of(k, heap), "value": wire_of(v, heap)} for k, v in first]
        return with_rest({"type": "dict", "items": pairs}, dict.__len__(value))
    if isinstance(value, list | tuple):
        items = [wire_of(item, heap) for item in value[:ITEMS_SHOWN]]
        return items if len(value) <= ITEMS_SHOWN else with_rest({"items": items}, len(value))
    if isinstance(value, set | frozenset):
        elements = sorted(
            itertools.islice(value, ITEMS_SHOWN), key=lambda item: (type(item).__name__, str(item))
        )
        return with_rest(
            {"type": "set", "items": [wire_of(element, heap) for element in elements]}, len(value)
        )
    return object_level(value, heap)


def object_level(value: UserValue, heap: Heap) -> Wire:
    """One level of any other object: its class, its own attributes, the names of its methods."""
    shown: dict[str, Wire] = {"class": type(value).__name__}
    if callable(value):
        shown |= {
            "callable": getattr(value, "__name__", "?"),
            "doc": (inspect.getdoc(value) or "")[:200],
        }
    attributes = {
        name: wire_of(attribute, heap)
        for name, attribute in itertools.islice(own_attributes(value), ITEMS_SHOWN)
    }
    methods = sorted(
        name
        for name in dir(type(value))
        if not name.startswith("_") and callable(inspect.getattr_static(type(value), name, None))
    )
    return shown | {"attributes": attributes, "methods": methods[:ITEMS_SHOWN]}


def own_attributes(value: UserValue) -> Iterable[tuple[str, UserValue]]:
    """The attributes that an object itself holds, in `__dict__` or in slots; no property is evaluated."""
    with contextlib.suppress(AttributeError):
        yield from list(object.__getattribute__(value, "__dict__").items())
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else tuple(slots):
            member = base.__dict__.get(slot)
            if inspect.ismemberdescriptor(member):
                with contextlib.suppress(AttributeError):
                    yield slot, member.__get__(value)


def with_rest(shown: dict[str, Wire], length: int) -> dict[str, Wire]:
    """Say how many there are where not all of them are shown."""
    return shown if length <= ITEMS_SHOWN else shown | {"length": length}


def value_of(wire: Wire, heap: Heap) -> UserValue:
    """The value that a model sent: JSON, in which references stand for the objects themselves."""
    match wire:
        case {"type": "Ref", "addr": int(address)}:
            return heap.at(address)
        case {"type": "dict", "items": list(items)} if all(map(is_pair, items)):
            return {value_of(i["key"], heap): value_of(i["value"], heap) for i in items}
        case {"type": "set", "items": list(items)}:
            return {value_of(item, heap) for item in items}
        case Mapping():
            return {key: value_of(value, heap) for key, value in wire.items()}
        case list():
            return [value_of(item, heap) for item in wire]
        case _:
            return wire


def is_pair(item: Wire) -> bool:
    """Whether a model wrote `{"key": ..., "value": ...}`."""
    return isinstance(item, Mapping) and set(item) == {"key", "value"}


def update(target: UserValue, value: UserValue) -> str | None:
    """Make an object equal to a value, in place; or say why that cannot be."""
    match target:
        case list() | bytearray():
            target[:] = value
        case dict():
            fresh = dict(value)
            target.clear()
            target.update(fresh)
        case set():
            members = set(value)
            target.clear()
            target.update(members)
        case str() | int() | float() | tuple() | frozenset() | bytes() | None:
            return (
                f"a {type(target).__name__} cannot be changed in place; assign the variable instead"
            )
        case _ if isinstance(value, Mapping):
            for name, attribute in value.items():
                setattr(target, str(name), attribute)
        case _:
            return f"to update a {type(target).__name__}, send a dict of its attributes"
    return None
