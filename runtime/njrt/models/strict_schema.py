"""The JSON schemas that vendors enforce, and replies under them.

    {"anyOf": [{"properties": {"n": {"type": "integer"}}, ...}, ...]}
        ──make_strict_schema──>   {"type": "object", "properties": {"reply": {"anyOf": [...]}}, "required": ["reply"], ...}
    {"reply": {"n": 3}}
        ──restore_reply──>        {"n": 3}

OpenAI and Anthropic accept a schema as strict only if its root is an object without alternatives, every object
lists its properties, requires all of them and allows no others, and arrays have one schema for their items.
So an optional property may be null, a dict is a list of entries, and a tuple is an array of any of its items;
`restore_value` undoes it. Limits (lengths, ranges, patterns) are left out: the reply is
checked against the plain schema afterwards.
(platform.openai.com/docs/guides/structured-outputs; docs.anthropic.com, strict tool use.)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from njrt.messages import Json, ModelMessage, Reply
from njrt.models.response import MalformedReplyError, parse_json
from njrt.values.json_forms import JsonValue, make_object_schema

REPLY = "reply"
"""The property of the root object that holds the reply."""


def make_strict_schema(schema: Json) -> dict[str, Any]:
    """The strict form of a schema, under a root object with the one property `reply`."""
    strict = make_object_schema({REPLY: _make_strict(schema)})
    if "$defs" in schema:
        strict["$defs"] = {name: _make_strict(inner) for name, inner in schema["$defs"].items()}
    return strict


def restore_reply(value: JsonValue, schema: Json) -> JsonValue:
    """The reply in the plain form of `schema`, of a value that fits its strict form."""
    if isinstance(value, dict) and value.keys() == {REPLY}:
        value = value[REPLY]
    return restore_value(value, schema, schema.get("$defs", {}))


def restore_strict_reply(reply: Reply, schema: Json) -> Reply:
    """The reply with its JSON in the plain form of `schema`, as text; unchanged if it is not JSON."""
    text = next((call.raw for call in reply.message.calls), reply.message.text)
    try:
        value = parse_json(text)
    except MalformedReplyError:
        return reply
    restored = json.dumps(restore_reply(value, schema), ensure_ascii=False)
    return replace(reply, message=ModelMessage(restored))


def _make_strict(schema: Json) -> dict[str, Any]:
    strict: dict[str, Any] = {}
    if "description" in schema:
        strict["description"] = schema["description"]
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return strict | {"anyOf": [_make_strict(choice) for choice in schema[key]]}
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    if "const" in schema:
        return strict | {"enum": [schema["const"]]}
    if "enum" in schema:
        return strict | {"enum": schema["enum"]}
    match schema.get("type"):
        case "object" if is_dict_schema(schema):
            value = schema.get("additionalProperties")
            key_schema = _make_strict({"type": "string"} | dict(schema.get("propertyNames", {})))
            entry = {
                "key": key_schema,
                "value": _make_strict(value if isinstance(value, Mapping) else {}),
            }
            return strict | {"type": "array", "items": make_object_schema(entry)}
        case "object":
            required = schema.get("required", ())
            return strict | make_object_schema(
                {
                    name: _make_strict(inner)
                    if name in required
                    else {"anyOf": [_make_strict(inner), {"type": "null"}]}
                    for name, inner in schema.get("properties", {}).items()
                }
            )
        case "array":
            fixed = [_make_strict(inner) for inner in schema.get("prefixItems", ())]
            items = {"anyOf": fixed} if fixed else _make_strict(schema.get("items", {}))
            return strict | {"type": "array", "items": items}
        case str(kind):
            return strict | {"type": kind}
    return strict | {"type": "string"}


def is_dict_schema(schema: Json) -> bool:
    """Whether a schema is that of a dict: an object with any keys."""
    return "properties" not in schema and schema.get("additionalProperties") is not False


def restore_value(value: JsonValue, schema: Json, definitions: Json) -> JsonValue:
    """The plain form of a value that fits the strict form of `schema`."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return restore_value(value, definitions[name], definitions)
    for key in ("anyOf", "oneOf"):
        for choice in schema.get(key, ()):
            if has_strict_form(value, choice, definitions):
                return restore_value(value, choice, definitions)
    match value:
        case list() if schema.get("type") == "object":
            inner = schema.get("additionalProperties")
            inner = inner if isinstance(inner, Mapping) else {}
            return {
                str(entry["key"]): restore_value(entry["value"], inner, definitions)
                for entry in value
                if isinstance(entry, dict) and entry.keys() == {"key", "value"}
            }
        case list():
            fixed = schema.get("prefixItems", ())
            schemas = [*fixed, *[schema.get("items", {})] * len(value)]
            return [
                restore_value(item, schemas[index], definitions) for index, item in enumerate(value)
            ]
        case dict():
            known, required = schema.get("properties", {}), schema.get("required", ())
            return {
                name: restore_value(item, known.get(name, {}), definitions)
                for name, item in value.items()
                if item is not None or name in required or name not in known
            }
        case _:
            return value


def has_strict_form(value: JsonValue, schema: Json, definitions: Json) -> bool:
    """Whether a value looks like the strict form of a schema, as far as its outermost level shows."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return has_strict_form(value, definitions[name], definitions)
    if "const" in schema or "enum" in schema:
        return value in schema.get("enum", [schema.get("const")])
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return any(has_strict_form(value, choice, definitions) for choice in choices)
    match schema.get("type"):
        case "object" if is_dict_schema(schema):
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict) and value.keys() == schema.get("properties", {}).keys()
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer" | "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "null":
            return value is None
    return True
