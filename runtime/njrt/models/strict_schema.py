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

from contextlib import suppress
from dataclasses import replace
from typing import Any

from njrt.data.message_json import format_json_line
from njrt.messages import Json, ModelMessage, Reply, make_object_schema
from njrt.models.response import MalformedReplyError, parse_json
from njrt.values.json_forms import move_definitions
from njrt.values.json_unions import list_alternatives, list_constants, map_schemas, walk_schemas

REPLY = "reply"
"""The property of the root object that holds the reply."""


def make_strict_schema(schema: Json) -> dict[str, Any]:
    """Return the strict form of a schema, under a root object with the single property `reply`."""
    definitions: dict[str, Json] = {}
    reply = move_definitions(map_schemas(schema, _make_strict), definitions)
    strict = make_object_schema({REPLY: reply})
    return strict | ({"$defs": definitions} if definitions else {})


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
    with suppress(MalformedReplyError):
        value = parse_json(text)
        is_below = isinstance(value, dict) and value.keys() == {REPLY}
        text = format_json_line(value[REPLY] if is_below else value)
        return replace(reply, message=ModelMessage(text))
    return reply


def _make_strict(schema: Json) -> Json:
    if "$ref" in schema:
        return {key: schema[key] for key in ("$ref", "$defs") if key in schema}
    strict = {key: schema[key] for key in ("description", "$defs") if key in schema}
    if alternatives := list_alternatives(schema):
        return strict | {"anyOf": alternatives}
    if constants := list_constants(schema):
        return strict | {"enum": constants}
    match schema.get("type", "string"):
        case "array":
            fixed = schema.get("prefixItems")
            items = {"anyOf": fixed} if fixed else schema.get("items", {"type": "string"})
            return strict | {"type": "array", "items": items}
        case "object":
            others = schema.get("additionalProperties", "properties" not in schema)
            made = strict | {"type": "object", "additionalProperties": others}
            if "properties" in schema:
                made["properties"] = schema["properties"]
                made["required"] = [*schema.get("required", ())]
            return made
        case kind:
            return strict | {"type": kind}
