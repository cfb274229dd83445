"""The effects of an interface as operations of one block, and the arguments of its handlers from JSON.

def reserve(run: Handling, product: Product, count: int = 1)     Operation("reserve", ..., parameters=(product, count))
Perform("shop.reserve", {"product": {"type": "Ref", "addr": 2}, "count": None})     reserve(run, the product)

Values of types with a JSON form are passed as JSON, other objects by a reference that a result has shown or by the
name of one of the block's variables. Types with a JSON form that are not scalars allow both.
"""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from types import UnionType
from typing import Annotated, Any, Union

from njrt.agent.answer import UNTYPED
from njrt.agent.conversation import InterfaceForm
from njrt.agent.prompt import build_interface_prompt
from njrt.agent.tools import (
    REFERENCE_SCHEMA,
    TEXT_SCHEMA,
    Operation,
    Parameter,
    format_call_form,
    get_address,
)
from njrt.block import Block
from njrt.effects import Perform, WireValue
from njrt.errors import ConfigurationError, OutputTypeError
from njrt.execution.execute import make_time_limit_error
from njrt.interface import Aliases, ByReference, Handler, Handling, Interface, RawJson, References
from njrt.messages import Json, Protocol, make_object_schema, round_floats
from njrt.models.strict_schema import REPLY, is_entry, make_strict_schema, restore_value
from njrt.outcome import Completed, Outcome, UserValue
from njrt.records import record, replace
from njrt.rendering.signatures import format_type
from njrt.rendering.writer import escape_unprintable
from njrt.scope.scope import Absent, Bound, Scope
from njrt.scope.typecheck import find_type_mismatch
from njrt.timeouts import DeadlineExceeded, call_with_timeout
from njrt.values.adapters import DeclaredType
from njrt.values.introspection import get_class_name, is_exactly
from njrt.values.json_forms import JsonForm, describe_schema, make_json_form, move_definitions

_NULL: Json = {"type": "null"}
_OMITTED = object()

Decode = Callable[[WireValue, "OpenInterface"], UserValue]
"""Makes a handler's argument; raises ValueError, worded for the model, if that is impossible."""


@record
class Argument:
    """One argument of a handler: how the model sends it, and how it becomes a value of the program."""

    parameter: Parameter
    decode: Decode
    shown: str = "reference"
    """Its form, for models that do not read schemas."""
    has_default: bool = False
    """Whether the function has a default for it."""
    accepts_none: bool = False
    """Whether None is one of its values; otherwise `null` means the default."""


@record
class InterfaceEffect:
    """One effect of an interface, ready to be requested; without a `handler` it is the `done` that binds the outputs."""

    operation: Operation
    arguments: Mapping[str, Argument]
    handler: Handler | None = None
    takes_handling: bool = False

    def decode(self, sent: Mapping[str, WireValue], run: OpenInterface) -> dict[str, UserValue]:
        """Return the arguments as values of the program, by name; raise ValueError if one does not fit."""
        if unknown := sent.keys() - self.arguments.keys():
            raise ValueError(f"`{self.operation.name}` takes no `{min(unknown)}`")
        values = {}
        for name, argument in self.arguments.items():
            value = sent.get(name, _OMITTED)
            if value is None and not argument.accepts_none and argument.has_default:
                value = _OMITTED
            if value is _OMITTED and argument.has_default:
                continue
            if value is _OMITTED:
                raise ValueError(f"`{name}` is missing; send {format_call_form(self.operation)}")
            try:
                values[name] = argument.decode(value, run)
            except ValueError as error:
                raise ValueError(f"`{name}`: {error}") from None
        return values


