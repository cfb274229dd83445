"""The forms of values in the paper's effect sets: JSON for scalars, references for live objects.

    encode_wire([1, "a"], heap)                         {"type": "Ref", "addr": 1, "class": "list"}
    encode_level(heap.read(1), heap)                    [1, "a"]
    decode_wire([{"type": "Ref", "addr": 1}], heap)     [that very list]
    decode_wire({"type": "Object", "class": "Enemy", "attributes": [...]}, heap)     a new Enemy

Objects are shown one level deep, without running the program's code. A reference to a scalar
represents a `Cell`, which `setref` can change.
"""

from __future__ import annotations

import builtins
import inspect
import json
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import EnumType
from itertools import islice
from typing import Annotated, Any, cast

from njrt.block.agent.tools import REFERENCE_SCHEMA, get_address
from njrt.data.outcome import UserValue
from njrt.effects import WireValue
from njrt.interface import Handling, RawJson
from njrt.messages import Json, make_object_schema
from njrt.values.introspection import (
    find_member,
    get_class_name,
    get_class_namespace,
    get_mro,
    is_a,
    is_exactly,
    is_exception_class,
    read_attributes,
)
from njrt.values.rendering.describe import render_value
from njrt.values.rendering.hidden_attributes import is_masked, list_hidden_attributes
from njrt.values.rendering.one_line import (
    find_write_function,
    write_brief,
)
from njrt.values.rendering.redaction import Redactor
from njrt.values.rendering.shown_attributes import list_hidden_fields
from njrt.values.rendering.writer import ValueWriter, escape_unprintable

_SCALAR: Json = {"type": ["string", "number", "boolean", "null"]}
_VALUE: Json = {"$ref": "#/$defs/value"}
_VALUES: Json = {"type": "array", "items": _VALUE}
VALUE_FORMS: list[Json] = [
    _SCALAR,
    REFERENCE_SCHEMA,
    _VALUES,
    make_object_schema({"type": {"enum": ["tuple", "set", "dict"]}, "items": _VALUES}),
    make_object_schema(
        {"type": {"enum": ["Object"]}, "class": {"type": "string"}, "attributes": _VALUES}
    ),
    make_object_schema({"key": _VALUE, "value": _VALUE}),
]
# A recursive schema, so that any value can be sent although strict mode has no free-form objects.
# A key-value pair is a dict item or an attribute, and is refused elsewhere; sharing one list of
# forms takes fewer tokens.
Wire = Annotated[
    Any, RawJson(_VALUE | {"$defs": {"value": {"anyOf": VALUE_FORMS}}}, "value or reference")
]
"""An argument that is any value or reference."""
JumpValue = Annotated[Any, RawJson({"anyOf": [_SCALAR, REFERENCE_SCHEMA]}, "value or reference")]
"""An argument that is a scalar or a reference."""
Reference = Annotated[Any, RawJson(REFERENCE_SCHEMA, "reference")]
"""An argument that is a reference."""

JSON_SCALARS = (str, int, float, bool, type(None))
MAX_ITEMS = 100
MAX_TEXT_CHARS = 2000
MAX_SORTED_ELEMENTS = 1000
"""Most elements of a set that are sorted before the first of them are shown."""
MAX_INTEGER_BITS = 4096
"""Longer integers are shown as references: nobody reads them, and JSON does not hold them."""
_METHOD_TYPES = (types.FunctionType, classmethod, staticmethod, types.MethodDescriptorType)
_DESCRIPTOR_TYPES = (
    property,
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.ClassMethodDescriptorType,
)
_DESCRIBED_TYPES = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)
_BUILTIN_CONTAINERS = (str, dict, list, tuple, set, frozenset)


@dataclass(slots=True, eq=False)
class Cell:
    """The target of a reference to a scalar (state: the value and the variables bound to it)."""

    value: UserValue
    variables: list[str] = field(default_factory=list)


