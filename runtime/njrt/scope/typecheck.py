"""Whether a value fits a declared type, and if not, what to tell the model.

    misfit(["a", 1], list[str])    "expected list[str]; item 1: Input should be a valid string (got int)"
    misfit(3, float)               None: an int is fine where a float is asked for

Plain classes are checked with `isinstance`; everything else by pydantic in its strict mode, imported when
first needed. The value is only looked at: it is never converted, copied or replaced. As in that mode a
bool is no int (for a model's answer it is nearly always a mistake), and an int is a float.
"""

from __future__ import annotations

import collections.abc
import typing
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union

from njrt.outcome import UserValue
from njrt.rendering.signatures import format_type

_ACCEPTED_NUMBERS: Mapping[type, tuple[type, ...]] = {
    int: (int,),
    float: (float, int),
    complex: (complex, float, int),
}
"""What the numeric tower of PEP 484 accepts; bool, though a subclass of int, is not among it."""


def find_type_mismatch(value: UserValue, declared: Any) -> str | None:
    """Say in one line how `value` fails to be of the type `declared`, or None where it fits.

    A declaration that no check can be made of (an unresolved name, a foreign kind of type) fits all.
    """
    if declared is Any or declared is object:
        return None
    if declared is None:
        declared = NoneType
    try:
        fits = _check_instance(value, declared)
    except Exception as error:  # the program's own __instancecheck__
        return f"expected {format_type(declared)}; checking it failed: {type(error).__name__}"
    if fits is not None:
        return None if fits else f"expected {format_type(declared)}, got {format_type(type(value))}"
    try:
        validate = _make_validator(declared)
    except TypeError:  # an unhashable declaration, such as Annotated[int, []]
        validate = _make_validator.__wrapped__(declared)
    return validate(value) if validate is not None else None


def resolve_types(
    declare: Callable[[], Mapping[str, Any]], module: dict[str, Any]
) -> Mapping[str, Any]:
    """Evaluate declared types, strings inside them too; leave out what cannot be evaluated."""
    try:
        declared = declare()
    except Exception:  # a name that exists under TYPE_CHECKING only, for example
        return {}
    return {
        path: found
        for path, annotation in declared.items()
        if (found := _evaluate_annotation(annotation, module)) is not _UNRESOLVED
    }


_UNRESOLVED = object()


def _evaluate_annotation(annotation: Any, module: dict[str, Any]) -> Any:
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return annotation

    def holder() -> None: ...

    holder.__annotations__ = {"it": annotation}
    try:
        return typing.get_type_hints(holder, module, include_extras=True)["it"]
    except Exception:
        return _UNRESOLVED


def _check_instance(value: UserValue, declared: Any) -> bool | None:
    """Whether `value` is an instance of the plain class `declared`; None where that cannot be asked."""
    if not isinstance(declared, type) or typing.get_args(declared) or typing.is_typeddict(declared):
        return None
    if declared in _ACCEPTED_NUMBERS:
        return isinstance(value, _ACCEPTED_NUMBERS[declared]) and not isinstance(value, bool)
    try:
        return isinstance(value, declared)
    except TypeError:  # a Protocol that is not runtime_checkable: nothing can be checked
        return True


@lru_cache(maxsize=256)
def _make_validator(declared: Any) -> Callable[[UserValue], str | None] | None:
    """A strict check made by pydantic, or None where pydantic knows no such type."""
    from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError

    adapter: TypeAdapter[Any]
    try:
        checked = _require_instances(declared)
        try:
            adapter = TypeAdapter(checked, config=ConfigDict(arbitrary_types_allowed=True))
        except PydanticUserError:  # a TypedDict, for example, brings its own configuration
            adapter = TypeAdapter(checked)
    except Exception:
        origin = typing.get_origin(declared)
        return _make_origin_check(declared, origin) if isinstance(origin, type) else None

    def validate(value: UserValue) -> str | None:
        try:
            adapter.validate_python(value, strict=True)
        except ValidationError as error:
            return f"expected {format_type(declared)}; {_format_first_errors(error)}"
        except Exception as error:
            return f"expected {format_type(declared)}; checking it failed: {error}"
        return None

    return validate


def _require_instances(declared: Any) -> Any:
    """The type as pydantic must see it: also inside it a model means an instance, never a dict."""
    origin, arguments = typing.get_origin(declared), typing.get_args(declared)
    if typing.is_typeddict(declared):
        return _convert_typed_dict(declared)
    if isinstance(declared, type) and hasattr(declared, "__pydantic_validator__"):
        from pydantic import InstanceOf

        return InstanceOf[declared]  # type: ignore[misc]
    if not arguments or origin in (Literal, type, collections.abc.Callable):
        return declared
    if origin is Annotated:
        return Annotated[(_require_instances(arguments[0]), *arguments[1:])]
    inside = tuple(_require_instances(argument) for argument in arguments)
    return Union[inside] if origin in (Union, UnionType) else origin[inside]  # noqa: UP007


def _convert_typed_dict(declared: Any) -> Any:
    """The same TypedDict, made by the module whose TypedDicts pydantic accepts on every Python."""
    from typing_extensions import TypedDict, get_type_hints

    presence: tuple[Any, ...] = (typing.Required, typing.NotRequired)
    keys = {}
    for key, hint in get_type_hints(declared, include_extras=True).items():
        if typing.get_origin(hint) in presence:
            (hint,) = typing.get_args(hint)
        inside = _require_instances(hint)
        required = key in declared.__required_keys__
        keys[key] = typing.Required[inside] if required else typing.NotRequired[inside]
    return TypedDict(declared.__name__, keys)  # type: ignore[operator]


def _make_origin_check(declared: Any, origin: type) -> Callable[[UserValue], str | None]:
    def validate(value: UserValue) -> str | None:
        if isinstance(value, origin):
            return None
        return f"expected {format_type(declared)}, got {format_type(type(value))}"

    return validate


def _format_first_errors(error: Any, most: int = 3) -> str:
    """The first few errors of a pydantic `ValidationError`, each with its place in the value."""
    found = error.errors(include_url=False, include_context=False)
    lines = []
    for problem in found[:most]:
        where = ".".join(map(str, problem["loc"]))
        got = format_type(type(problem["input"]))
        lines.append(f"{f'at {where}: ' if where else ''}{problem['msg']} (got {got})")
    if len(found) > most:
        lines.append(f"and {len(found) - most} more")
    return "; ".join(lines)