@record
class OpenInterface:
    """An interface in one run of a block."""

    interface: Interface
    effects: Mapping[str, InterfaceEffect]
    handling: Handling[Any]
    scope: Scope
    max_seconds: float | None

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The effects as operations, in the order of the interface."""
        return tuple(effect.operation for effect in self.effects.values())

    @property
    def has_references(self) -> bool:
        """Whether the model can pass objects of the program."""
        arguments = (each for effect in self.effects.values() for each in effect.arguments.values())
        return any("reference" in argument.shown for argument in arguments)

    def find(self, function: str) -> InterfaceEffect | None:
        """Return the effect that a `Perform` names, if the interface has it."""
        name, _, effect = function.rpartition(".")
        return self.effects.get(effect) if name == self.interface.name else None

    def close(self, outcome: Outcome | BaseException) -> None:
        """Call the interface's `finally_` under the time limit of code, and check the outputs that it may have bound.

        Raises CodeTimeLimitError, or OutputTypeError if an output of a completed block no longer fits its type.
        """
        self.handling.outcome = outcome
        if self.interface.finally_ is None:
            return
        call = partial(self.interface.finally_, self.handling)
        try:
            call_with_timeout(self.max_seconds, call)
        except DeadlineExceeded as error:
            raise make_time_limit_error(error) from None
        if isinstance(outcome, Completed) and (misfits := "; ".join(self.scope.misfits({}))):
            raise OutputTypeError(f"after `finally_`, an output does not fit its type: {misfits}")


def open_interface(interface: Interface, block: Block, scope: Scope) -> OpenInterface:
    """Open an interface for a new run, with fresh state.

    Raises ConfigurationError if a handler cannot be used, or an output cannot be an argument of `done`.
    """
    effects = make_interface_effects(interface, scope)

    def assign(name: str, value: UserValue) -> None:
        if refusal := scope.assign(name, value):
            raise UnknownVariableError(refusal.message)

    labels = tuple(label.removeprefix("bare_") for label in block.labels)
    state = interface.state() if interface.state is not None else None
    lookup = partial(look_up_named, scope)
    handling = Handling(block.place, labels, scope.outputs, state, lookup, assign, References())
    return OpenInterface(interface, effects, handling, scope, block.options.max_code_seconds)


def make_interface_effects(interface: Interface, scope: Scope) -> dict[str, InterfaceEffect]:
    """Return an interface's effects in a block, by name; the last may be the block's `done`.

    Raises ConfigurationError if an output cannot be an argument of `done`.
    """
    effects = dict(_make_declared_effects(interface))
    if "done" not in effects:
        arguments = {path: _make_output_argument(path, scope) for path in scope.outputs}
        operation = _make_operation(
            interface, "done", "End the instruction, with the values of its outputs.", arguments
        )
        effects["done"] = InterfaceEffect(operation, arguments)
    return effects


@lru_cache(maxsize=64)
def _make_declared_effects(interface: Interface) -> Mapping[str, InterfaceEffect]:
    """Return the effects that an interface declares; they are the same in all blocks."""
    effects = {}
    for name, handler in interface.list_effects():
        try:
            hints = typing.get_type_hints(handler, include_extras=True)
        except Exception as error:
            raise ConfigurationError(
                f"njrt.Interface {interface.name!r}: the annotations of `{name}` cannot be evaluated: {error}"
            ) from None
        given, *others = [*inspect.signature(handler).parameters.values(), None]
        first = hints.get(given.name) if given is not None else None
        takes_handling = _is_subclass(typing.get_origin(first) or first, Handling)
        parameters = [each for each in ([] if takes_handling else [given]) + others if each]
        arguments = {}
        for parameter in parameters:
            where = (
                f"njrt.Interface {interface.name!r}: the parameter `{parameter.name}` of `{name}`"
            )
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise ConfigurationError(f"{where} cannot be passed by its name")
            if parameter.name not in hints:
                raise ConfigurationError(f"{where} has no type")
            declared = hints[parameter.name]
            if _is_subclass(typing.get_origin(declared) or declared, Handling):
                raise ConfigurationError(f"{where} is a `Handling`: write it as the first one")
            has_default = parameter.default is not parameter.empty
            arguments[parameter.name] = _make_argument(
                parameter.name, hints[parameter.name], has_default
            )
        operation = _make_operation(interface, name, inspect.getdoc(handler) or "", arguments)
        effects[name] = InterfaceEffect(operation, arguments, handler, takes_handling)
    return effects


def _make_operation(
    interface: Interface, name: str, description: str, arguments: Mapping[str, Argument]
) -> Operation:
    parameters = tuple(argument.parameter for argument in arguments.values())
    effect = partial(_make_perform, f"{interface.name}.{name}", tuple(arguments))
    return Operation(name, description, parameters, effect)


def _make_perform(function: str, names: tuple[str, ...], *sent: WireValue) -> Perform:
    given = zip(names, sent, strict=True)
    return Perform(function, {name: value for name, value in given if value is not _OMITTED})


def _make_output_argument(path: str, scope: Scope) -> Argument:
    """Return the `done` argument for an output: JSON if its type has a JSON form, else a reference."""
    declared = scope.types.get(path, Any if scope.has_unresolved_type(path) else UNTYPED)
    try:
        if declared is not Any:
            return _make_form_argument(path, make_json_form(declared))
    except TypeError:
        pass
    return _make_mixed_argument(path, declared)


def _make_argument(name: str, declared: DeclaredType, has_default: bool) -> Argument:
    """Return the argument of a parameter with this type."""
    marks = getattr(declared, "__metadata__", ())
    aliases = tuple(alias for mark in marks if isinstance(mark, Aliases) for alias in mark.names)
    argument = _make_required_argument(name, declared.__origin__ if marks else declared, marks)
    schema, default = argument.parameter.schema, _OMITTED if has_default else ...
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
    """Return an argument of a type without JSON form: references, also inside lists, and JSON members of unions."""
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
    if _is_subclass(origin, Mapping) and len(parts) == 2:
        entry = {"key": make_mixed_schema(parts[0]), "value": make_mixed_schema(parts[1])}
        entries: Json = {"type": "array", "items": make_object_schema(entry)}
        return {"anyOf": [*_REFERENCE_FORMS, entries]}
    if _is_subclass(origin, Collection) and parts:
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


def _pass_raw(value: WireValue, run: OpenInterface) -> UserValue:
    return round_floats(value)


def _decode_form(
    form: JsonForm, is_scalar: bool, value: WireValue, run: OpenInterface
) -> UserValue:
    if not is_scalar and isinstance(value, Mapping) and value.get("type") == "Ref":
        declared = Any if form.declared == UNTYPED else form.declared
        return _decode_reference(declared, value, run)
    return form.decode(restore_value(value, form.schema, form.schema.get("$defs", {})))


def _decode_reference(declared: DeclaredType, value: WireValue, run: OpenInterface) -> UserValue:
    """Return the object behind a reference, or the value of a variable of the block."""
    if isinstance(value, str):
        found = look_up_named(run.scope, value)
    elif (address := get_address(value)) is not None:
        found = run.handling.references.get_object(address)
    else:
        raise ValueError(f"it must be {_REFERENCE}")
    if problem := find_type_mismatch(found, declared, run.scope.module):
        raise ValueError(problem)
    return found


def _decode_mixed(declared: DeclaredType, value: WireValue, run: OpenInterface) -> UserValue:
    """Return a value with objects in place of references; a string that the type does not allow names a variable."""
    found = _decode_part(declared, value, run)
    if problem := find_type_mismatch(found, declared, run.scope.module):
        is_sent = isinstance(value, list | Mapping) and get_address(value) is None
        raise ValueError(f"{problem}; send {_REFERENCE}" if is_sent else problem)
    return found


def _decode_part(declared: DeclaredType, value: WireValue, run: OpenInterface) -> UserValue:
    origin: Any = typing.get_origin(declared) or declared
    parts = typing.get_args(declared)
    if _is_reference(declared):
        return _decode_reference(parts[0], value, run)
    if origin in (Union, UnionType):
        return _decode_choice(parts, value, run)
    if isinstance(value, Mapping) and value.get("type") == "Ref":
        return _decode_reference(Any, value, run)
    if _is_subclass(origin, Mapping) and len(parts) == 2:
        pairs = value.items() if isinstance(value, Mapping) else _list_entries(value)
        return {
            _decode_part(parts[0], key, run): _decode_part(parts[1], item, run)
            for key, item in pairs
        }
    if isinstance(value, list) and _is_subclass(origin, Collection):
        kinds = parts if origin is tuple and ... not in parts else parts[:1] * len(value)
        items = [
            _decode_part(kind, item, run)
            for kind, item in zip(kinds or [Any] * len(value), value, strict=False)
        ]
        is_made = origin in (tuple, set, frozenset) and len(items) == len(value)
        return origin(items) if is_made else items
    try:
        form = make_json_form(declared)
    except TypeError:
        is_plain = isinstance(value, list | Mapping) or declared in (Any, object)
        return round_floats(value) if is_plain else _decode_reference(Any, value, run)
    return _decode_form(form, False, value, run)


def _decode_choice(
    kinds: tuple[DeclaredType, ...], value: WireValue, run: OpenInterface
) -> UserValue:
    """Return the value, decoded as the first alternative that it fits."""
    for kind in kinds:
        with suppress(ValueError):
            return _decode_mixed(kind, value, run)
    is_sent = isinstance(value, list | Mapping) and get_address(value) is None
    way_out = f"; send {_REFERENCE}" if is_sent else ""
    raise ValueError(f"expected {' | '.join(map(format_type, kinds))}{way_out}")


def _is_subclass(origin: Any, cls: type) -> bool:
    return isinstance(origin, type) and issubclass(origin, cls)


def _list_entries(value: WireValue) -> list[tuple[WireValue, WireValue]]:
    if not isinstance(value, list) or not all(is_entry(entry) for entry in value):
        raise ValueError('it must be a list of {"key": KEY, "value": VALUE}, or a reference')
    return [(entry["key"], entry["value"]) for entry in value]


def look_up_named(scope: Scope, name: str) -> UserValue:
    """Return the value of a variable that the prompt names, or that the block has bound.

    Raises UnknownVariableError, worded for the model, if it has no value.
    """
    is_named = name in scope.names or name in scope.scratch
    match scope.lookup(name):
        case Bound(value) if is_named:
            return value
        case Absent.UNBOUND:
            raise UnknownVariableError(f"`{name}` is not bound yet")
    names = ", ".join(scope.names) or "none"
    raise UnknownVariableError(f"there is no variable `{name}`; the variables are: {names}")


class UnknownVariableError(LookupError, ValueError):
    """A model or a handler names a variable that the block does not have."""


def format_reference(value: UserValue, references: References) -> str:
    """Return the reference to an object as text; empty for a value that JSON holds."""
    if is_exactly(value, str, int, float, bool, type(None)):
        return ""
    number, kind = references.get_number(value), get_class_name(type(value))
    shown: Json = {"type": "Ref", "addr": number, "class": kind}
    return escape_unprintable(json.dumps(shown, ensure_ascii=False))


def make_interface_form(opened: OpenInterface, protocol: Protocol) -> InterfaceForm:
    """Return the system prompt and the operations of an interface."""
    calls = [describe_effect(effect) for effect in opened.effects.values()]
    rules, has_references = opened.interface.rules, opened.has_references
    system = build_interface_prompt(rules, calls, protocol, has_references)
    return InterfaceForm(system, opened.operations)


def describe_effect(effect: InterfaceEffect) -> str:
    """Return an effect's call and description on one line, for models that do not read schemas."""
    arguments = (f"{name}: {argument.shown}" for name, argument in effect.arguments.items())
    description = " ".join(effect.operation.description.split())
    return f"{effect.operation.name}({', '.join(arguments)}): {description}"
