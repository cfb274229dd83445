"""Unions in JSON schemas: the alternative of a value, and the unions that JSON does not tell apart.

    choose_alternative("RED", [schema of Color, schema of int])      the schema of Color
    find_equal_alternatives(schema of date | str)                    ("date", "string")

The alternatives of a union have different kinds of JSON values, constants, or objects with
different names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations
from typing import Any

from njrt.data.aliases import Json
from njrt.data.outcome import UserValue

JsonValue = Any
"""A value as returned by `json.loads`."""

MEMBERS = "x-members"
"""The key under which a schema holds an enum's members by name, until it is sent anywhere."""

CONTAINER = "x-container"
"""The key under which a schema holds the class of its values, except of lists, dicts and texts."""

KEYS = "x-keys"
"""The key under which a dict's schema holds the kind of its keys, as named in pydantic's core."""

OPTIONAL = "x-optional"
"""The key under which a TypedDict's schema holds the names that may be left out."""

NUMBERED = "x-numbered"
"""The key under which a schema holds the class of the numbered objects that it chooses from."""


# ── schemas ──────────────────────────────────────────────────────────────────────────────────────


def resolve_reference(schema: JsonValue, root: Json) -> JsonValue:
    """Return the schema that a reference refers to; any other schema unchanged."""
    while isinstance(schema, dict) and "$ref" in schema:
        schema = root.get("$defs", {}).get(get_reference_name(schema), {})
    return schema


def get_reference_name(schema: Json) -> str:
    """Return the name of the definition that a reference refers to."""
    return str(schema["$ref"].rpartition("/")[2])


def list_alternatives(schema: Json) -> Sequence[Json]:
    """Return the alternatives of a union; empty for any other schema."""
    found: Sequence[Json] = schema.get("anyOf") or schema.get("oneOf") or ()
    return found


def flatten_alternatives(alternatives: Sequence[Json], root: Json) -> Iterator[Json]:
    """Yield the alternatives of a union, with nested unions replaced by their alternatives."""
    for part in alternatives:
        schema = resolve_reference(part, root)
        inner = list_alternatives(schema)
        yield from flatten_alternatives(inner, root) if inner else [schema]


def list_constants(schema: Json) -> Sequence[JsonValue]:
    """Return the values that a schema lists; empty for any other schema."""
    if "const" in schema:
        return [schema["const"]]
    constants: Sequence[JsonValue] = schema.get("enum", ())
    return constants


def find_member(value: JsonValue, members: Mapping[str, Any]) -> UserValue | None:
    """Return the enum member for a name, which may be an alias; None if there is no such member."""
    if not isinstance(value, str) or not members:
        return None
    every = type(next(iter(members.values()))).__members__
    found = members.get(value)
    if found is None and (alias := every.get(value)) in members.values():
        found = alias
    return found


def is_one_of(value: JsonValue, choices: Sequence[JsonValue]) -> bool:
    """Return whether a value is one of some constants; `1` and `true` are different."""
    return any(type(value) is type(choice) and value == choice for choice in choices)


# ── the alternative of a union that a value has ──────────────────────────────────────────────────

_KINDS: Mapping[type, Sequence[str]] = {
    str: ("string",),
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number", "integer"),
    type(None): ("null",),
    list: ("array",),
    dict: ("object",),
}
"""The kinds of schemas that a JSON value may have, the likelier first."""


def choose_alternative(value: JsonValue, parts: Sequence[Json]) -> Json | None:
    """Return the alternative of a flat union that a value has; None if it has none."""
    for part in parts:
        if is_one_of(value, list_constants(part)):
            return part
        if MEMBERS in part and find_member(value, part[MEMBERS]) is not None:
            return part
    kinds = next((_KINDS[kind] for kind in type(value).__mro__ if kind in _KINDS), ())
    for kind in kinds:
        found = [part for part in parts if part.get("type") == kind and not list_constants(part)]
        if isinstance(value, dict) and len(found) > 1:
            found = [part for part in found if _has_names(value, part)]
        if found:
            return found[0]
    return None


