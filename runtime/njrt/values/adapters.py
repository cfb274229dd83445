"""Pydantic's type adapters, one for each type, and its errors as text.

get_adapter(list[int]).validate_python(["x"])       ValidationError
format_validation_errors(error)                     "0: Input should be a valid integer, unable to parse ..."
"""

from __future__ import annotations

import sys
import typing
from functools import lru_cache
from types import UnionType
from typing import Any, Union

DeclaredType = Any
"""A Python type or annotation."""


@lru_cache(maxsize=256)
def _make_adapter(declared: DeclaredType) -> Any:
    from pydantic import ConfigDict, PydanticUserError, TypeAdapter

    checked = convert_typed_dicts(declared) if sys.version_info < (3, 12) else declared
    try:
        return TypeAdapter(checked)
    except PydanticUserError:
        return TypeAdapter(checked, config=ConfigDict())


def get_adapter(declared: DeclaredType) -> Any:
    """Return the `TypeAdapter` of a type; each type has only one."""
    try:
        return _make_adapter(declared)
    except TypeError:  # unhashable, such as Annotated[int, []]
        return _make_adapter.__wrapped__(declared)


def convert_typed_dicts(declared: DeclaredType) -> DeclaredType:
    """Return the type with each TypedDict remade by typing_extensions: before 3.12 pydantic accepts no other."""
    if typing.is_typeddict(declared):
        from typing_extensions import TypedDict, get_type_hints

        presence: tuple[Any, ...] = (typing.Required, typing.NotRequired)
        keys = {}
        for key, hint in get_type_hints(declared, include_extras=True).items():
            said: Any = typing.Required if key in declared.__required_keys__ else typing.NotRequired
            if typing.get_origin(hint) in presence:  # string annotations miss `__required_keys__`
                said = typing.get_origin(hint)
                (hint,) = typing.get_args(hint)
            keys[key] = said[convert_typed_dicts(hint)]
        return TypedDict(declared.__name__, keys)  # type: ignore[operator]
    origin: Any = typing.get_origin(declared)
    arguments = typing.get_args(declared)
    converted = tuple(
        convert_typed_dicts(part) if isinstance(part, type) or typing.get_origin(part) else part
        for part in arguments
    )
    if all(new is old for new, old in zip(converted, arguments, strict=True)):
        return declared
    if origin in (Union, UnionType):
        return Union[converted]  # noqa: UP007
    return origin[converted] if origin is not None else declared


def format_validation_errors(error: Any, most: int = 3) -> str:
    """Return the first few errors of a pydantic `ValidationError`, each with its location, on one line."""
    return "; ".join(
        ": ".join(filter(None, [".".join(map(str, problem["loc"])), problem["msg"]]))
        for problem in error.errors(include_url=False, include_context=False)[:most]
    )
