"""References: small integers that stand for live objects, for the effect sets that speak in them.

    encode_wire([1, "a"], heap)           {"type": "Ref", "addr": 1, "class": "list"}
    encode_level(heap.at(1), heap)        [1, "a"]
    decode_wire([{"type": "Ref", "addr": 1}], heap)     [that very list]

Nothing is encoded ahead of time and nothing is copied: an object gets its number when the model first
meets it, and the number always means the object itself. What is shown of one is one level of it, and none
of the program's code runs to show it.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from enum import EnumType
from itertools import islice

from njrt.effects import ReferenceId, WireValue
from njrt.outcome import UserValue
from njrt.rendering.describe import render_value
from njrt.rendering.one_line import find_write_function, list_hidden_attributes, write_brief
from njrt.rendering.redaction import Redactor
from njrt.rendering.writer import ValueWriter
from njrt.values.introspection import (
    get_class_name,
    get_class_namespace,
    get_mro,
    is_a,
    is_exactly,
    read_attributes,
)

JSON_SCALARS = (str, int, float, bool, type(None))
MAX_ITEMS = 100
MAX_TEXT_CHARS = 2000
MAX_SORTED_ELEMENTS = 1000
"""Elements of a set that are put into an order before the first of them are shown."""
MAX_INTEGER_BITS = 4096
"""Integers of more bits are shown as references: nobody reads them, and JSON does not hold them."""
_METHOD_TYPES = (types.FunctionType, classmethod, staticmethod, types.MethodDescriptorType)
_DESCRIPTOR_TYPES = (
    property,
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.ClassMethodDescriptorType,
)
_DESCRIBED_TYPES = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)


class ReferenceTable:
    """The table of references of one run of a block. It keeps its objects alive until the run ends."""

    def __init__(self, redactor: Redactor | None = None) -> None:
        self.redactor = redactor or Redactor()
        self.objects: dict[ReferenceId, UserValue] = {}
        self.addresses: dict[int, ReferenceId] = {}

    def reference_to(self, value: UserValue) -> ReferenceId:
        """The number of an object: the same object always has the same one."""
        address = self.addresses.get(id(value))
        if address is None:
            address = len(self.objects) + 1
            self.objects[address] = value
            self.addresses[id(value)] = address
        return address

    def at(self, address: ReferenceId) -> UserValue:
        """The object behind a reference."""
        try:
            return self.objects[address]
        except KeyError:
            known = f"1 to {len(self.objects)}" if self.objects else "none yet"
            raise ValueError(
                f"there is no reference {address}; there are: {known}; look at a variable to get one"
            ) from None


def encode_wire(value: UserValue, heap: ReferenceTable, name: str = "") -> WireValue:
    """A value as the model receives it: plain scalars as JSON, everything else as a reference.

    A scalar with the name of a secret is redacted.
    """
    if is_exactly(value, *JSON_SCALARS) and is_short_scalar(value):
        shown: WireValue = heap.redactor.write_named(name, value, lambda: value) if name else value
        return shown if type(shown) is not float or shown - shown == 0 else repr(shown)
    return {
        "type": "Ref",
        "addr": heap.reference_to(value),
        "class": get_class_name(type(value)),
    }


def is_short_scalar(scalar: UserValue) -> bool:
    """Whether a scalar is fit to be shown in the place where it stands."""
    if type(scalar) is int:
        return scalar.bit_length() <= MAX_INTEGER_BITS
    return type(scalar) is not str or len(scalar) <= MAX_TEXT_CHARS


def encode_level(value: UserValue, heap: ReferenceTable) -> WireValue:
    """One level of an object: its items or attributes, each as `encode_wire` shows it."""
    if is_exactly(value, *JSON_SCALARS) and is_short_scalar(value):
        return encode_wire(value, heap)
    if is_a(value, str):
        text = str.__getitem__(value, slice(MAX_TEXT_CHARS))
        return {"text": text, "length": str.__len__(value)}
    if is_a(value, dict):
        first = list(islice(dict.items(value), MAX_ITEMS))
        pairs = [
            {
                "key": encode_wire(k, heap),
                "value": encode_wire(v, heap, k if type(k) is str else ""),
            }
            for k, v in first
        ]
        return add_length({"type": "dict", "items": pairs}, dict.__len__(value))
    for kind in (list, tuple):
        if is_a(value, kind):
            some = kind.__getitem__(value, slice(MAX_ITEMS))
            items, length = [encode_wire(item, heap) for item in some], kind.__len__(value)
            return items if length <= MAX_ITEMS else add_length({"items": items}, length)
    for unordered in (set, frozenset):
        if is_a(value, unordered):
            some = take_first_sorted(unordered.__iter__(value))
            elements = [encode_wire(element, heap) for element in some]
            return add_length({"type": "set", "items": elements}, unordered.__len__(value))
    return encode_object_level(value, heap)


def take_first_sorted(elements: Iterable[UserValue]) -> list[UserValue]:
    """The first elements of a set, in the order of their types and texts."""
    some = list(islice(elements, MAX_SORTED_ELEMENTS))
    return sorted(
        some, key=lambda element: (get_class_name(type(element)), write_brief(element, 80))
    )[:MAX_ITEMS]


def encode_object_level(value: UserValue, heap: ReferenceTable) -> WireValue:
    """One level of any other object: its class, its own attributes, the names of its methods."""
    cls = type(value)
    if is_exactly(value, *_DESCRIBED_TYPES) or is_a(value, type) or is_a(value, types.ModuleType):
        held_by_class = list_class_attributes(value) if is_a(value, type) else {}
        shown = {name: encode_wire(held, heap, name) for name, held in held_by_class.items()}
        text = render_value(value, MAX_TEXT_CHARS, heap.redactor)
        about = {"class": get_class_name(cls), "about": text}
        return about | ({"attributes": shown} if shown else {})
    hidden = list_hidden_attributes(value, ValueWriter(find_write_function, heap.redactor))
    held = islice(read_attributes(value).items(), MAX_ITEMS)
    methods = {
        name
        for base in get_mro(cls)[:-1]
        for name, member in get_class_namespace(base).items()
        if not name.startswith("_") and is_exactly(member, *_METHOD_TYPES)
    }
    return {
        "class": get_class_name(cls),
        "attributes": {
            name: encode_wire(attribute, heap, name)
            for name, attribute in held
            if type(name) is str and name not in hidden
        },
        "methods": sorted(methods)[:MAX_ITEMS],
    }


def list_class_attributes(cls: type) -> dict[str, UserValue]:
    """What a class itself holds beside its methods and properties: its members if it is an enum."""
    namespace = get_class_namespace(cls)
    if is_a(cls, EnumType):
        return dict(namespace.get("_member_map_") or {})
    plain = (
        (name, member)
        for name, member in namespace.items()
        if not name.startswith("__") and not is_exactly(member, *_METHOD_TYPES, *_DESCRIPTOR_TYPES)
    )
    return dict(islice(plain, MAX_ITEMS))


def add_length(shown: dict[str, WireValue], length: int) -> dict[str, WireValue]:
    """Say how many there are where not all of them are shown."""
    return shown if length <= MAX_ITEMS else shown | {"length": length}


def decode_wire(wire: WireValue, heap: ReferenceTable) -> UserValue:
    """The value that a model sent: JSON, in which references stand for the objects themselves."""
    match wire:
        case {"type": "Ref", "addr": int(address)}:
            return heap.at(address)
        case {"type": "dict", "items": list(items)} if all(map(is_key_value_pair, items)):
            return {decode_wire(i["key"], heap): decode_wire(i["value"], heap) for i in items}
        case {"type": "set", "items": list(items)}:
            return {decode_wire(item, heap) for item in items}
        case Mapping():
            return {key: decode_wire(value, heap) for key, value in wire.items()}
        case list():
            return [decode_wire(item, heap) for item in wire]
        case _:
            return wire


def is_key_value_pair(item: WireValue) -> bool:
    """Whether a model wrote `{"key": ..., "value": ...}`."""
    return isinstance(item, Mapping) and set(item) == {"key", "value"}


def update_in_place(target: UserValue, value: UserValue) -> str | None:
    """Make an object equal to a value, in place; or say why that cannot be."""
    name = get_class_name(type(target))
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
            held = value if isinstance(value, Mapping) else read_attributes(value)
            for name, attribute in dict(held).items():
                setattr(target, str(name), attribute)
        case _:
            return f"to update this {name}, send a dict of its attributes"
    return None
