"""Unions in JSON schemas: the alternative of a value, and the unions that JSON does not tell apart.

    choose_alternative("RED", [schema of Color, schema of int])      the schema of Color
    find_equal_alternatives(schema of date | str)                    ("date", "string")

The alternatives of a union have different kinds of JSON values, or are different constants, or
objects with a field that is, such as `kind: Literal["cat"]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from njrt.data.aliases import Json

JsonValue = Any
"""A value as returned by `json.loads`."""

MEMBERS = "x-members"
"""The key under which a schema holds enum members by name and alias, until it is sent anywhere."""

NAMED_TUPLE = "x-named-tuple"
"""The key that marks an object that pydantic makes from an array, too."""

NUMBERED = "x-numbered"
"""The key under which a schema holds the class of the numbered objects that it chooses from."""


KEY_KINDS = ("string", "integer", "number", "boolean")
"""The types in the schemas of keys that names in JSON, which are texts, stand for."""


# ── schemas ──────────────────────────────────────────────────────────────────────────────────────


def resolve_reference(schema: JsonValue, root: Json) -> JsonValue:
    """Return the schema that a reference refers to; any other schema unchanged."""
    while isinstance(schema, dict) and "$ref" in schema:
        schema = root.get("$defs", {}).get(get_reference_name(schema), {})
    return schema


def get_reference_name(schema: Json) -> str:
    """Return the name of the definition that a reference refers to."""
    return str(schema["$ref"].rpartition("/")[2])


_INNER = ("properties", "$defs", "items", "prefixItems", "additionalProperties", "propertyNames")
_HOLDERS = {*_INNER, "anyOf", "oneOf", "allOf"}
"""The keys of a schema with schemas in them; the first two have them by name."""


def walk_schemas(schema: Json) -> Iterator[Json]:
    """Yield a schema and all schemas in it."""
    yield schema
    for key in filter(_HOLDERS.__contains__, schema):
        inner = [*schema[key].values()] if key in _INNER[:2] else schema[key]
        for part in inner if isinstance(inner, list) else [inner]:
            if isinstance(part, Mapping):
                yield from walk_schemas(part)


def map_schemas(schema: Json, change: Callable[[Json], Json]) -> Json:
    """Return a schema with all schemas in it changed, the inner ones first, and then itself."""
    changed = dict(schema)
    for key in _HOLDERS & schema.keys():
        match schema[key]:
            case list() as parts:
                changed[key] = [map_schemas(part, change) for part in parts]
            case dict() as parts if key in _INNER[:2]:
                changed[key] = {name: map_schemas(it, change) for name, it in parts.items()}
            case dict() as part:
                changed[key] = map_schemas(part, change)
    return change(changed)


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


# ── the alternatives of a union ──────────────────────────────────────────────────────────────────

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


def list_value_kinds(value: JsonValue) -> Sequence[str]:
    """Return the kinds of schemas that a value may have, the likelier first; empty if not JSON."""
    return _KINDS.get(type(value), ())


def list_kinds(schema: Json) -> set[str]:
    """Return the kinds of JSON values that a schema without alternatives allows."""
    if constants := list_constants(schema):
        found = {kind for constant in constants for kind in list_value_kinds(constant)[:1]}
        return found | {"boolean"} if "integer" in found else found  # pydantic takes True for 1
    if NUMBERED in schema:
        return {"integer", "number"}
    return {str(schema.get("type"))} | ({"array"} if NAMED_TUPLE in schema else set())


def choose_alternative(value: JsonValue, parts: Sequence[Json]) -> Json:
    """Return the alternative of a flat union that a value has; the first if it has none."""
    for kind in list_value_kinds(value):
        found = [part for part in parts if kind in list_kinds(part)]
        fitting = [part for part in found if _has_constants(value, part)]
        if found:
            return (fitting or found)[0]
    return parts[0]


def _has_constants(value: JsonValue, schema: Json) -> bool:
    """Return whether a value, and the fields of an object, are constants where they must be."""
    if constants := list_constants(schema):
        return value in constants or value in schema.get(MEMBERS, ())
    fields = schema.get("properties", {}).items() if isinstance(value, dict) else ()
    return all(
        not list_constants(part) or value.get(name) in list_constants(part) for name, part in fields
    )


def find_equal_alternatives(schema: Json) -> tuple[str, str] | None:
    """Return the names of two alternatives of a union that a JSON value may both have, or None."""
    for part in walk_schemas(schema):
        for one, other in combinations(list_alternatives(part), 2):
            if are_alike(one, other, schema):
                return get_name(one), get_name(other)
    return None


def get_name(part: Json) -> str:
    """Return a name of an alternative, for people."""
    reference = get_reference_name(part) if "$ref" in part else part.get("format")
    return str(part.get("title") or reference or part.get("type") or "a literal")


def are_alike(one: Json, other: Json, root: Json) -> bool:
    """Return whether two alternatives have values of one kind of JSON, and no constant differs."""
    parts, forms = (list(flatten_alternatives([side], root)) for side in (one, other))
    return any(
        (list_kinds(part) & list_kinds(form)) - {"null"} and not _are_distinct(part, form)
        for part in parts
        for form in forms
    )


def _are_distinct(one: Json, other: Json) -> bool:
    """Return whether both are different constants, or objects with a field that is."""
    named, known = one.get("properties", {}), other.get("properties", {})
    pairs = [(one, other), *((named[name], known[name]) for name in named.keys() & known)]
    constants = [(list_constants(first), list_constants(second)) for first, second in pairs]
    return any(
        these and those and not any(it in those for it in these) for these, those in constants
    )
