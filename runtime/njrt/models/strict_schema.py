"""The JSON schemas that vendors enforce, and replies that follow them.

    {"anyOf": [...]}      ──make_strict_schema──>
        {"type": "object", "properties": {"reply": {"anyOf": [...]}}, ...}
    {"reply": {"n": 3}}   ──restore_reply──>     {"n": 3}

A strict schema has an object at its root, requires all properties, allows no others, and has one
schema for all items of an array. So an optional property may be null, a dict is a list of entries,
and a tuple is an array of any of its items. Limits are left out, because the reply is checked
against the plain schema afterwards. (platform.openai.com/docs/guides/structured-outputs;
docs.anthropic.com, strict tool use.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from njrt.message_json import write_json
from njrt.messages import Json, ModelMessage, Reply, make_object_schema
from njrt.models.response import MalformedReplyError, parse_json
from njrt.records import record
from njrt.values.json_unions import (
    JsonValue,
    choose_alternative,
    flatten_alternatives,
    resolve_reference,
)

REPLY = "reply"
"""The property of the root object that holds the reply."""


def make_strict_schema(schema: Json) -> dict[str, Any]:
    """Return the strict form of a schema, under a root object with the single property `reply`."""
    strict = make_object_schema({REPLY: _make_strict(schema)})
    if "$defs" in schema:
        strict["$defs"] = {name: _make_strict(inner) for name, inner in schema["$defs"].items()}
    return strict


def restore_reply(value: JsonValue, schema: Json) -> JsonValue:
    """Return the reply in the plain form of `schema`, from a value that fits its strict form."""
    if isinstance(value, dict) and value.keys() == {REPLY}:
        value = value[REPLY]
    return restore_value(value, schema, schema.get("$defs", {}))


def restore_strict_reply(reply: Reply, schema: Json) -> Reply:
    """Return the reply with its JSON as text in `schema`'s plain form; unchanged if not JSON."""
    text = next((call.raw for call in reply.message.calls), reply.message.text)
    try:
        restored = write_json(restore_reply(parse_json(text), schema))
    except (MalformedReplyError, RecursionError):  # nested more deeply than any intended type
        return reply
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
    """Return whether a schema describes a dict: an object with arbitrary keys."""
    return "properties" not in schema and schema.get("additionalProperties") is not False


def restore_value(value: JsonValue, schema: Json, definitions: Json) -> JsonValue:
    """Return the plain form of a value that fits the strict form of `schema`."""
    return _Restorer({"$defs": definitions}).restore(value, schema)


@record
class _Restorer:
    root: Json

    def restore(self, value: JsonValue, schema: Json) -> JsonValue:
        schema = resolve_reference(schema, self.root)
        parts = list(flatten_alternatives([schema], self.root))
        schema = self.choose(value, parts) or schema
        match value:
            case list() if schema.get("type") == "object":
                inner = schema.get("additionalProperties")
                inner = inner if isinstance(inner, Mapping) else _ANYTHING
                return {
                    str(entry["key"]): self.restore(entry["value"], inner)
                    for entry in value
                    if is_entry(entry)
                }
            case list():
                fixed = schema.get("prefixItems", ())
                schemas = [*fixed, *[schema.get("items", _ANYTHING)] * len(value)]
                return [self.restore(item, schemas[index]) for index, item in enumerate(value)]
            case dict():
                known, required = schema.get("properties", {}), schema.get("required", ())
                return {
                    name: self.restore(item, known.get(name, _ANYTHING))
                    for name, item in value.items()
                    if item is not None
                    or name in required
                    or name not in known
                    or self.takes_null(known[name])
                }
            case _:
                return value

    def choose(self, value: JsonValue, parts: Sequence[Json]) -> Json | None:
        """Return the alternative of a value in strict form, where a dict is a list of entries."""
        arrays = [part for part in parts if part.get("type") == "array"]
        if isinstance(value, list) and all(map(is_entry, value)) and (value or not arrays):
            dicts = (it for it in parts if it.get("type") == "object" and is_dict_schema(it))
            if (found := next(dicts, None)) is not None:
                return found
        return choose_alternative(value, parts)

    def takes_null(self, schema: Json) -> bool:
        return choose_alternative(None, [*flatten_alternatives([schema], self.root)]) is not None


_ANYTHING: Json = {}


def is_entry(value: JsonValue) -> bool:
    """Return whether a value is an entry of a dict in strict form."""
    return isinstance(value, dict) and value.keys() == {"key", "value"}
