"""Read JSON values of a type: alternatives of unions, enum members by name, and objects by number.

    "RED", schema of Color | None            ──ChoiceReader──>   Color.RED
    [2], schema of list[Item]                ──ChoiceReader──>   [items[1]]
    {"n": 1}, schema of Cat | Order | int    ──ChoiceReader──>   an `Order`: the one with field `n`
    "2024-02-29", schema of date | int       ──ChoiceReader──>   date(2024, 2, 29)

Schemas come from njrt.values.json_forms, with enum members. Pydantic checks the values afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from njrt.data.outcome import UserValue
from njrt.messages import Json, WrittenFloat
from njrt.values.adapters import get_adapter
from njrt.values.json_unions import (
    CONTAINER,
    KEYS,
    MEMBERS,
    NUMBERED,
    JsonValue,
    choose_alternative,
    find_member,
    flatten_alternatives,
    is_one_of,
    list_alternatives,
    resolve_reference,
)

Place = tuple[str, ...]
"""The names and indices that lead to a part of a value."""

KINDS_OF_FORMATS: Mapping[str, str] = {
    "date": "date",
    "date-time": "datetime",
    "time": "time",
    "duration": "timedelta",
    "uuid": "uuid",
}
"""Formats of texts that stand for other values, with their kinds in pydantic's core."""
_KINDS_OF_KEYS = frozenset({*KINDS_OF_FORMATS.values(), "int", "float", "bytes"})
"""The kinds of keys that are not just text."""

SAME = "x-same"
"""The schema key for a class and the fields that distinguish its numbered objects."""

_DATES = ("date", "date-time", "time")


@dataclass(slots=True)
class ChoiceReader:
    """Reads values of one schema (`root`), which may choose from `objects` by numbers from 1."""

    root: Json
    objects: Sequence[UserValue] = ()

    def read(
        self, value: JsonValue, schema: JsonValue, place: Place = (), in_union: bool = False
    ) -> UserValue:
        """Replace texts of enum members, and of dates and the like in unions; keep other values.

        Numbers are replaced by the objects that they choose, and so are objects' fields if repeated
        in full. With `in_union`, dates and the like, bytes, tuples and sets are made everywhere:
        strict types, and alternatives that pydantic tells apart by their Python types, do not
        convert them.

        Raises ValueError, with the place, for values that no type accepts: numbers that are not
        finite, text with lone surrogates, numbers in place of dates, names of fields that do not
        exist.
        """
        if not isinstance(schema, dict):
            schema = {}
        elif "$ref" in schema:
            schema = resolve_reference(schema, self.root)
        check_value(value, schema, place)
        if MEMBERS in schema:
            return read_member(value, schema[MEMBERS], place)
        if NUMBERED in schema:
            return self.read_number(value, schema[NUMBERED], place)
        if alternatives := list_alternatives(schema):
            return self.read_union(value, alternatives, place)
        match value:
            case list():
                return self.read_items(value, schema, place, in_union)
            case dict():
                return self.read_object(value, schema, place, in_union)
            case str() if in_union and (form := schema.get("format")) in KINDS_OF_FORMATS:
                return read_kind(KINDS_OF_FORMATS[form], value)
            case str() if in_union and schema.get("format") == "binary":
                return value.encode()  # like pydantic, unless the type is strict
            case str() | int() | float() if schema.get(CONTAINER) is Decimal:
                with suppress(ValueError):  # pydantic's own message has the place
                    return read_kind("decimal", getattr(value, "digits", value))
            case WrittenFloat():
                return float(value)
        return value

    def read_union(self, value: JsonValue, alternatives: Sequence[Json], place: Place) -> UserValue:
        parts = list(flatten_alternatives(alternatives, self.root))
        best = choose_alternative(value, parts)
        if best is not None:
            found = self.read(value, best, place, True)
            classes = [part for part in parts if "properties" in part]
            is_class = isinstance(found, dict) and len(classes) > 1
            return _make_instance(found, best.get(CONTAINER)) if is_class else found
        for part in parts:
            if NUMBERED in part:
                return self.read_number(value, part[NUMBERED], place)
            if not isinstance(value, int | float) or part.get("format") in _DATES:
                check_value(value, part, place)
        return value

    def read_items(
        self, value: list[JsonValue], schema: Json, place: Place, in_union: bool
    ) -> UserValue:
        fixed: Sequence[Json] = schema.get("prefixItems", ())
        schemas = [*fixed, *[schema.get("items")] * len(value)]
        items = [
            self.read(item, schemas[index], (*place, str(index)), in_union)
            for index, item in enumerate(value)
        ]
        if in_union and (kind := schema.get(CONTAINER)) in (tuple, set, frozenset):
            with suppress(TypeError):  # members that are not hashable before pydantic has made them
                return kind(items)  # an array never becomes a class with fields
        is_same = all(new is old for new, old in zip(items, value, strict=True))
        return value if is_same else items

    def read_object(
        self, value: dict[str, JsonValue], schema: Json, place: Place, in_union: bool
    ) -> UserValue:
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        check_names(value, schema, place)
        keys = resolve_reference(schema.get("propertyNames", {}), self.root)
        pairs: dict[Any, Any] = {}
        for name, item in value.items():
            check_value(name, keys, place)
            key = self.read_key(name, schema, in_union)
            pairs[key] = self.read(item, known.get(name, others), (*place, name), in_union)
        if SAME in schema:
            return self.find_same(pairs, *schema[SAME])
        is_same = all(name in value and value[name] is pairs[name] for name in pairs)
        return value if is_same else pairs

    def read_number(self, value: JsonValue, kind: type, place: Place) -> UserValue:
        """Return the object with this number; raise ValueError for anything else."""
        numbers = [it for it, each in enumerate(self.objects, 1) if isinstance(each, kind)]
        if type(value) is not int or value not in numbers:
            known = f"; the numbers are {numbers[0]} to {numbers[-1]}" if numbers else ""
            message = f"{value!r} is not the number of an object of `{kind.__name__}`{known}"
            raise ValueError(at_place(message, place))
        return self.objects[value - 1]

    def find_same(self, fields: Json, kind: type, names: Sequence[str]) -> UserValue:
        """Return the known object with these fields, or a new one; the fields if they are unfit."""
        try:
            made = get_adapter(kind).validate_python(fields)
        except ValueError:  # pydantic's own message has the place
            return fields
        for known in self.objects:
            is_same = type(known) is type(made)
            if is_same and all(getattr(known, name) == getattr(made, name) for name in names):
                return known
        return made

    def read_key(self, name: str, schema: Json, in_union: bool) -> UserValue:
        """Return the dict key for a name."""
        if in_union and schema.get(KEYS) in _KINDS_OF_KEYS:
            return read_kind(schema[KEYS], name)
        keys = resolve_reference(schema.get("propertyNames", {}), self.root)
        for part in flatten_alternatives([keys], self.root):
            if (member := find_member(name, part.get(MEMBERS, {}))) is not None:
                return member
        return name