class Heap:
    """The objects of one run of a block, as its model refers to them."""

    def __init__(self, run: Handling[Any]) -> None:
        self.references = run.references
        self.lookup = run.lookup
        self.redactor = Redactor()

    def read(self, number: int) -> UserValue:
        """Return the object with a number, or the scalar in its cell."""
        held = self.references.get_object(number)
        return held.value if type(held) is Cell else held

    def find_class(self, name: str) -> type:
        """Return the class of this name: a referenced one, a variable or an exception of Python's.

        Raises ValueError if there is none.
        """
        for value in self.references.objects.values():
            for cls in (value, type(value)) if is_a(value, type) else (type(value),):
                if get_class_name(cls) == name:
                    return cls
        try:
            found = self.lookup(name)
        except LookupError:
            found = getattr(builtins, name, None)
            found = found if is_exception_class(found) else None
        if is_a(found, type):
            return cast(type, found)
        raise ValueError(f"there is no class `{name}` here")


def encode_wire(value: UserValue, heap: Heap, name: str = "") -> WireValue:
    """Return a value as the model receives it: plain scalars as JSON, all else as a reference.

    A scalar with the name of a secret is redacted.
    """
    if is_exactly(value, *JSON_SCALARS) and is_short_scalar(value):
        shown: WireValue = heap.redactor.write_named(name, value, lambda: value) if name else value
        return shown if type(shown) is not float or shown - shown == 0 else repr(shown)
    if is_exactly(value, datetime):
        return {"type": "datetime", "value": datetime.isoformat(value)}
    return {
        "type": "Ref",
        "addr": heap.references.get_number(value),
        "class": get_class_name(type(value.value if type(value) is Cell else value)),
    }


def is_short_scalar(scalar: UserValue) -> bool:
    """Return whether a scalar is short enough to be shown inline."""
    if type(scalar) is int:
        return scalar.bit_length() <= MAX_INTEGER_BITS
    return type(scalar) is not str or len(scalar) <= MAX_TEXT_CHARS


def encode_level(value: UserValue, heap: Heap) -> WireValue:
    """Return one level of an object: its items or attributes, each as `encode_wire` shows it."""
    if is_exactly(value, datetime, *JSON_SCALARS) and is_short_scalar(value):
        return encode_wire(value, heap)
    writer = ValueWriter(find_write_function, heap.redactor)
    if any(is_a(value, kind) for kind in _BUILTIN_CONTAINERS) and is_masked(value, writer):
        return {"class": get_class_name(type(value)), "about": write_brief(value, MAX_TEXT_CHARS)}
    if is_a(value, str):
        text = str.__getitem__(value, slice(MAX_TEXT_CHARS))
        return {"text": text, "length": str.__len__(value)}
    if is_a(value, dict):
        first = list(islice(dict.items(value), MAX_ITEMS))
        names = [key if type(key) is str else "" for key, _ in first]
        pairs = [
            {"key": encode_wire(key, heap), "value": encode_wire(item, heap, name)}
            for (key, item), name in zip(first, names, strict=True)
        ]
        return add_length({"type": "dict", "items": pairs}, dict.__len__(value))
    for kind in (list, tuple):
        if is_a(value, kind):
            some = kind.__getitem__(value, slice(MAX_ITEMS))
            items, length = [encode_wire(item, heap) for item in some], kind.__len__(value)
            if kind is tuple:
                return add_length({"type": "tuple", "items": items}, length)
            return items if length <= MAX_ITEMS else add_length({"items": items}, length)
    for unordered in (set, frozenset):
        if is_a(value, unordered):
            first_few = islice(unordered.__iter__(value), MAX_SORTED_ELEMENTS)
            ordered = sorted(first_few, key=lambda e: (get_class_name(type(e)), write_brief(e, 80)))
            elements = [encode_wire(element, heap) for element in ordered[:MAX_ITEMS]]
            return add_length({"type": "set", "items": elements}, unordered.__len__(value))
    return encode_object_level(value, heap)


