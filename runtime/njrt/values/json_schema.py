"""The JSON schemas of types, as pydantic generates them, with marks for the way back to values.

    Color                {"enum": ["RED", "BLUE"], "type": "string", "x-members": {...}}
    Callable[[], int]    TypeError: JSON does not carry `callable`

Imported only when a type's form is made: it imports pydantic.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from pydantic.json_schema import GenerateJsonSchema

from njrt.messages import make_object_schema
from njrt.values.data_classes import has_own_constructor, is_data_class
from njrt.values.json_unions import KEY_KINDS, MEMBERS, NAMED_TUPLE, NUMBERED


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
        return {"anyOf": [number, make()]}

    def is_instance_schema(self, schema: Any) -> dict[str, Any]:
        return self.offer(schema["cls"], _refuse("its class declares no fields"))

    def enum_schema(self, schema: Any) -> dict[str, Any]:
        return self.literal_schema({"expected": schema["members"]})

    def literal_schema(self, schema: Any) -> dict[str, Any]:
        expected = schema["expected"]
        kinds = [type(value) for value in expected if isinstance(value, enum.Enum)]
        named = [pair for kind in kinds for pair in kind.__members__.items()]
        members = {name: member for name, member in named if member in expected}
        if not members:
            return super().literal_schema(schema)
        names = [value.name if isinstance(value, enum.Enum) else value for value in expected]
        kind = {"type": "string"} if all(isinstance(name, str) for name in names) else {}
        return {**kind, "enum": names, MEMBERS: _Members(members)}

    def encode_default(self, dft: Any) -> Any:
        if isinstance(dft, enum.Enum) and dft.name is not None:
            return dft.name
        if type(dft) in (list, tuple) and any(isinstance(item, enum.Enum) for item in dft):
            return [self.encode_default(item) for item in dft]
        return super().encode_default(dft)

    def field_is_present(self, field: Any) -> bool:
        return bool(field.get("init", True)) and super().field_is_present(field)

    def named_tuple_schema(self, schema: Any) -> dict[str, Any]:
        def make() -> dict[str, Any]:
            fields = schema["fields"]
            parts = {each["name"]: self.generate_inner(each["schema"]) for each in fields}
            return {**make_object_schema(parts), NAMED_TUPLE: True}

        return self.offer(schema["cls"], make)

    def call_schema(self, schema: Any) -> dict[str, Any]:
        # For named tuples, before pydantic 2.14.
        made = partial(self.kw_arguments_schema, schema["arguments_schema"], None)
        return self.offer(schema["function"], lambda: {**made(), NAMED_TUPLE: True})

    def decimal_schema(self, schema: Any) -> dict[str, Any]:
        # Without a title, pydantic would drop its number in a union with a float.
        return {**super().decimal_schema(schema), "title": "Decimal"}

    def dataclass_schema(self, schema: Any) -> dict[str, Any]:
        if has_own_constructor(schema["cls"]) and schema["cls"] not in self.numbered:
            raise TypeError(f"`{schema['cls'].__name__}` is made by code of its own")
        return self.offer(schema["cls"], partial(super().dataclass_schema, schema))

    def model_schema(self, schema: Any) -> dict[str, Any]:
        return self.offer(schema["cls"], partial(super().model_schema, schema))

    def dict_schema(self, schema: Any) -> dict[str, Any]:
        keys = self.generate_inner(schema.get("keys_schema", {"type": "any"}))
        if self.resolve_ref_schema(keys).get("type") not in KEY_KINDS:
            raise TypeError("names in JSON are texts, which do not stand for its keys")
        return super().dict_schema(schema)


def _refuse(reason: str) -> Callable[..., Any]:
    def refuse(*_: Any) -> Any:
        raise TypeError(reason)

    return refuse


class _Members(dict[str, enum.Enum]):
    """An enum's members by name in a schema; pydantic copies schemas but must not copy members."""

    def __deepcopy__(self, memo: Any) -> _Members:
        return self


for _kind in ("any", "callable", "custom_error", "generator", "is_subclass"):
    setattr(SchemaGenerator, f"{_kind}_schema", _refuse(f"JSON does not carry `{_kind}`"))