def read_member(value: JsonValue, members: Mapping[str, Any], place: Place) -> UserValue:
    """Return the member with this name; pydantic reads other values, also members by value."""
    found = find_member(value, members)
    if found is not None:
        return found
    has_value = is_one_of(value, [member.value for member in members.values()])
    kind = type(next(iter(members.values())))
    if has_value or "_missing_" in vars(kind):
        return value
    names = " or ".join(repr(name) for name in kind.__members__ if name in members)
    raise ValueError(at_place(f"Input should be {names}", place))


def _make_instance(value: UserValue, kind: type | None) -> UserValue:
    """Make an instance of the class that was chosen; if that fails, return the value."""
    if kind is None:
        return value
    with suppress(ValueError):
        value = get_adapter(kind).validate_python(value)
    return value


def check_names(value: Mapping[str, JsonValue], schema: Json, place: tuple[str, ...]) -> None:
    """Raise ValueError for an unknown name in an object."""
    known = schema.get("properties", {})
    if KEYS in schema or not known or schema.get("additionalProperties"):
        return
    for name in value:
        if name not in known:
            fields = ", ".join(f"`{field}`" for field in known)
            raise ValueError(
                at_place(f"there is no field `{name}`; the fields are {fields}", place)
            )


def check_value(value: JsonValue, schema: Json, place: tuple[str, ...]) -> None:
    """Raise ValueError for a value that no type accepts here, although pydantic would accept it."""
    match value:
        case float() if not math.isfinite(value):
            raise ValueError(at_place("Input should be a finite number", place))
        case str() if schema.get("type") == "number" and value.strip(" +-").lower() in _NOT_FINITE:
            raise ValueError(at_place("Input should be a finite number", place))
        case str() if not value.isascii() and value.encode(errors="ignore").decode() != value:
            raise ValueError(at_place("Input should be text without lone surrogates", place))
        case str() | int() | float() if schema.get("format") in _DATES and is_number(value):
            form = schema["format"]
            raise ValueError(at_place(f"Input should be a text in the format {form}", place))


_NOT_FINITE = ("nan", "inf", "infinity")


def is_number(value: str | int | float) -> bool:
    """Return whether a value is a number, or numeric text that would be read as seconds."""
    return not isinstance(value, str) or value.strip().replace(".", "", 1).lstrip("+-").isdigit()


@lru_cache
def _make_validator(kind: str) -> Any:
    from pydantic_core import SchemaValidator

    return SchemaValidator({"type": kind})


def read_kind(kind: str, text: str | float) -> UserValue:
    """Read text or a number as a pydantic core kind, such as `date`; raise ValueError if unfit."""
    return _make_validator(kind).validate_python(text)


def at_place(message: str, place: tuple[str, ...]) -> str:
    """Return a message prefixed with the place in the value that it is about."""
    return f"{'.'.join(place)}: {message}" if place else message
