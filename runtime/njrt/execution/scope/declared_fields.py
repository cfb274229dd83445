"""The declared types of objects' attributes, and attributes that code has set to something else.

    class Enemy: health: int         find_field_problem("none", 3, "health", Enemy, ...)
                                     "`Enemy.health: int`: expected int, got str"
    before = read_fields([enemies])  the attributes with a declared type, of all objects reachable
    restore_misfits(before)          the problems that code has made; those attributes are as before

An attribute that did not fit before is not checked: there the program breaks its declaration.
Not detected: items of containers, objects that the code makes, and more than `MAX_OBJECTS` objects.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from njrt.data.outcome import UserValue
from njrt.execution.scope.declared_types import Resolver
from njrt.execution.scope.typecheck import find_type_mismatch
from njrt.values.introspection import (
    get_class_name,
    get_module_name,
    get_mro,
    is_user_class,
    make_attribute_reader,
    set_raw,
)
from njrt.values.rendering.signatures import format_type, read_annotations
from njrt.values.snapshot import read_state

MAX_OBJECTS = 10_000
"""The most parts of objects that are compared."""

UNSET = object()
"""The value of an attribute that is not set."""

Fields = list[tuple[UserValue, Mapping[str, Any], dict[str, UserValue]]]
"""Objects, with the types of their attributes, and the values of these."""


def read_field_types(cls: type) -> dict[str, Any]:
    """Return the annotations of a class and its bases; those that cannot be resolved are `Any`."""
    found: dict[str, Any] = {}
    for base in reversed(get_mro(cls)):
        resolver = Resolver(_get_namespace(base))
        for name, annotation in read_annotations(base).items():
            found[name] = Any
            with suppress(Exception):
                found[name] = resolver.resolve(annotation)
    return found


def find_field_problem(
    new: UserValue, old: UserValue, name: str, cls: type, types: Mapping[str, Any]
) -> str | None:
    """Return why an attribute may not get a value, with its declaration; `old` may be `UNSET`."""
    declared, module = types[name], _get_namespace(cls)
    problem = find_type_mismatch(new, declared, module)
    if problem is None or (old is not UNSET and find_type_mismatch(old, declared, module)):
        return None
    return f"`{get_class_name(cls)}.{name}: {format_type(declared)}`: {problem}"


def read_fields(values: Iterable[UserValue]) -> Fields:
    """Return the attributes with declared types of the program's objects reachable from values."""
    types_by_class: dict[int, Mapping[str, Any]] = {}
    fields: Fields = []
    for value, _ in read_state([*values], MAX_OBJECTS) or ():
        cls = type(value)
        if id(cls) not in types_by_class:
            types_by_class[id(cls)] = read_field_types(cls) if is_user_class(cls) else {}
        if types := types_by_class[id(cls)]:
            fields.append((value, types, _read_declared(value, types)))
    return fields


def restore_misfits(before: Fields) -> list[str]:
    """Put back each attribute whose new value does not fit, and return the problems."""
    problems: dict[str, None] = {}
    for value, types, held in before:
        for name, new in _read_declared(value, types).items():
            old = held.get(name, UNSET)
            if new is old:
                continue
            if problem := find_field_problem(new, old, name, type(value), types):
                problems[problem] = None
                set_raw(value, name, *([] if old is UNSET else [old]))
    return list(problems)


def _read_declared(value: UserValue, types: Mapping[str, Any]) -> dict[str, UserValue]:
    attributes = make_attribute_reader(type(value))(value)
    return {name: attributes[name] for name in types if name in attributes}


def _get_namespace(cls: type) -> dict[str, Any]:
    return vars(sys.modules.get(get_module_name(cls), sys))
