"""JSON schemas as text, for models that read no schemas.

describe_schema(schema of Color)                        '"RED" | "BLUE"'
describe_schema(schema of a class with one field)       '{"name": string}'
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

from njrt.messages import Json
from njrt.values.json_choices import JsonValue
from njrt.values.json_forms import JsonForm


def describe_schema(schema: Json) -> str:
    """Return a schema as an example that people, and small models, read at once: `{"name": string}`.

    Definitions that are used more than once follow it by name; `= VALUE` is the default of what may be left out.
    """
    definitions = schema.get("$defs", {})
    shared = {
        name: text
        for name, count in Counter(_list_references(schema)).items()
        if count > 1
        and name in definitions
        and name not in _list_references(definitions[name])
        and len(text := _describe(definitions[name], definitions, 0)) > _MIN_SHARED
    }
    kept = {name: part for name, part in definitions.items() if name not in shared}
    text = _describe(schema, kept, 0)
    named = [f"{name} is {_describe(definitions[name], kept, 0)}" for name in shared]
    return f"{text}, where {'; '.join(named)}" if named else text


def _list_references(schema: JsonValue) -> list[str]:
    """Return the names of the definitions that a schema refers to, each as often as it does."""
    if isinstance(schema, list):
        return [name for part in schema for name in _list_references(part)]
    if not isinstance(schema, Mapping):
        return []
    own = [schema["$ref"].rpartition("/")[2]] if isinstance(schema.get("$ref"), str) else []
    return own + [name for part in schema.values() for name in _list_references(part)]


_MIN_SHARED = 40
"""Characters from which the description of a definition is not repeated."""

_MAX_DEPTH = 4
# Not in quotes: small models copy what they can.
_SCALAR_DESCRIPTIONS = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "true | false",
    "null": "null",
}
_FORMAT_DESCRIPTIONS = {
    "date": '"YYYY-MM-DD"',
    "time": '"HH:MM:SS"',
    "date-time": '"YYYY-MM-DDTHH:MM:SS"',
    "duration": '"a duration such as PT1H30M"',
}


def _describe(schema: Json, definitions: Json, depth: int) -> str:
    if "enum" in schema or "const" in schema:
        choices = schema.get("enum") or [schema["const"]]
        return " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            found = (_describe(choice, definitions, depth) for choice in schema[key])
            return " | ".join(dict.fromkeys(found))
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        is_shown = depth < _MAX_DEPTH and name in definitions
        return _describe(definitions[name], definitions, depth + 1) if is_shown else name
    match schema.get("type"):
        case "object" if "properties" in schema:
            parts = schema["properties"].items()
            inner = [
                f'"{name}": {_describe(part, definitions, depth)}{_format_default(part)}'
                for name, part in parts
            ]
            return f"{{{', '.join(inner)}}}"
        case "object":
            others = schema.get("additionalProperties")
            inner_text = (
                _describe(others, definitions, depth)
                if isinstance(others, Mapping)
                else "any value"
            )
            return f"{{string: {inner_text}, ...}}"
        case "array" if "prefixItems" in schema:
            fixed = [_describe(part, definitions, depth) for part in schema["prefixItems"]]
            return f"[{', '.join(fixed)}]"
        case "array":
            return f"[{_describe(schema.get('items', {}), definitions, depth)}, ...]"
        case "string" if schema.get("format") in _FORMAT_DESCRIPTIONS:
            return _FORMAT_DESCRIPTIONS[schema["format"]]
        case kind:
            return _SCALAR_DESCRIPTIONS.get(str(kind), "any value")


def _format_default(schema: Json) -> str:
    """Return the default of a field that may be left out, ` = "medium"`."""
    if "default" not in schema or "const" in schema:
        return ""
    return f" = {json.dumps(schema['default'], ensure_ascii=False)}"


def describe_object(forms: Mapping[str, JsonForm]) -> str:
    """Return an object whose properties have these forms, as `describe_schema` writes it."""
    properties = {name: form.schema_with_members for name, form in forms.items()}
    definitions: dict[str, Json] = {}
    for schema in properties.values():
        definitions |= schema.get("$defs", {})
    parts = {
        name: {key: part for key, part in schema.items() if key != "$defs"}
        for name, schema in properties.items()
    }
    return describe_schema({"type": "object", "properties": parts, "$defs": definitions})
