"""How values of a type are written as JSON: the schema of the JSON, and the way back to the value.

    make_json_form(Literal["a", "b"])     schema {"enum": ["a", "b"], "type": "string"}
    make_json_form(Color)                 schema {"enum": ["RED", "BLUE"], ...}; "RED" is Color.RED
    make_json_form(list[date])            schema {"type": "array", "items": {"type": "string", ...}}
    make_json_form(Callable[[], int])     TypeError: JSON does not carry `callable`

Scalars, literals, enums (by name), dataclasses, named tuples, TypedDicts, pydantic models, unions,
collections, dates and the like have a form. Functions, iterators, `Any` and classes without
declared fields have none.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, is_dataclass
from functools import lru_cache, partial
from typing import Annotated, Any

from njrt.data.outcome import UserValue
from njrt.errors import ConfigurationError
from njrt.messages import Json, make_object_schema
from njrt.values.adapters import (
    DeclaredType,
    convert_classes,
    format_validation_errors,
    get_adapter,
)
from njrt.values.json_choices import ChoiceReader
from njrt.values.json_unions import (
    MEMBERS,
    NAMED_TUPLE,
    NUMBERED,
    JsonValue,
    find_equal_alternatives,
    get_reference_name,
    list_alternatives,
    list_constants,
    map_schemas,
    walk_schemas,
)


@dataclass(frozen=True, slots=True, eq=False)
class JsonForm:
    """The JSON form of one type; `schema` is plain JSON schema (draft 2020-12) without titles."""

    declared: DeclaredType
    schema: Json
    schema_with_members: Json

    def decode(self, value: JsonValue, objects: Sequence[UserValue] = ()) -> UserValue:
        """Convert a JSON value; raise ValueError, worded for the model, if it does not fit.

        `objects` are the objects that the value may choose by their numbers, counted from 1.
        """
        import pydantic_core

        schema, adapter = self.schema_with_members, get_adapter(self.declared)
        read = ChoiceReader(schema, objects).read(value, schema)
        try:
            return adapter.validate_python(read)
        except pydantic_core.ValidationError as error:
            with suppress(ValueError):  # strict types convert text and lists of JSON alone
                return adapter.validate_json(pydantic_core.to_json(read))
            raise ValueError(format_validation_errors(error)) from None


@lru_cache(maxsize=256)
def make_json_form(declared: DeclaredType, numbered: frozenset[type] = frozenset()) -> JsonForm:
    """Return the JSON form of a type; raise TypeError, with the reason, for a type that has none.

    Objects of the `numbered` classes are chosen by their numbers; if they are data, they may also
    be new.
    """
    if numbered:
        declared = convert_classes(declared, partial(_keep_instances, numbered))
    schema = _generate_schema(declared, numbered)
    return JsonForm(declared, map_schemas(schema, _clean), schema)


def _keep_instances(numbered: frozenset[type], kind: type) -> DeclaredType:
    """Return a numbered class as a type with instances that pydantic keeps as they are."""
    from pydantic import BaseModel, InstanceOf, WrapValidator

    if kind not in numbered or is_dataclass(kind) or issubclass(kind, BaseModel):
        return kind
    if not issubclass(kind, tuple):
        instance_of: Any = InstanceOf
        return instance_of[kind]
    keep = WrapValidator(lambda value, make: value if isinstance(value, kind) else make(value))
    return Annotated[kind, keep]


def _generate_schema(declared: DeclaredType, numbered: frozenset[type]) -> Json:
    from njrt.values.json_schema import SchemaGenerator

    generator = type("Generator", (SchemaGenerator,), {"numbered": numbered})
    try:
        schema: Json = get_adapter(declared).json_schema(schema_generator=generator)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        if "Unable to generate pydantic-core schema" in reason:
            reason = "it, or a part of it, is a class that declares no fields"
        raise TypeError(reason) from None
    if equal := find_equal_alternatives(schema):
        raise TypeError(f"JSON does not tell {equal[0]} and {equal[1]} apart")
    return schema


_DROPPED = ("title", "default", "discriminator", MEMBERS, NAMED_TUPLE, NUMBERED)


def _clean(schema: Json) -> Json:
    """Return a schema without titles and defaults, and with enum members as a description."""
    kept = {key: value for key, value in schema.items() if key not in _DROPPED}
    if MEMBERS in schema:
        meanings = [f"{name} = {member.value!r}" for name, member in schema[MEMBERS].items()]
        kept["description"] = "; ".join(meanings)
    tags = [name for name, part in kept.get("properties", {}).items() if "const" in part]
    if tags:  # a union's discriminator is never left out, even if it has a default
        kept["required"] = list(dict.fromkeys([*kept.get("required", ()), *tags]))
    return kept


def move_definitions(schema: Json, definitions: dict[str, Json]) -> Json:
    """Return a schema with the `$defs` of its parts moved to `definitions`.

    Raises ConfigurationError for different classes of the same name.
    """

    def move(part: Json) -> Json:
        for name, inner in part.get("$defs", {}).items():
            if definitions.setdefault(name, inner) != inner:
                raise ConfigurationError(
                    f"two classes in the types of one block are named `{name}`; rename one"
                )
        return {key: value for key, value in part.items() if key != "$defs"}

    return map_schemas(schema, move)


# ── schemas as text, for models that do not read schemas ─────────────────────────────────────────


def describe_schema(schema: Json) -> str:
    """Return a schema as an example that people and small models grasp quickly: `{"name": string}`.

    Definitions that are used more than once, or in themselves, follow by name; `= VALUE` is an
    optional part's default.
    """
    definitions = schema.get("$defs", {})
    counts = Counter(get_reference_name(it) for it in walk_schemas(schema) if "$ref" in it)
    written: dict[str, str] = {}
    named: dict[str, str] = {}

    def refer(name: str) -> str:
        if name not in written:
            written[name] = ""
            text = _describe(definitions[name], refer)
            is_shared = name in named or (counts[name] > 1 and len(text) > _MIN_SHARED)
            (named if is_shared else written)[name] = text
        elif not written[name]:  # inside of itself, or written by its name
            named.setdefault(name, "")
        return written[name] or name

    text = _describe(schema, refer)
    meanings = [f"{name} is {named[name]}" for name in counts if name in named]
    return f"{text}, where {'; '.join(meanings)}" if meanings else text


_MIN_SHARED = 40
"""Descriptions of definitions longer than this are not repeated."""

# Without quotes, because small models copy them.
_SCALARS = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "true | false",
    "null": "null",
    "date": '"YYYY-MM-DD"',
    "time": '"HH:MM:SS"',
    "date-time": '"YYYY-MM-DDTHH:MM:SS"',
    "duration": '"a duration such as PT1H30M"',
}


def _describe(schema: Json, refer: Callable[[str], str]) -> str:
    if NUMBERED in schema:
        return f"{schema[NUMBERED].__name__} number"
    if choices := list_constants(schema):
        return " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    if alternatives := list_alternatives(schema):
        found = (_describe(choice, refer) for choice in alternatives)
        return " | ".join(dict.fromkeys(found))
    if "$ref" in schema:
        return refer(get_reference_name(schema))
    match schema.get("type"):
        case "object" if "properties" in schema:
            required = schema.get("required", ())
            inner = [
                _describe_property(name, part, name in required, refer)
                for name, part in schema["properties"].items()
            ]
            return f"{{{', '.join(inner)}}}"
        case "object":
            others = schema.get("additionalProperties")
            shown = others if isinstance(others, Mapping) else {}
            return f"{{string: {_describe(shown, refer)}, ...}}"
        case "array" if "prefixItems" in schema or schema.get("maxItems") == 0:
            fixed = [_describe(part, refer) for part in schema.get("prefixItems", ())]
            return f"[{', '.join(fixed)}]"
        case "array":
            return f"[{_describe(schema.get('items', {}), refer)}, ...]"
        case kind:
            return _SCALARS.get(schema.get("format", kind), _SCALARS.get(str(kind), "any value"))


def _describe_property(
    name: str, part: Json, is_required: bool, refer: Callable[[str], str]
) -> str:
    """Return a field, with its default as ` = "medium"` or the note that it may be left out."""
    text = _describe(part, refer)
    if "default" in part and "const" not in part:
        return f'"{name}": {text} = {json.dumps(part["default"], ensure_ascii=False)}'
    note = "" if is_required or "const" in part else " (may be left out)"
    return f'"{name}"{note}: {text}'


def describe_object(forms: Mapping[str, JsonForm]) -> str:
    """Return an object with properties of these forms, as `describe_schema` writes it."""
    definitions: dict[str, Json] = {}
    parts = {
        name: move_definitions(form.schema_with_members, definitions)
        for name, form in forms.items()
    }
    return describe_schema({**make_object_schema(parts), "$defs": definitions})
