"""What a name or an attribute is bound to, read without running code where that is possible."""

from __future__ import annotations

import enum
from collections import namedtuple
from collections.abc import Iterable, Mapping
from types import MemberDescriptorType, ModuleType
from typing import Any

from njrt.data.outcome import UserValue
from njrt.data.records import record
from njrt.values.introspection import (
    find_member,
    get_class_namespace,
    get_mro,
    is_a,
    is_exactly,
    read_attributes,
)


@record
class Bound:
    """The binding of a variable to a value."""

    value: UserValue


@record
class Inherited(Bound):
    """A class default: the attribute is not set on the object itself."""


class Absent(enum.Enum):
    """Why a name has no value: the variable is unbound, or the name does not exist here."""

    UNBOUND = "unbound"
    UNKNOWN = "unknown"


SavedBindings = Mapping[str, UserValue | Absent]
"""The values of some variables at one moment."""


def find_part(value: UserValue, attributes: Iterable[str]) -> UserValue | None:
    """Return the value at a path of attributes of modules, without running code; None if absent."""
    for attribute in attributes:
        if not is_a(value, ModuleType):
            return None
        value = read_attributes(value).get(attribute)
    return value


def read_attribute(owner: UserValue, name: str) -> Bound | Absent:
    """Return an attribute's value or class default, or the object itself if only code gives it."""
    cls = type(owner)
    own = (
        list(map(get_class_namespace, get_mro(owner)))
        if is_a(owner, type)
        else [read_attributes(owner)]
    )
    for namespace in own:
        if name in namespace:
            return Bound(namespace[name])
    for base in get_mro(cls):
        held: Any = get_class_namespace(base).get(name, Absent.UNKNOWN)
        if is_exactly(held, MemberDescriptorType, _FieldOfTupleType):
            try:
                return Bound(held.__get__(owner))
            except AttributeError:  # the slot is not set
                return Absent.UNBOUND
        if held is not Absent.UNKNOWN:
            return Inherited(held) if find_member(type(held), "__get__") is None else Bound(owner)
    return Absent.UNBOUND if find_member(cls, "__getattr__") is None else Bound(owner)


_FieldOfTupleType: type = type(vars(namedtuple("_Field", "name"))["name"])
"""The class of the descriptors that read the fields of named tuples."""


def read_path(value: UserValue, attributes: list[str]) -> UserValue | Absent:
    """Return the value at a path of attributes, which may run the program's code."""
    try:
        for attribute in attributes:
            value = getattr(value, attribute)
    except Exception:
        return Absent.UNBOUND
    return value
