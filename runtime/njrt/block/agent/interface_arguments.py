"""The arguments of an interface's handlers: what the model sends, and the values made of it.

reserve(product: Product, count: int = 1)     {"product": a reference, "count": an integer or null}
{"type": "Ref", "addr": 2}                    the product that a result has shown as reference 2
"favourite"                                   the value of that variable of the block

Values of types with a JSON form are passed as JSON, other objects by a reference that a result has
shown or by the name of one of the block's variables. Types with a JSON form that are not scalars
allow both.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from types import UnionType
from typing import Annotated, Any, Union

from njrt.block.agent.answer import UNTYPED
from njrt.block.agent.tools import REFERENCE_SCHEMA, TEXT_SCHEMA, Parameter, get_address
from njrt.data.outcome import UserValue
from njrt.data.records import record, replace
from njrt.effects import WireValue
from njrt.execution.scope.bindings import Absent, Bound
from njrt.execution.scope.scope import Scope
from njrt.execution.scope.typecheck import find_type_mismatch
from njrt.interface import Aliases, ByReference, RawJson, References
from njrt.messages import Json, round_floats
from njrt.models.strict_schema import REPLY, make_strict_schema
from njrt.values.adapters import DeclaredType
from njrt.values.introspection import get_class_name, is_exactly
from njrt.values.json_forms import JsonForm, describe_schema, make_json_form, move_definitions
from njrt.values.rendering.signatures import format_type
from njrt.values.rendering.writer import escape_unprintable

_NULL: Json = {"type": "null"}
OMITTED = object()
"""The value of an argument that was not sent and has a default."""


class UnknownVariableError(LookupError, ValueError):
    """A model or a handler names a variable that the block does not have."""


@record
class KnownObjects:
    """The objects that the model of one run can name: in variables, and by number."""

    scope: Scope
    references: References

    def look_up(self, name: str) -> UserValue:
        """Return the value of a variable that the prompt names, or that the block has bound.

        Raises UnknownVariableError, worded for the model, if it has no value.
        """
        is_named = name in self.scope.names or name in self.scope.scratch
        match self.scope.lookup(name):
            case Bound(value) if is_named:
                return value
            case Absent.UNBOUND:
                raise UnknownVariableError(f"`{name}` is not bound yet")
        names = ", ".join(self.scope.names) or "none"
        raise UnknownVariableError(f"there is no variable `{name}`; the variables are: {names}")


def format_reference(value: UserValue, references: References) -> str:
    """Return the reference to an object as text; empty for a value that JSON holds."""
    if is_exactly(value, str, int, float, bool, type(None)):
        return ""
    number, kind = references.get_number(value), get_class_name(type(value))
    shown: Json = {"type": "Ref", "addr": number, "class": kind}
    return escape_unprintable(json.dumps(shown, ensure_ascii=False))


Decode = Callable[[WireValue, KnownObjects], UserValue]
"""Makes a handler's argument; raises ValueError, worded for the model, if that is impossible."""


@record
class Argument:
    """An argument of a handler: how a model sends it, and how it becomes a value of the program."""

    parameter: Parameter
    decode: Decode
    shown: str = "reference"
    """Its form, for models that do not read schemas."""
    has_default: bool = False
    """Whether the function has a default for it."""
    accepts_none: bool = False
    """Whether None is one of its values; otherwise `null` means the default."""


def make_output_argument(path: str, scope: Scope) -> Argument:
    """Return an output's `done` argument: JSON if its type has a JSON form, else a reference."""
    declared = scope.types.get(path, Any if scope.has_unresolved_type(path) else UNTYPED)
    try:
        if declared is not Any:
            return _make_form_argument(path, make_json_form(declared))
    except TypeError:
        pass
    return _make_mixed_argument(path, declared)


