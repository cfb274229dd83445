"""Alternatives of a union that no JSON value tells apart.

    find_equal_alternatives(schema of Cat | Dog)        ("Cat", "Dog"), where both are {"name": string}
    find_equal_alternatives(schema of date | str)       None: a text that is a date is none other

Not seen: what limits, patterns and validators tell apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from njrt.messages import Json
from njrt.values.json_choices import (
    CONTAINER,
    KEYS,
    KINDS_OF_FORMATS,
    MEMBERS,
    JsonValue,
    flatten_alternatives,
    is_one_of,
    list_alternatives,
    list_constants,
    resolve_reference,
)


def find_equal_alternatives(schema: Json) -> tuple[str, str] | None:
    """Two alternatives of a union, by their names, if no JSON value means the first alone; None if there are none."""
    comparer = FormComparer(schema)
    for union in _list_unions(schema):
        parts = [part for part in union if part.get("type") != "null"]
        for one, other in permutations(parts, 2):
            if comparer.is_hidden(one, other):
                return comparer.get_name(one), comparer.get_name(other)
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


@dataclass(frozen=True, slots=True)
class FormComparer:
    """Compares the forms of alternatives of one schema."""

    root: Json

    def get_name(self, part: Json) -> str:
        if "$ref" in part:
            return str(part["$ref"].rpartition("/")[2])
        kind = "set" if part.get("uniqueItems") else part.get("type")
        return str(part.get("title") or part.get("format") or kind or "a literal")

    def is_hidden(self, one: Json, other: Json) -> bool:
        """Whether each form of one alternative is a form of the other, or names of their members are the same."""
        parts, forms = (list(flatten_alternatives([side], self.root)) for side in (one, other))
        if all(MEMBERS in part for part in (*parts, *forms)):
            named, other_named = parts[0][MEMBERS], forms[0][MEMBERS]
            return any(named[name] is not other_named[name] for name in named.keys() & other_named)
        if all(part.get(CONTAINER) is tuple for part in (*parts, *forms)):
            return True  # a named tuple is made of an array, too
        if any(is_zero_or_one(part) for part in parts) and any(map(has_truth_values, forms)):
            return True  # `1 == True`, so that pydantic takes one for the other
        if any(list_constants(part) for part in parts):
            return False  # a constant is the same value, whichever alternative it is of
        return all(any(self.is_covered(part, form) for form in forms) for part in parts)

    def is_covered(
        self, one: JsonValue, other: JsonValue, assumed: frozenset[tuple[int, int]] = frozenset()
    ) -> bool:
        """Return whether all JSON values of one form have the other; `assumed` are the pairs that they stand in."""
        one, other = resolve_reference(one, self.root), resolve_reference(other, self.root)
        pair = id(one), id(other)
        if one is other or pair in assumed:
            return True
        if not isinstance(one, Mapping) or not isinstance(other, Mapping):
            return bool(one == other)
        assumed |= {pair}
        constants = list_constants(one), list_constants(other)
        if constants[0] or constants[1]:
            return bool(constants[0]) and all(
                is_one_of(item, constants[1]) for item in constants[0]
            )
        if list_alternatives(one) or list_alternatives(other):
            parts, forms = (list(flatten_alternatives([side], self.root)) for side in (one, other))
            return all(
                any(self.is_covered(part, form, assumed) for form in forms) for part in parts
            )
        if one.get("type") != other.get("type"):
            return False
        match one.get("type"):
            case "string":
                formats = {part.get("format") for part in (one, other)}
                return len(formats) == 1 or not formats & KINDS_OF_FORMATS.keys()
            case "array":
                return self.has_covered_items(one, other, assumed)
            case "object":
                return self.has_covered_properties(one, other, assumed)
        return True

    def has_covered_items(
        self, one: Json, other: Json, assumed: frozenset[tuple[int, int]]
    ) -> bool:
        fixed, forms = one.get("prefixItems"), other.get("prefixItems")
        if fixed is None:
            covers = forms is None
            return covers and self.is_covered(one.get("items"), other.get("items"), assumed)
        forms = [other.get("items")] * len(fixed) if forms is None else forms
        return len(fixed) == len(forms) and all(
            self.is_covered(part, form, assumed) for part, form in zip(fixed, forms, strict=True)
        )

    def has_covered_properties(
        self, one: Json, other: Json, assumed: frozenset[tuple[int, int]]
    ) -> bool:
        known, forms = one.get("properties", {}), other.get("properties", {})
        if known and KEYS in other:
            values = other.get("additionalProperties")
            return all(self.is_covered(part, values, assumed) for part in known.values())
        is_extra_ignored = one.get(CONTAINER) is tuple and other.get(CONTAINER) is not tuple
        if is_extra_ignored and forms and known.keys() >= forms.keys():
            return all(self.is_covered(known[name], forms[name], assumed) for name in forms)
        if known.keys() != forms.keys():
            return False
        if not known:
            keys = ("additionalProperties", "propertyNames", KEYS)
            return all(self.is_covered(one.get(key), other.get(key), assumed) for key in keys)
        return all(self.is_covered(known[name], forms[name], assumed) for name in known)


def is_zero_or_one(schema: Json) -> bool:
    """Return whether a schema lists 0 or 1."""
    return any(is_one_of(constant, (0, 1)) for constant in list_constants(schema))


def has_truth_values(schema: Json) -> bool:
    """Return whether a schema is of `true` or `false`."""
    return schema.get("type") == "boolean" or any(
        isinstance(constant, bool) for constant in list_constants(schema)
    )
