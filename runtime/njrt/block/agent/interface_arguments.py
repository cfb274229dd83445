"""The arguments of an interface's handlers: what the model sends, and the values made of it.

reserve(product: Product, count: int = 1)     {"product": a reference, "count": an integer or null}
{"type": "Ref", "addr": 2}                    the product that a result has shown as reference 2
"favourite"                                   the value of that variable of the block

Values of types with a JSON form are passed as JSON, all others by a reference that a result has
shown or by the name of one of the block's variables, or by a list of those. Types with a JSON form
that are not scalars allow both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, get_args

from njrt.block.agent.answer import UNTYPED
from njrt.block.agent.tools import REFERENCE_SCHEMA, TEXT_SCHEMA, Parameter, get_address
from njrt.data.outcome import UserValue
from njrt.data.records import record, replace
from njrt.effects import WireValue
from njrt.execution.scope.bindings import Absent, Bound
from njrt.execution.scope.scope import Scope
from njrt.execution.scope.typecheck import find_type_mismatch
from njrt.interface import Aliases, ByReference, RawJson, References
from njrt.messages import Json
from njrt.models.strict_schema import REPLY, make_strict_schema
from njrt.values.adapters import DeclaredType
from njrt.values.introspection import get_class_name, is_exactly
from njrt.values.json_forms import JsonForm, describe_schema, make_json_form
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
    return _make_typed_argument(path, scope.types.get(path, UNTYPED))


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
    others = tuple(mark for mark in marks if not isinstance(mark, Aliases))
    return _make_typed_argument(name, Annotated[plain, *others] if others else plain)


def _make_typed_argument(name: str, declared: DeclaredType) -> Argument:
    """Return an argument that is JSON if its type has a JSON form, else a reference."""
    if not _takes_objects(declared):
        with suppress(TypeError):
            is_anything = declared in (Any, object)
            return _make_form_argument(name, make_json_form(UNTYPED if is_anything else declared))
    lists = [{"type": "array", "items": {"anyOf": _REFERENCE_FORMS}}] * bool(get_args(declared))
    parameter = Parameter(name, {"anyOf": [*_REFERENCE_FORMS, *lists]})
    return Argument(parameter, partial(_decode_reference, declared))


def _takes_objects(declared: DeclaredType) -> bool:
    """Return whether a type is or contains `Ref[...]`."""
    is_reference = ByReference in getattr(declared, "__metadata__", ())
    return is_reference or any(map(_takes_objects, get_args(declared)))


def _make_form_argument(name: str, form: JsonForm) -> Argument:
    """Return an argument that is JSON; unless it is a scalar, it may also be a reference."""
    strict = make_strict_schema(form.schema)
    schema = strict["properties"][REPLY]
    shown = describe_schema(form.schema_with_members)
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


_REFERENCE = 'a reference, {"type": "Ref", "addr": N}, or the name of a variable'
_REFERENCE_FORMS: list[Json] = [REFERENCE_SCHEMA, TEXT_SCHEMA]


def _pass_raw(value: WireValue, known: KnownObjects) -> UserValue:
    return value


def _decode_form(
    form: JsonForm, is_scalar: bool, value: WireValue, known: KnownObjects
) -> UserValue:
    if not is_scalar and isinstance(value, Mapping) and value.get("type") == "Ref":
        declared = Any if form.declared == UNTYPED else form.declared
        return _decode_reference(declared, value, known)
    return form.decode(value)


def _decode_reference(declared: DeclaredType, value: WireValue, known: KnownObjects) -> UserValue:
    """Return the object behind a reference, or those of a list, if the type allows it."""
    found = _find_object(value, known)
    if problem := find_type_mismatch(found, declared, known.scope.module):
        raise ValueError(problem)
    return found


def _find_object(value: WireValue, known: KnownObjects) -> UserValue:
    """Return the object behind a reference, the value of a variable, or a list of such objects."""
    if isinstance(value, str):
        return known.look_up(value)
    if isinstance(value, list):
        return [_find_object(item, known) for item in value]
    if (address := get_address(value)) is not None:
        return known.references.get_object(address)
    raise ValueError(f"it must be {_REFERENCE}")