def encode_object_level(value: UserValue, heap: Heap) -> WireValue:
    """Return one level of another object: its class, their attributes, methods and properties."""
    cls = type(value)
    if is_exactly(value, *_DESCRIBED_TYPES) or is_a(value, type) or is_a(value, types.ModuleType):
        held_by_class = list_class_attributes(value) if is_a(value, type) else {}
        shown = encode_attributes(held_by_class, heap)
        text = render_value(value, MAX_TEXT_CHARS, heap.redactor)
        about = {"class": get_class_name(cls), "about": text}
        return about | ({"attributes": shown} if shown else {})
    hidden = list_hidden_attributes(value, ValueWriter(find_write_function, heap.redactor))
    held = {
        name: attribute
        for name, attribute in read_attributes(value).items()
        if type(name) is str and name not in hidden
    }
    of_class: dict[str, UserValue] = {}
    methods, properties = set(), set()
    for base in reversed(get_mro(cls)[:-1]):
        of_class |= list_class_attributes(base)
        for name, member in get_class_namespace(base).items():
            if not name.startswith("_") and is_exactly(member, *_METHOD_TYPES):
                methods.add(name)
            elif not name.startswith("_") and is_a(member, property):
                properties.add(name)
    for name in (*held, *hidden, *methods, *properties):
        of_class.pop(name, None)
    level = {
        "class": get_class_name(cls),
        "attributes": encode_attributes(held, heap),
        "methods": sorted(methods)[:MAX_ITEMS],
    }
    if hidden:
        level["hidden"] = sorted(hidden)[:MAX_ITEMS]
    if of_class:
        level["class attributes"] = encode_attributes(of_class, heap)
    if properties:
        level["properties"] = sorted(properties)[:MAX_ITEMS]
    return level


def encode_attributes(held: Mapping[str, UserValue], heap: Heap) -> WireValue:
    """Return named values, each as `encode_wire` shows it."""
    return {name: encode_wire(value, heap, name) for name, value in islice(held.items(), MAX_ITEMS)}


def list_class_attributes(cls: type) -> dict[str, UserValue]:
    """Return a class's attributes without its methods and properties; for an enum, its members."""
    namespace = get_class_namespace(cls)
    if is_a(cls, EnumType):
        return dict(namespace.get("_member_map_") or {})
    hidden = list_hidden_fields(cls)
    plain = (
        (name, member)
        for name, member in namespace.items()
        if not name.startswith("__") and not is_exactly(member, *_METHOD_TYPES, *_DESCRIPTOR_TYPES)
        if name not in hidden
    )
    return dict(islice(plain, MAX_ITEMS))


def add_length(shown: dict[str, WireValue], length: int) -> dict[str, WireValue]:
    """Add the number of items if not all of them are shown."""
    return shown if length <= MAX_ITEMS else shown | {"length": length}


FORMS = (
    '{"type": "list" | "tuple" | "set", "items": [...]}, {"type": "dict", "items": [{"key": K,'
    ' "value": V}]}, {"type": "datetime", "value": ISO}, {"type": "Object", "class": NAME,'
    ' "attributes": [{"key": NAME, "value": V}]}, {"type": "Ref", "addr": N}'
)
"""The forms of a value that is not a JSON scalar or array."""


def decode_wire(wire: WireValue, heap: Heap) -> UserValue:
    """Return the value that a model sent, with objects in place of references.

    Raise ValueError if it has no known form; a JSON object is never taken for a dict.
    """

    def decode(wire: WireValue) -> UserValue:
        match wire:
            case {"type": "Ref", "addr": int(address)}:
                return heap.read(address)
            case {"type": "list", "items": list(items)}:
                return [decode(item) for item in items]
            case {"type": "tuple", "items": list(items)}:
                return tuple(decode(item) for item in items)
            case {"type": "set", "items": list(items)}:
                return {decode(item) for item in items}
            case {"type": "dict", "items": list(items)} if all(map(is_key_value_pair, items)):
                return {decode(item["key"]): decode(item["value"]) for item in items}
            case {"type": "datetime", "value": str(text)}:
                return datetime.fromisoformat(text)
            case {"type": "Object", "class": str(name), "attributes": attributes}:
                return make_object(heap.find_class(name), decode_attributes(attributes, decode))
            case {"type": "Class", "name": str(name), "bases": list(bases), **rest}:
                attributes = decode_attributes(rest.get("attributes"), decode)
                return make_class(name, [decode(base) for base in bases], attributes)
            case {"type": "notsupporteddatatype"}:
                raise ValueError(
                    "a notsupporteddatatype stands for a value that cannot be sent; send its"
                    " reference"
                )
            case Mapping():
                raise ValueError(f"{json.dumps(wire)[:200]} is no value; the forms are: {FORMS}")
            case list():
                return [decode(item) for item in wire]
            case _:
                return wire

    return decode(wire)


