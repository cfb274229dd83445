"""The JSON schemas that vendors enforce, and replies that follow them.

    {"anyOf": [...]}      ──make_strict_schema──>
        {"type": "object", "properties": {"reply": {"anyOf": [...]}}, ...}
    {"reply": {"n": 3}}   ──unwrap_reply──>     {"n": 3}

A strict schema has an object at its root, requires all properties, allows no others, and has one
schema for all items of an array. A schema with a dict, or with a property that may be left out, is
sent without `strict`: the vendor follows it, and does not enforce it. Limits are left out, because
the reply is checked against the plain schema afterwards.
(platform.openai.com/docs/guides/structured-outputs; docs.anthropic.com, strict tool use.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from njrt.data.message_json import format_json_line
from njrt.messages import Json, ModelMessage, Reply, make_object_schema
from njrt.models.response import MalformedReplyError, parse_json
from njrt.values.json_unions import list_alternatives, walk_schemas

REPLY = "reply"
"""The property of the root object that holds the reply."""


def make_strict_schema(schema: Json) -> dict[str, Any]:
    """Return the strict form of a schema, under a root object with the single property `reply`."""
    strict = make_object_schema({REPLY: _make_strict(schema)})
    if "$defs" in schema:
        strict["$defs"] = {name: _make_strict(inner) for name, inner in schema["$defs"].items()}
    return strict


def is_strict(schema: Json) -> bool:
    """Return whether all objects of a schema have the names that they require, and no others."""
    return all(
        part.get("additionalProperties") is False
        and part.get("properties", {}).keys() == {*part.get("required", ())}
        for part in walk_schemas(schema)
        if part.get("type") == "object"
    )


def unwrap_reply(reply: Reply) -> Reply:
    """Return a reply to a strict schema with the JSON below its root; unchanged if not JSON."""
    text = next((call.raw for call in reply.message.calls), reply.message.text)
    try:
        value = parse_json(text)
    except MalformedReplyError:
        return reply
    if isinstance(value, dict) and value.keys() == {REPLY}:
        value = value[REPLY]
    return replace(reply, message=ModelMessage(format_json_line(value)))


def _make_strict(schema: Json) -> dict[str, Any]:
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    strict = {"description": schema["description"]} if "description" in schema else {}
    if alternatives := list_alternatives(schema):
        return strict | {"anyOf": [_make_strict(choice) for choice in alternatives]}
    if "const" in schema:
        return strict | {"enum": [schema["const"]]}
    if "enum" in schema:
        return strict | {"enum": schema["enum"]}
    kind = schema.get("type", "string")
    strict["type"] = kind
    if kind == "array":
        fixed = [_make_strict(inner) for inner in schema.get("prefixItems", ())]
        strict["items"] = {"anyOf": fixed} if fixed else _make_strict(schema.get("items", {}))
    elif kind == "object":
        others = schema.get("additionalProperties", "properties" not in schema)
        strict["additionalProperties"] = (
            _make_strict(others) if isinstance(others, Mapping) else others
        )
        if "properties" in schema:
            inner = schema["properties"].items()
            strict["properties"] = {name: _make_strict(part) for name, part in inner}
            strict["required"] = list(schema.get("required", ()))
    return strict
