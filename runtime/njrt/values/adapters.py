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
    from pydantic import ConfigDict, PydanticUserError, TypeAdapter

    checked = convert_typed_dicts(declared) if sys.version_info < (3, 12) else declared
    try:
        return TypeAdapter(checked)
    except PydanticUserError as error:
        if error.code == "typed-dict-version":
            raise
        return TypeAdapter(checked, config=ConfigDict())


def get_adapter(declared: DeclaredType) -> Any:
    """Return the `TypeAdapter` of a type; each type has only one."""
    try:
        return _make_adapter(declared)
    except TypeError:  # unhashable, such as Annotated[int, []]
        return _make_adapter.__wrapped__(declared)


def convert_typed_dicts(declared: DeclaredType) -> DeclaredType:
    """Return a type with TypedDicts remade by typing_extensions, as pydantic needs before 3.12."""
    made: dict[DeclaredType, DeclaredType] = {}

    def convert(kind: type) -> DeclaredType:
        if kind not in made and typing.is_typeddict(kind):
            _convert_typed_dict(kind, made, convert)
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
    return origin[converted]


def _convert_typed_dict(
    declared: DeclaredType,
    made: dict[DeclaredType, DeclaredType],
    convert: Callable[[type], DeclaredType],
) -> None:
    """Remake a TypedDict; it is in `made` before its keys are converted, as they may lead back."""
    from typing_extensions import TypedDict, get_type_hints

    presence: tuple[Any, ...] = (typing.Required, typing.NotRequired)
    make: Any = TypedDict
    converted = make(declared.__name__, {})
    made[declared] = converted
    required: set[str] = set(declared.__required_keys__)
    for key, hint in get_type_hints(declared, include_extras=True).items():
        said: Any = typing.get_origin(hint)
        if said in presence:
            # String annotations miss `__required_keys__`.
            required = required | {key} if said is typing.Required else required - {key}
            (hint,) = typing.get_args(hint)
        converted.__annotations__[key] = convert_classes(hint, convert)
    converted.__required_keys__ = frozenset(required)
    converted.__optional_keys__ = frozenset(converted.__annotations__) - required


def format_validation_errors(error: Any, most: int = 3) -> str:
    """Return the first few errors of a pydantic `ValidationError`, with locations, on one line."""
    return "; ".join(
        ": ".join(filter(None, [".".join(map(str, problem["loc"])), problem["msg"]]))
        for problem in error.errors(include_url=False, include_context=False)[:most]
    )
