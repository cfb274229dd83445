"""References: small integers that stand for live objects, for the effect sets that speak in them.

    wire_of([1, "a"], heap)           {"type": "Ref", "addr": 1, "class": "list"}
    level_of(heap.at(1), heap)        [1, "a"]
    value_of([{"type": "Ref", "addr": 1}], heap)     [that very list]

Nothing is encoded ahead of time and nothing is copied: an object gets its number when the model first
meets it, and the number always means the object itself. What is shown of one is one level of it, and none
of the program's code runs to show it.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from enum import EnumType
from itertools import islice

from njrt.effects import Reference, Wire
from njrt.outcome import UserValue
from njrt.rendering.describe import show
from njrt.rendering.one_line import brief
from njrt.values.introspection import (
    attributes_of,
    class_name,
    is_a,
    is_exactly,
    lineage_of,
    namespace_of,
)

SCALARS = (str, int, float, bool, type(None))
ITEMS_SHOWN = 100
TEXT_SHOWN = 2000
MOST_SORTED = 1000
"""Elements of a set that are put into an order before the first of them are shown."""
MOST_BITS = 4096
"""Integers of more bits are shown as references: nobody reads them, and JSON does not hold them."""
_METHODS = (types.FunctionType, classmethod, staticmethod, types.MethodDescriptorType)
_DESCRIPTORS = (
    property,
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.ClassMethodDescriptorType,
)
_TOLD_IN_WORDS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)


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
            raise ValueError(
                f"there is no reference {address}; there are: {known}; look at a variable to get one"
            ) from None


def wire_of(value: UserValue, heap: Heap) -> Wire:
    """A value as the model receives it: plain scalars as JSON, everything else as a reference."""
    if is_exactly(value, *SCALARS) and is_short(value):
        return value if type(value) is not float or value - value == 0 else repr(value)
    return {
        "type": "Ref",
        "addr": heap.reference_to(value),
        "class": class_name(type(value)),
    }


def is_short(scalar: UserValue) -> bool:
    """Whether a scalar is fit to be shown in the place where it stands."""
    if type(scalar) is int:
        return scalar.bit_length() <= MOST_BITS
    return type(scalar) is not str or len(scalar) <= TEXT_SHOWN


def level_of(value: UserValue, heap: Heap) -> Wire:
    """One level of an object: its items or attributes, each as `wire_of` shows it."""
    if is_exactly(value, *SCALARS) and is_short(value):
        return wire_of(value, heap)
    if is_a(value, str):
        text = str.__getitem__(value, slice(TEXT_SHOWN))
        return {"text": text, "length": str.__len__(value)}
    if is_a(value, dict):
        first = list(islice(dict.items(value), ITEMS_SHOWN))
        pairs = [{"key": wire_of(k, heap), "value": wire_of(v, heap)} for k, v in first]
        return with_rest({"type": "dict", "items": pairs}, dict.__len__(value))
    for kind in (list, tuple):
        if is_a(value, kind):
            some = kind.__getitem__(value, slice(ITEMS_SHOWN))
            items, length = [wire_of(item, heap) for item in some], kind.__len__(value)
            return items if length <= ITEMS_SHOWN else with_rest({"items": items}, length)
    for unordered in (set, frozenset):
        if is_a(value, unordered):
            some = first_of(unordered.__iter__(value))
            elements = [wire_of(element, heap) for element in some]
            return with_rest({"type": "set", "items": elements}, unordered.__len__(value))
    return object_level(value, heap)


def first_of(elements: Iterable[UserValue]) -> list[UserValue]:
    """The first elements of a set, in the order of their types and texts."""
    some = list(islice(elements, MOST_SORTED))
    return sorted(some, key=lambda each: (class_name(type(each)), brief(each, 80)))[:ITEMS_SHOWN]


def object_level(value: UserValue, heap: Heap) -> Wire:
    """One level of any other object: its class, its own attributes, the names of its methods."""
    cls = type(value)
    if is_exactly(value, *_TOLD_IN_WORDS) or is_a(value, type) or is_a(value, types.ModuleType):
        held_by_class = class_attributes(value) if is_a(value, type) else {}
        shown = {name: wire_of(each, heap) for name, each in held_by_class.items()}
        about = {"class": class_name(cls), "about": show(value, TEXT_SHOWN)}
        return about | ({"attributes": shown} if shown else {})
    held = islice(attributes_of(value).items(), ITEMS_SHOWN)
    methods = {
        name
        for base in lineage_of(cls)[:-1]
        for name, member in namespace_of(base).items()
        if not name.startswith("_") and is_exactly(member, *_METHODS)
    }
    return {
        "class": class_name(cls),
        "attributes": {name: wire_of(each, heap) for name, each in held if type(name) is str},
        "methods": sorted(methods)[:ITEMS_SHOWN],
    }


def class_attributes(cls: type) -> dict[str, UserValue]:
    """What a class itself holds beside its methods and properties: its members if it is an enum."""
    namespace = namespace_of(cls)
    if is_a(cls, EnumType):
        return dict(namespace.get("_member_map_") or {})
    plain = (
        (name, each)
        for name, each in namespace.items()
        if not name.startswith("__") and not is_exactly(each, *_METHODS, *_DESCRIPTORS)
    )
    return dict(islice(plain, ITEMS_SHOWN))


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
    name = class_name(type(target))
    match target:
        case str() | int() | float() | complex() | tuple() | frozenset() | bytes() | None:
            return f"a {name} cannot be changed in place; assign the variable instead"
        case list() | bytearray() if isinstance(value, list | tuple | bytes | bytearray):
            target[:] = value
        case dict() if isinstance(value, Mapping):
            fresh = dict(value)
            target.clear()
            target.update(fresh)
        case set() if isinstance(value, list | tuple | set | frozenset):
            members = set(value)
            target.clear()
            target.update(members)
        case list() | bytearray() | dict() | set():
            return f"a {name} can only become equal to another {name}"
        case _ if isinstance(value, Mapping) or type(value) is type(target):
            held = value if isinstance(value, Mapping) else attributes_of(value)
            for attribute, each in dict(held).items():
                setattr(target, str(attribute), each)
        case _:
            return f"to update this {name}, send a dict of its attributes"
    return None