def _has_names(value: Json, schema: Json) -> bool:
    """Return whether an object has the names of a schema, and the constants that identify it."""
    names = schema.get("properties", {})
    return (
        value.keys() >= set(schema.get("required", ()))
        and (value.keys() <= names.keys() or bool(schema.get("additionalProperties")))
        and all(
            is_one_of(value[name], constants)
            for name, part in names.items()
            if name in value and (constants := list_constants(part)) and MEMBERS not in part
        )
    )


# ── unions that JSON does not tell apart ─────────────────────────────────────────────────────────


def find_equal_alternatives(schema: Json) -> tuple[str, str] | None:
    """Return the names of two alternatives of a union that a JSON value may both have, or None."""
    for union in _list_unions(schema):
        for one, other in combinations(union, 2):
            if are_alike(one, other, schema):
                return get_name(one), get_name(other)
    return None


def _list_unions(schema: JsonValue) -> Iterator[Sequence[Json]]:
    if isinstance(schema, list):
        for part in schema:
            yield from _list_unions(part)
    elif isinstance(schema, Mapping):
        if alternatives := list_alternatives(schema):
            yield alternatives
        for key, part in schema.items():
            if key in ("properties", "$defs"):
                yield from _list_unions(list(part.values()))
            elif key not in (MEMBERS, "default", "examples"):
                yield from _list_unions(part)


def get_name(part: Json) -> str:
    """Return a name of an alternative, for people."""
    if "$ref" in part:
        return get_reference_name(part)
    kind = "set" if part.get("uniqueItems") else part.get("type")
    return str(part.get("title") or part.get("format") or kind or "a literal")


def are_alike(one: Json, other: Json, root: Json) -> bool:
    """Return whether a JSON value may have two alternatives, and mean another value in each."""
    parts, forms = (list(flatten_alternatives([side], root)) for side in (one, other))
    return any(_are_parts_alike(part, form) for part in parts for form in forms)


def _are_parts_alike(one: Json, other: Json) -> bool:
    kinds = {one.get("type"), other.get("type")}
    named = [part for part in (one, other) if issubclass(part.get(CONTAINER, object), tuple)]
    if named and all(part in named or part.get("type") == "array" for part in (one, other)):
        return True  # pydantic makes a named tuple also from an array
    if list_constants(one) or list_constants(other):
        return _are_constants_alike(one, other) or _are_constants_alike(other, one)
    if kinds == {"integer", "number"}:
        return any(NUMBERED in part or part.get(CONTAINER) is Decimal for part in (one, other))
    if len(kinds) > 1 or kinds == {"null"}:
        return False
    return kinds != {"object"} or _are_objects_alike(one, other)


def _are_constants_alike(one: Json, other: Json) -> bool:
    """Return whether a constant of one alternative means another value in the other."""
    constants, others = list_constants(one), list_constants(other)
    if MEMBERS in one and MEMBERS in other:
        named, known = one[MEMBERS], other[MEMBERS]
        return any(named[name] is not known[name] for name in named.keys() & known)
    if MEMBERS in one:
        is_text = other.get("type") == "string" and not others
        return is_text or any(is_one_of(name, others) for name in one[MEMBERS])
    if NUMBERED in other:
        return any(type(constant) is int for constant in constants)
    # `1 == True`, so pydantic takes one for the other.
    is_truth = other.get("type") == "boolean" or any(isinstance(it, bool) for it in others)
    return is_truth and any(is_one_of(constant, (0, 1)) for constant in constants)


def _are_objects_alike(one: Json, other: Json) -> bool:
    if KEYS in one or KEYS in other:
        return True
    named, known = one.get("properties", {}), other.get("properties", {})
    for name in named.keys() & known:
        constants, others = list_constants(named[name]), list_constants(known[name])
        if constants and others and not any(is_one_of(it, others) for it in constants):
            return False
    required = {*one.get("required", ()), *other.get("required", ())}
    accepted = [part["properties"].keys() for part in (one, other) if not _is_open(part)]
    return all(required <= names for names in accepted)


def _is_open(schema: Json) -> bool:
    """Return whether an object may have names that the schema does not list."""
    return bool(schema.get("additionalProperties")) or "properties" not in schema
