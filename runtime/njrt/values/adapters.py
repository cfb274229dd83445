"""Pydantic's type adapters, one for each type, and its errors as text.

get_adapter(list[int]).validate_python(["x"])       ValidationError
format_validation_errors(error)                     "0: Input should be a valid integer, ..."
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable
from functools import lru_cache
from types import UnionType
from typing import Any, Union

DeclaredType = Any
"""A Python type or annotation."""


@lru_cache(maxsize=256)
def _make_adapter(declared: DeclaredType) -> Any:
    from pydantic import TypeAdapter

    checked = convert_typed_dicts(declared) if sys.version_info < (3, 12) else declared
    return TypeAdapter(checked)


def get_adapter(declared: DeclaredType) -> Any:
    """Return the `TypeAdapter` of a type; each type has only one."""
    try:
        return _make_adapter(declared)
    except TypeError:  # unhashable, such as Annotated[int, []]
        return _make_adapter.__wrapped__(declared)


def convert_typed_dicts(declared: DeclaredType) -> DeclaredType:
    """Return a type with TypedDicts remade by typing_extensions, as pydantic needs before 3.12."""
    from typing_extensions import TypedDict, get_type_hints

    made: dict[Any, Any] = {}
    make: Any = TypedDict

    def convert(kind: Any) -> DeclaredType:
        if kind not in made and typing.is_typeddict(kind):
            made[kind] = make(kind.__name__, {})  # before its keys, as they may lead back
            made[kind].__required_keys__ = kind.__required_keys__
            for key, hint in get_type_hints(kind, include_extras=True).items():
                made[kind].__annotations__[key] = convert_classes(hint, convert)
        return made.get(kind, kind)

    return convert_classes(declared, convert)


def convert_classes(
    declared: DeclaredType, convert: Callable[[type], DeclaredType]
) -> DeclaredType:
    """Return the type with the classes in it replaced by the results of a function."""
    origin: Any = typing.get_origin(declared)
    if origin is None:
        return convert(declared) if isinstance(declared, type) else declared
    arguments = typing.get_args(declared)
    is_literal = origin is typing.Literal
    converted = arguments if is_literal else tuple(convert_classes(it, convert) for it in arguments)
    if all(new is old for new, old in zip(converted, arguments, strict=True)):
        return declared
    if origin in (Union, UnionType):
        return Union[converted]  # noqa: UP007
    return origin[converted if len(converted) > 1 else converted[0]]


def format_validation_errors(error: Any, most: int = 3) -> str:
    """Return the first few errors of a pydantic `ValidationError`, with locations, on one line."""
    return "; ".join(
        ": ".join(filter(None, [".".join(map(str, problem["loc"])), problem["msg"]]))
        for problem in error.errors(include_url=False, include_context=False)[:most]
    )