def make_argument(name: str, declared: DeclaredType, has_default: bool) -> Argument:
    """Return the argument of a parameter with this type."""
    marks = getattr(declared, "__metadata__", ())
    aliases = tuple(alias for mark in marks if isinstance(mark, Aliases) for alias in mark.names)
    argument = _make_required_argument(name, declared.__origin__ if marks else declared, marks)
    schema, default = argument.parameter.schema, OMITTED if has_default else ...
    if has_default and not argument.accepts_none:
        definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
        schema = {"anyOf": [*schema.get("anyOf", [schema]), _NULL]} | definitions
    parameter = Parameter(name, schema, aliases, default)
    return replace(argument, parameter=parameter, has_default=has_default)


def _make_required_argument(name: str, plain: DeclaredType, marks: tuple[Any, ...]) -> Argument:
    """Return the argument of a parameter that has no default."""
    for raw in (mark for mark in marks if isinstance(mark, RawJson)):
        return Argument(Parameter(name, raw.schema), _pass_raw, raw.shown)
    if ByReference in marks:
        parameter = Parameter(name, {"anyOf": _REFERENCE_FORMS})
        return Argument(parameter, partial(_decode_reference, plain))
    others = tuple(mark for mark in marks if not isinstance(mark, Aliases))
    if _takes_objects(plain):
        return _make_mixed_argument(name, plain)
    try:
        form = make_json_form(Annotated[plain, *others] if others else plain)
    except TypeError:
        return _make_mixed_argument(name, plain)
    return _make_form_argument(name, form)


def _takes_objects(declared: DeclaredType) -> bool:
    """Return whether a type is or contains `Ref[...]`."""
    return _is_reference(declared) or any(map(_takes_objects, typing.get_args(declared)))


def _is_reference(declared: DeclaredType) -> bool:
    return ByReference in getattr(declared, "__metadata__", ())


def _make_form_argument(name: str, form: JsonForm) -> Argument:
    """Return an argument that is JSON; unless it is a scalar, it may also be a reference."""
    strict = make_strict_schema(form.schema)
    schema = strict["properties"][REPLY]
    shown = describe_schema(form.schema)
    choices = schema.get("anyOf", [schema])
    is_scalar = all("enum" in each or each.get("type") in _SCALAR_TYPES for each in choices)
    if not is_scalar:
        schema = {"anyOf": [*choices, REFERENCE_SCHEMA]}
        shown += " | reference"
    accepts_none = False
    with suppress(ValueError):
        accepts_none = form.decode(None) is None
    if "$defs" in strict:
        schema = {**schema, "$defs": strict["$defs"]}
    decode = partial(_decode_form, form, is_scalar)
    return Argument(Parameter(name, schema), decode, shown, accepts_none=accepts_none)


_SCALAR_TYPES = ("string", "integer", "number", "boolean", "null")


def _make_mixed_argument(name: str, declared: DeclaredType) -> Argument:
    """Return an argument without JSON form: references, even in lists, and JSON union members."""
    definitions: dict[str, Json] = {}
    schema = move_definitions(make_mixed_schema(declared), definitions)
    choices = schema.get("anyOf", [schema])
    parameter = Parameter(
        name, {"anyOf": choices} | ({"$defs": definitions} if definitions else {})
    )
    shown = "reference" if choices[:2] == _REFERENCE_FORMS else "values or references"
    decode = partial(_decode_mixed, declared)
    return Argument(parameter, decode, shown, accepts_none=_NULL in choices)


_REFERENCE = 'a reference, {"type": "Ref", "addr": N}, or the name of a variable'
_REFERENCE_FORMS: list[Json] = [REFERENCE_SCHEMA, TEXT_SCHEMA]


