"""List the attributes of an object that are shown, as declared by its class.

    password: str = field(repr=False)       hidden
    a dataclass, pydantic, attrs            its fields, except those kept out of the `repr`
    any other class                         all attributes, public ones first

A handwritten `__repr__` takes precedence over both, because it may mask the object's values.
"""

from __future__ import annotations

import types
from itertools import islice
from typing import Any

from njrt.data.outcome import UserValue
from njrt.values.introspection import (
    Namespace,
    find_member,
    get_class_namespace,
    get_mro,
    is_a,
    read_attributes,
    unwrap_function,
)
from njrt.values.rendering.libraries import ORM_STATE

MAX_ATTRIBUTES = 1_000
"""The most attributes of an object that are shown."""
_STRUCTURAL_MODULES = ("collections", "types")


def has_custom_repr(cls: type) -> bool:
    """Return whether a class has a handwritten `__repr__`, as a plain method."""
    method = find_member(cls, "__repr__")
    if type(method) is types.WrapperDescriptorType:
        return method is not object.__dict__["__repr__"]
    if type(method) is not types.FunctionType:
        return False
    function = unwrap_function(method)
    # Dataclasses and attrs compile methods from text; dataclasses wrap them against recursion.
    file = function.__code__.co_filename
    if file.startswith("<attrs"):
        return any(callable(field.repr) for field in find_member(cls, "__attrs_attrs__"))
    if function.__globals__.get("__name__") == "pydantic.main":
        arguments = find_member(cls, "__repr_args__")
        return getattr(arguments, "__module__", None) not in (
            "pydantic.main",
            "pydantic._internal._repr",
        )
    is_generated = file == "<string>" and function is not method
    return not is_generated and function.__globals__.get("__name__") not in _STRUCTURAL_MODULES


def list_shown_attributes(value: UserValue) -> list[tuple[str, UserValue]]:
    """Return an object's shown attributes: its class's fields if any, else all, public ones first.

    Fields that the class keeps out of its `repr`, such as a password, are left out here too.
    """
    return order_attributes(read_attributes(value), list_shown_fields(type(value)))


def order_attributes(held: Namespace, fields: list[str] | None) -> list[tuple[str, UserValue]]:
    """Return an object's attributes to show: these fields if given, else all, public ones first."""
    if fields is not None:
        extra = held.get("__pydantic_extra__")
        others = list(extra.items()) if type(extra) is dict else []
        return [*((name, held[name]) for name in fields if name in held), *others]
    public: list[tuple[str, UserValue]] = []
    private: list[tuple[str, UserValue]] = []
    for name, item in islice(held.items(), MAX_ATTRIBUTES):
        if type(name) is str and not name.endswith("__") and name not in ORM_STATE:
            (private if name.startswith("_") else public).append((name, item))
    return public + private


def list_hidden_fields(cls: type) -> frozenset[str]:
    """Return the fields that a dataclass, pydantic model or attrs class keeps out of its `repr`."""
    fields = _read_fields(cls) or {}
    return frozenset(name for name, in_repr in fields.items() if in_repr is not True)


def list_shown_fields(cls: type) -> list[str] | None:
    """Return the field names of a dataclass, pydantic model, attrs or mapped class, else None."""
    if (fields := _read_fields(cls)) is not None:
        return [name for name, in_repr in fields.items() if in_repr]
    if find_member(cls, "_sa_class_manager") is not None:
        bases = reversed(get_mro(cls))  # an instance orders its columns as they were loaded
        return [name for base in bases for name in get_class_namespace(base) if name[0] != "_"]
    return None


def _read_fields(cls: type) -> dict[str, Any] | None:
    """Return the fields that a class declares, each with the `repr` of its declaration."""
    fields = find_member(cls, "__dataclass_fields__") or find_member(cls, "__pydantic_fields__")
    if type(fields) is dict:
        return {name: getattr(field, "repr", True) for name, field in fields.items()}
    fields = find_member(cls, "__attrs_attrs__")
    return {field.name: field.repr for field in fields} if is_a(fields, tuple) else None
