"""The declared types of objects' attributes, for what contained code sets.

    class Enemy: health: int         find_field_problem("none", 3, "health", Enemy, ...)
                                     "`Enemy.health: int`: expected int, got str"

An attribute that did not fit before is not checked: there the program breaks its declaration.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from njrt.data.outcome import UserValue
from njrt.execution.scope.declared_types import Resolver
from njrt.execution.scope.typecheck import find_type_mismatch
from njrt.values.introspection import (
    get_class_name,
    get_module_name,
    get_mro,
)
from njrt.values.rendering.signatures import format_type, read_annotations

UNSET = object()
"""The value of an attribute that is not set."""


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


def _get_namespace(cls: type) -> dict[str, Any]:
    return vars(sys.modules.get(get_module_name(cls), sys))
