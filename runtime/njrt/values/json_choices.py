"""Read JSON values of a type: alternatives of unions, enum members by name, and objects by number.

    "RED", schema of Color | None            ──ChoiceReader──>   Color.RED
    [2], schema of list[Item]                ──ChoiceReader──>   [items[1]]
    {"n": "RED"}, schema of Cat | Order      ──ChoiceReader──>   {"n": Color.RED}, as in an `Order`

Schemas come from njrt.values.json_forms, with enum members. Pydantic makes the values afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from njrt.data.outcome import UserValue
from njrt.messages import Json
from njrt.values.json_unions import (
    MEMBERS,
    NUMBERED,
    JsonValue,
    choose_alternative,
    flatten_alternatives,
    list_constants,
)

Place = tuple[str, ...]
"""The names and indices that lead to a part of a value."""

_DATES = ("date", "date-time", "time")
_DATE = re.compile("[0-9][-:][0-9]")
"""What a text in these formats has, and a number of seconds has not."""


@dataclass(slots=True)
class ChoiceReader:
    """Reads values of one schema (`root`), which may choose from `objects` by numbers from 1."""

    root: Json
    objects: Sequence[UserValue] = ()

    def read(self, value: JsonValue, schema: JsonValue, place: Place = ()) -> UserValue:
        """Replace texts of enum members, and numbers by the objects that they choose.

        Other values are kept: pydantic converts them.

        Raises ValueError, with the place, for values that no type accepts: numbers that are not
        finite, text with lone surrogates, numbers in place of dates, names of fields that do not
        exist.
        """
        schema = schema if isinstance(schema, dict) else {}
        if schema.keys() & {"$ref", "anyOf", "oneOf"}:
            parts = [*flatten_alternatives([schema], self.root)]
            schema = choose_alternative(value, parts)
        check_value(value, schema, place)
        if MEMBERS in schema:
            return read_member(value, schema, place)
        if NUMBERED in schema:
            return self.read_number(value, schema[NUMBERED], place)
        match value:
            case list():
                schemas = [*schema.get("prefixItems", ()), *[schema.get("items")] * len(value)]
                return [
                    self.read(item, schemas[index], (*place, str(index)))
                    for index, item in enumerate(value)
                ]
            case dict():
                return self.read_object(value, schema, place)
        return value

    def read_object(self, value: dict[str, JsonValue], schema: Json, place: Place) -> UserValue:
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        check_names(value, schema, place)
        keys = schema.get("propertyNames")
        return {
            self.read(name, keys, place): self.read(item, known.get(name, others), (*place, name))
            for name, item in value.items()
        }

    def read_number(self, value: JsonValue, kind: type, place: Place) -> UserValue:
        """Return the object with this number; raise ValueError for anything else."""
        numbers = [it for it, each in enumerate(self.objects, 1) if isinstance(each, kind)]
        if type(value) is not int or value not in numbers:
            known = f"; the numbers are {numbers[0]} to {numbers[-1]}" if numbers else ""
            message = f"{value!r} is not the number of an object of `{kind.__name__}`{known}"
            raise ValueError(at_place(message, place))
        return self.objects[value - 1]


def read_member(value: JsonValue, schema: Json, place: Place) -> UserValue:
    """Return the enum member with this name or value, or one of the other constants."""
    members: Mapping[str, Any] = schema[MEMBERS]
    constants = list_constants(schema)
    if isinstance(value, str) and value in members:
        return members[value]
    if value in constants:
        return value
    with suppress(ValueError, TypeError):  # by its value, or by `_missing_`
        if (found := type(next(iter(members.values())))(value)) in members.values():
            return found
    names = " or ".join(map(repr, constants))
    raise ValueError(at_place(f"Input should be {names}", place))


def check_names(value: Mapping[str, JsonValue], schema: Json, place: Place) -> None:
    """Raise ValueError for an unknown name in an object."""
    known = schema.get("properties", {})
    if not known or schema.get("additionalProperties"):
        return
    for name in value:
        if name not in known:
            fields = ", ".join(f"`{field}`" for field in known)
            raise ValueError(
                at_place(f"there is no field `{name}`; the fields are {fields}", place)
            )


def check_value(value: JsonValue, schema: Json, place: Place) -> None:
    """Raise ValueError for a value that no type accepts here, although pydantic would accept it."""
    match value:
        case float() | str() if str(value).strip(" +-").lower() in ("nan", "inf", "infinity"):
            if isinstance(value, float) or schema.get("type") == "number":
                raise ValueError(at_place("Input should be a finite number", place))
        case str() if not value.isascii() and value.encode(errors="ignore").decode() != value:
            raise ValueError(at_place("Input should be text without lone surrogates", place))
        case str() | int() | float() if (form := schema.get("format")) in _DATES:
            if not _DATE.search(str(value)):
                raise ValueError(at_place(f"Input should be a text in the format {form}", place))


def at_place(message: str, place: Place) -> str:
    """Return a message prefixed with the place in the value that it is about."""
    return f"{'.'.join(place)}: {message}" if place else message
