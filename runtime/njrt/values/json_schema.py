"""The JSON schemas of types, as pydantic generates them, with marks for the way back to values.

    Color                {"enum": ["RED", "BLUE"], "type": "string", "x-members": {...}}
    Decimal              {"anyOf": [{"type": "number", "x-container": Decimal}, ...]}
    Callable[[], int]    TypeError: JSON does not carry functions

Imported only when a type's form is made: it imports pydantic.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar

from pydantic.json_schema import GenerateJsonSchema

from njrt.messages import make_object_schema
from njrt.values.data_classes import has_own_constructor, is_data_class, list_shown_fields
from njrt.values.json_choices import SAME
from njrt.values.json_unions import CONTAINER, KEYS, MEMBERS, NUMBERED, OPTIONAL, list_alternatives


class SchemaGenerator(GenerateJsonSchema):
    """Writes enums by name and named tuples as objects; refuses types that JSON does not have.

    A subclass for each type has the classes whose objects are chosen by number.
    """

    numbered: ClassVar[frozenset[type]] = frozenset()

    def offer(self, kind: type, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the form of a class's objects: the number of one in the program, or its fields."""
        if kind not in self.numbered:
            return make()
        number = {"type": "integer", NUMBERED: kind, "description": f"n of {kind.__name__} #n"}
        if not is_data_class(kind):
            return number
        return {"anyOf": [number, {**make(), SAME: (kind, list_shown_fields(kind))}]}

    def is_instance_schema(self, schema: Any) -> dict[str, Any]:
        return self.offer(schema["cls"], _refuse("its class declares no fields"))

    def enum_schema(self, schema: Any) -> dict[str, Any]:
        members = {member.name: member for member in schema["members"]}
        if not members:
            raise TypeError("an enum has no members")
        return {"type": "string", "enum": list(members), MEMBERS: _Members(members)}

    def literal_schema(self, schema: Any) -> dict[str, Any]:
        expected = schema["expected"]
        if any(isinstance(value, bytes) for value in expected):
            raise TypeError("JSON does not carry bytes in a Literal")
        members = {value.name: value for value in expected if isinstance(value, enum.Enum)}
        others = [value for value in expected if not isinstance(value, enum.Enum)]
        if len(set(others)) < len(others):
            raise TypeError("values of its Literal are equal")
        parts = [self.enum_schema({"members": [*members.values()]})] if members else []
        if others:
            parts.append(super().literal_schema({"type": "literal", "expected": others}))
        return {"anyOf": parts} if len(parts) > 1 else parts[0]

    def encode_default(self, dft: Any) -> Any:
        if isinstance(dft, enum.Enum) and dft.name is not None:
            return dft.name
        if type(dft) in (list, tuple) and any(isinstance(item, enum.Enum) for item in dft):
            return [self.encode_default(item) for item in dft]
        return super().encode_default(dft)

    def typed_dict_schema(self, schema: Any) -> dict[str, Any]:
        found = super().typed_dict_schema(schema)
        names = found.get("properties", {}).keys() - found.get("required", ())
        return {**found, OPTIONAL: sorted(names)} if names else found

    def field_is_present(self, field: Any) -> bool:
        return bool(field.get("init", True)) and super().field_is_present(field)

    def named_tuple_schema(self, schema: Any) -> dict[str, Any]:
        def make() -> dict[str, Any]:
            fields = schema["fields"]
            parts = {each["name"]: self.generate_inner(each["schema"]) for each in fields}
            return {**make_object_schema(parts), CONTAINER: schema["cls"]}

        return self.offer(schema["cls"], make)

    def call_schema(self, schema: Any) -> dict[str, Any]:
        # For named tuples, before pydantic 2.14.
        found = partial(self.kw_arguments_schema, schema["arguments_schema"], None)
        return self.offer(schema["function"], lambda: {**found(), CONTAINER: schema["function"]})

    def decimal_schema(self, schema: Any) -> dict[str, Any]:
        found = super().decimal_schema(schema)
        forms = list_alternatives(found) or [found]
        return {"anyOf": [{**form, CONTAINER: Decimal} for form in forms]}

    def dataclass_schema(self, schema: Any) -> dict[str, Any]:
        kind = schema["cls"]

        def make() -> dict[str, Any]:
            if has_own_constructor(kind):
                raise TypeError(f"`{kind.__name__}` is made by code of its own")
            return {**super(SchemaGenerator, self).dataclass_schema(schema), CONTAINER: kind}

        return self.offer(kind, make)

    def model_schema(self, schema: Any) -> dict[str, Any]:
        def make() -> dict[str, Any]:
            container = {} if schema.get("root_model") else {CONTAINER: schema["cls"]}
            return {**super(SchemaGenerator, self).model_schema(schema), **container}

        return self.offer(schema["cls"], make)

    def dict_schema(self, schema: Any) -> dict[str, Any]:
        keys = schema.get("keys_schema", {})
        if keys and not _are_texts(keys):
            raise TypeError("names in JSON are texts, which do not stand for its keys")
        kind = keys.get("type")
        named = {"propertyNames": self.generate_inner(keys)} if kind == "union" else {}
        return {**super().dict_schema(schema), **named, KEYS: kind}


_WITHOUT_FORM = {
    "any": "its values may be anything",
    "callable": "JSON does not carry functions",
    "custom_error": "JSON does not carry classes",
    "generator": "JSON does not carry iterators",
    "is_subclass": "JSON does not carry classes",
}
"""The kinds in pydantic's core that have no form, and why."""


def _mark_container(generate: Callable[..., Any], kind: type) -> Callable[..., Any]:
    return lambda self, schema: {**generate(self, schema), CONTAINER: kind}


def _refuse(reason: str) -> Callable[..., Any]:
    def refuse(*_: Any) -> Any:
        raise TypeError(reason)

    return refuse


_KINDS_WITHOUT_TEXT = frozenset(
    {
        *("nullable", "none", "tuple", "list", "set", "frozenset", "dict", "model", "dataclass"),
        *("typed-dict", "named-tuple", "call", "tagged-union"),
    }
)


def _are_texts(keys: Any) -> bool:
    """Return whether names in a JSON object can represent all keys of a pydantic core schema."""
    match keys["type"]:
        case "literal":
            return all(isinstance(value, str | enum.Enum) for value in keys["expected"])
        case "union":
            choices = [part[0] if isinstance(part, tuple) else part for part in keys["choices"]]
            return all(part["type"] in ("literal", "enum") and _are_texts(part) for part in choices)
        case kind:
            return kind not in _KINDS_WITHOUT_TEXT


class _Members(dict[str, enum.Enum]):
    """An enum's members by name in a schema; pydantic copies schemas but must not copy members."""

    def __deepcopy__(self, memo: Any) -> _Members:
        return self


for _kind in (set, frozenset, tuple):  # pydantic leaves out an alternative that equals another
    _name = f"{_kind.__name__}_schema"
    setattr(SchemaGenerator, _name, _mark_container(getattr(GenerateJsonSchema, _name), _kind))
for _name, _reason in _WITHOUT_FORM.items():
    setattr(SchemaGenerator, f"{_name}_schema", _refuse(_reason))