def decode_attributes(
    pairs: WireValue, decode: Callable[[WireValue], UserValue]
) -> dict[str, UserValue]:
    """Return the attributes in key-value pairs, without markers for values that cannot be sent."""
    if not isinstance(pairs, list) or not all(map(is_key_value_pair, pairs)):
        raise ValueError('attributes are a list of {"key": NAME, "value": V}')
    return {
        str(pair["key"]): decode(pair["value"])
        for pair in pairs
        if pair["value"] != {"type": "notsupporteddatatype"}
    }


def is_key_value_pair(item: WireValue) -> bool:
    """Return whether a model wrote `{"key": ..., "value": ...}`."""
    return isinstance(item, Mapping) and set(item) == {"key", "value"}


def make_object(cls: type, attributes: Mapping[str, UserValue]) -> UserValue:
    """Return a new instance: the constructor takes the attributes that it can, others are set."""
    if is_a(cls, EnumType):
        is_named = "_name_" in attributes
        return getattr(cls, attributes["_name_"]) if is_named else cls(attributes["_value_"])
    if issubclass(cls, BaseException):
        return cls(*attributes.get("args", attributes.values()))
    positional, named = [], {}
    for parameter in inspect.signature(cls).parameters.values():
        if parameter.name in attributes:
            if parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(attributes[parameter.name])
            elif parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                named[parameter.name] = attributes[parameter.name]
    made = cls(*positional, **named)
    set_attributes(made, attributes)
    return made


def make_class(
    name: str, bases: Sequence[UserValue], attributes: Mapping[str, UserValue]
) -> UserValue:
    """Return a new class; its bases must be classes."""
    if not all(is_a(base, type) for base in bases):
        raise ValueError("the bases of a class are references to classes")
    if special := next((name for name in attributes if name.startswith("__")), None):
        raise ValueError(f"`{special}` cannot be set")
    return type(name, tuple(bases), dict(attributes))


def set_attributes(target: UserValue, attributes: Mapping[str, UserValue]) -> None:
    """Set only the attributes that differ in value: models send methods and constants back, too."""
    for name, value in attributes.items():
        held = read_attributes(target).get(name, find_member(type(target), name))
        if held is value or (is_exactly(value, *JSON_SCALARS) and held == value):
            continue
        if name.startswith("__"):
            raise ValueError(f"`{name}` cannot be set")
        setattr(target, name, value)


def update_in_place(target: UserValue, value: UserValue) -> str | None:
    """Make an object equal to a value, in place, or return why that is impossible."""
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
        case _ if isinstance(value, Mapping):
            set_attributes(target, {str(name): attribute for name, attribute in value.items()})
        case _ if type(value) is type(target):
            set_attributes(target, read_attributes(value))
        case _:
            return f"to update this {name}, send a dict of its attributes"
    return None


def read_number(wire: WireValue) -> int:
    """Return the number in a reference; raise ValueError, worded for the model, otherwise."""
    number = get_address(wire)
    if number is None:
        raise ValueError('a reference is {"type": "Ref", "addr": N}, as you have been shown it')
    return int(number)


def format_wire(wire: WireValue) -> str:
    """Return a value as the text that the model reads."""
    return escape_unprintable(json.dumps(wire, ensure_ascii=False))
