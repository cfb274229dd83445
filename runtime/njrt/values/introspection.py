"""Looks at objects without running any of their code.

    class Item:                         attributes_of(item)    {"name": "a", "_price": 2}
        total = property(...)           members_of(Item)       {"total": <property>, "__init__": ...}
        def __getattr__(self, n): ...   never called

Everything here goes through the descriptors of `type`, `object` and the built-in containers themselves,
so that no property, `__getattr__`, `__getattribute__`, `__class__`, `__dict__` or metaclass of the
program is ever evaluated, however hostile.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

from njrt.outcome import UserValue

_mro = type.__dict__["__mro__"].__get__
_name = type.__dict__["__name__"].__get__
_qualified_name = type.__dict__["__qualname__"].__get__
_namespace = type.__dict__["__dict__"].__get__
_bases = type.__dict__["__bases__"].__get__
_module = type.__dict__["__module__"].__get__
_module_namespace = vars(ModuleType)["__dict__"].__get__

_LIBRARIES = sys.stdlib_module_names | {
    "pydantic",
    "pydantic_core",
    "attr",
    "attrs",
    "typing_extensions",
    "numpy",
    "pandas",
}

Namespace = dict[str, Any]
"""Names and the objects behind them, as they stand in a class or an instance, nothing bound or called."""


def lineage_of(cls: type) -> tuple[type, ...]:
    """The classes that `cls` inherits from, itself first and `object` last."""
    lineage: tuple[type, ...] = _mro(cls)
    return lineage


def bases_of(cls: type) -> tuple[type, ...]:
    """The classes named in the class statement of `cls`, `object` left out."""
    return tuple(base for base in _bases(cls) if base is not object)


def namespace_of(cls: type) -> Namespace:
    """The names that stand in the body of `cls` itself, as a read-only view."""
    namespace: Namespace = _namespace(cls)
    return namespace


def class_name(cls: type) -> str:
    """The name of a class as one would write it near its definition: `Order.Line`, not `f.<locals>.Order.Line`."""
    qualified: str = _qualified_name(cls)
    return str.rpartition(qualified, "<locals>.")[2]


def module_name(cls: type) -> str:
    """The module in which a class was defined, or an empty string."""
    name = _module(cls)
    return name if type(name) is str else ""


def is_own(cls: type) -> bool:
    """Whether a class is the program's own, rather than Python's or a schema library's."""
    return module_name(cls).partition(".")[0] not in _LIBRARIES


def member_of(cls: type, name: str) -> Any:
    """What `name` is in a class or the nearest of its ancestors that has it, unbound; else None."""
    for base in lineage_of(cls):
        namespace = namespace_of(base)
        if name in namespace:
            return namespace[name]
    return None


def own_lineage(cls: type) -> tuple[type, ...]:
    """The classes in the lineage of `cls` that are the program's own."""
    return tuple(base for base in lineage_of(cls) if is_own(base))


def members_of(cls: type) -> Namespace:
    """All that a class and its own ancestors define, by name; an ancestor's comes after the class's."""
    members: Namespace = {}
    for base in own_lineage(cls):
        for name, member in namespace_of(base).items():
            members.setdefault(name, member)
    return members


def attributes_of(value: UserValue) -> Namespace:
    """The attributes that an object holds itself, in its `__dict__` or its slots."""
    return attribute_reader(type(value))(value)


def attribute_reader(cls: type) -> Callable[[UserValue], Namespace]:
    """Find out, once for all its instances, where those of a class hold their attributes."""
    if any(base is ModuleType for base in lineage_of(cls)):
        return lambda module: dict(_module_namespace(module))
    slots, namespace = tuple(_slots(cls)), _instance_namespace(cls)

    def read(value: UserValue) -> Namespace:
        held = namespace(value) if namespace is not None else {}
        attributes: Namespace = held if type(held) is dict else {}
        return {**dict(_filled(slots, value)), **attributes} if slots else attributes

    return read


def _instance_namespace(cls: type) -> Callable[[UserValue], Any] | None:
    for base in lineage_of(cls):
        descriptor = namespace_of(base).get("__dict__")
        if is_exactly(descriptor, GetSetDescriptorType, MemberDescriptorType):
            read: Callable[[UserValue], Any] = descriptor.__get__  # type: ignore[union-attr]
            return read
    return None


def _slots(cls: type) -> Iterator[tuple[str, MemberDescriptorType]]:
    for base in reversed(lineage_of(cls)):
        namespace = namespace_of(base)
        if "__slots__" in namespace:
            yield from (
                (name, member)
                for name, member in namespace.items()
                if type(member) is MemberDescriptorType
            )


def _filled(
    slots: tuple[tuple[str, MemberDescriptorType], ...], value: UserValue
) -> Iterator[tuple[str, Any]]:
    for name, member in slots:
        with suppress(AttributeError):  # the slot has not been set
            yield name, member.__get__(value)


def is_exactly(value: UserValue, *classes: type) -> bool:
    """Whether the type of a value is one of `classes`, none of their subclasses, and without `==`."""
    cls = type(value)
    return any(cls is known for known in classes)


def is_a(value: UserValue, cls: type) -> bool:
    """`isinstance` that asks the real type only: an object's `__class__` may be a property."""
    return type.__subclasscheck__(cls, type(value))


def innermost(function: FunctionType) -> FunctionType:
    """The function that decorators have wrapped with `functools.wraps`, a few layers down at most."""
    for _ in range(8):
        wrapped = function.__dict__.get("__wrapped__")
        if type(wrapped) is not FunctionType:
            break
        function = wrapped
    return function