def make_mixed_schema(declared: DeclaredType) -> Json:
    """Return the strict schema of a type, with a reference for each part that has no JSON form."""
    parts = [part for part in typing.get_args(declared) if part is not ...]
    origin: Any = typing.get_origin(declared) or declared
    if _is_reference(declared):
        return {"anyOf": [*_REFERENCE_FORMS]}
    if origin in (Union, UnionType):
        schemas = [make_mixed_schema(part) for part in parts]
        choices = [choice for each in schemas for choice in each.get("anyOf", [each])]
        unique = [each for number, each in enumerate(choices) if each not in choices[:number]]
        return {"anyOf": unique}
    if declared in (Any, object):
        return {"anyOf": [*_REFERENCE_FORMS, {"type": "number"}, {"type": "boolean"}, _NULL]}
    if _is_listed(origin) and parts:
        schemas = [make_mixed_schema(part) for part in parts]
        items: Json = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
        return {"anyOf": [*_REFERENCE_FORMS, {"type": "array", "items": items}]}
    try:
        form = make_json_form(declared)
    except TypeError:
        return {"anyOf": [*_REFERENCE_FORMS]}
    strict = make_strict_schema(form.schema)
    definitions = {"$defs": strict["$defs"]} if "$defs" in strict else {}
    return {**strict["properties"][REPLY], **definitions}


def _pass_raw(value: WireValue, known: KnownObjects) -> UserValue:
    return round_floats(value)


def _decode_form(
    form: JsonForm, is_scalar: bool, value: WireValue, known: KnownObjects
) -> UserValue:
    if not is_scalar and isinstance(value, Mapping) and value.get("type") == "Ref":
        declared = Any if form.declared == UNTYPED else form.declared
        return _decode_reference(declared, value, known)
    return form.decode(value)


def _decode_reference(declared: DeclaredType, value: WireValue, known: KnownObjects) -> UserValue:
    """Return the object behind a reference, or the value of a variable of the block."""
    if isinstance(value, str):
        found = known.look_up(value)
    elif (address := get_address(value)) is not None:
        found = known.references.get_object(address)
    else:
        raise ValueError(f"it must be {_REFERENCE}")
    if problem := find_type_mismatch(found, declared, known.scope.module):
        raise ValueError(problem)
    return found


def _decode_mixed(declared: DeclaredType, value: WireValue, known: KnownObjects) -> UserValue:
    """Return a value with objects for references; a string not of the type names a variable."""
    found = _decode_part(declared, value, known)
    if problem := find_type_mismatch(found, declared, known.scope.module):
        is_sent = isinstance(value, list | Mapping) and get_address(value) is None
        raise ValueError(f"{problem}; send {_REFERENCE}" if is_sent else problem)
    return found


def _decode_part(declared: DeclaredType, value: WireValue, known: KnownObjects) -> UserValue:
    origin: Any = typing.get_origin(declared) or declared
    parts = typing.get_args(declared)
    if _is_reference(declared):
        return _decode_reference(parts[0], value, known)
    if origin in (Union, UnionType):
        return _decode_choice(parts, value, known)
    if isinstance(value, Mapping) and value.get("type") == "Ref":
        return _decode_reference(Any, value, known)
    if isinstance(value, list) and _is_listed(origin):
        kinds = parts if origin is tuple and ... not in parts else parts[:1] * len(value)
        items = [
            _decode_part(kind, item, known)
            for kind, item in zip(kinds or [Any] * len(value), value, strict=False)
        ]
        is_made = origin in (tuple, set, frozenset) and len(items) == len(value)
        return origin(items) if is_made else items
    try:
        form = make_json_form(declared)
    except TypeError:
        is_plain = isinstance(value, list | Mapping) or declared in (Any, object)
        return round_floats(value) if is_plain else _decode_reference(Any, value, known)
    return _decode_form(form, False, value, known)


def _decode_choice(
    kinds: tuple[DeclaredType, ...], value: WireValue, known: KnownObjects
) -> UserValue:
    """Return the value, decoded as the first alternative that it fits."""
    for kind in kinds:
        with suppress(ValueError):
            return _decode_mixed(kind, value, known)
    is_sent = isinstance(value, list | Mapping) and get_address(value) is None
    way_out = f"; send {_REFERENCE}" if is_sent else ""
    raise ValueError(f"expected {' | '.join(map(format_type, kinds))}{way_out}")


def _is_listed(origin: Any) -> bool:
    """Return whether a type is one of collections that a list stands for."""
    is_collection = isinstance(origin, type) and issubclass(origin, Collection)
    return is_collection and not issubclass(origin, Mapping)
