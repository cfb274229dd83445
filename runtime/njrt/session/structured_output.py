"""Structured answers: from a Python type to a JSON schema that vendors accept, and from JSON back to a value.

    make_answer_schema(bool)                                {"type": "boolean"}
    make_answer_schema(Order)                               {"type": "object", "properties": ..., ...}
    describe_schema(make_answer_schema(list[int]))          "[a whole number, ...]", for the text protocol
    find_schema_problems({"type": "object"})                "an object must name its properties ..."
    parse_answer('{"value": "yes"}', bool)                  True, or ValueError with the reason as its message

Vendors accept only strict schemas: every object lists its properties, requires all of them and allows no
others. Keywords that only narrow a value (lengths, ranges, patterns) are left out and checked on the answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from njrt.messages import Json, make_object_schema
from njrt.outcome import UserValue
from njrt.packages import require_packages
from njrt.values.adapters import format_validation_errors, get_adapter

AnswerType = Any
"""What is asked for: a type that pydantic knows, or a JSON schema as a dict."""

_KEPT_KEYWORDS = ("type", "description", "enum", "$ref", "items", "anyOf", "properties", "$defs")
_SCALAR_KINDS = {"string", "number", "integer", "boolean", "null"}


def make_answer_schema(wanted: AnswerType) -> Json:
    """The strict JSON schema of a type; raise TypeError for what has none."""
    if isinstance(wanted, Mapping):
        return _make_strict(wanted)
    try:
        return _make_strict(get_adapter(wanted).json_schema())
    except Exception as error:
        raise TypeError(f"no JSON schema can be made of {wanted!r}: {error}") from None


def _make_strict(schema: Json) -> Json:
    """The schema with all properties required, no others allowed, and without narrowing keywords."""
    schema = {"enum": [schema["const"]], **schema} if "const" in schema else schema
    schema = {"anyOf": schema["oneOf"], **schema} if "oneOf" in schema else schema
    kept: dict[str, Any] = {}
    for key in _KEPT_KEYWORDS:
        match schema.get(key):
            case None:
                continue
            case dict(inner) if key in ("properties", "$defs"):
                kept[key] = {name: _make_strict(part) for name, part in inner.items()}
            case list(choices) if key == "anyOf":
                kept[key] = [_make_strict(choice) for choice in choices]
            case dict(inner) if key == "items":
                kept[key] = _make_strict(inner)
            case value:
                kept[key] = value
    if schema.get("type") == "object" and "properties" in kept:
        kept |= {"required": list(kept["properties"]), "additionalProperties": False}
    return kept


def find_schema_problems(schema: Json) -> Iterator[str]:
    """What a vendor would refuse in a strict schema; each problem with a way out."""
    for inner in (*schema.get("$defs", {}).values(), *schema.get("anyOf", ())):
        yield from find_schema_problems(inner)
    kind = schema.get("type")
    if kind == "object":
        if "properties" not in schema:
            yield (
                "an object must name its properties: instead of a dict with any keys, "
                "ask for a list of objects with a key and a value"
            )
        for inner in schema.get("properties", {}).values():
            yield from find_schema_problems(inner)
    elif kind == "array":
        if "items" not in schema:
            yield "an array must say what its items are: instead of a tuple, ask for list[...]"
        else:
            yield from find_schema_problems(schema["items"])
    elif not (kind in _SCALAR_KINDS or schema.keys() & {"$ref", "anyOf", "enum"}):
        yield "a type must say what it is: str, int, float, bool, Literal[...], list[...] or a class"


def wrap_schema(schema: Json) -> Json:
    """The schema of an object that holds the answer as `value`: vendors require an object at the top."""
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    outer = make_object_schema({"value": inner})
    return outer | ({"$defs": schema["$defs"]} if "$defs" in schema else {})


def describe_schema(schema: Json, definitions: Json | None = None, depth: int = 0) -> str:
    """A schema as a short example, for people and for models that read no schemas."""
    definitions = definitions or schema.get("$defs", {})
    if "enum" in schema:
        return " | ".join(json.dumps(choice, ensure_ascii=False) for choice in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(describe_schema(choice, definitions, depth) for choice in schema["anyOf"])
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        known = depth < _MAX_DEPTH and name in definitions
        return describe_schema(definitions[name], definitions, depth + 1) if known else name
    match schema.get("type"):
        case "object":
            parts = schema.get("properties", {}).items()
            inner = [
                f'"{name}": {describe_schema(part, definitions, depth)}' for name, part in parts
            ]
            return f"{{{', '.join(inner)}}}"
        case "array":
            return f"[{describe_schema(schema.get('items', {}), definitions, depth)}, ...]"
        case kind:
            return _KIND_DESCRIPTIONS.get(str(kind), "any value")


_MAX_DEPTH = 4
_KIND_DESCRIPTIONS = {
    "string": '"text"',
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true | false",
    "null": "null",
}
_FENCED_BLOCK = re.compile(r"```\w*\s*\n(.*?)```", re.DOTALL)


def parse_answer(text: str, wanted: AnswerType) -> UserValue:
    """Read an answer: JSON with or without its wrapping object, or plain text.

    Raise ValueError, whose message is for the model, where it does not fit.
    """
    fenced = _FENCED_BLOCK.search(text)
    text = (fenced[1] if fenced else text).strip()
    try:
        answer = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        answer = text
    if isinstance(answer, dict) and answer.keys() == {"value"}:
        answer = answer["value"]
    return convert_answer(answer, wanted)


def convert_answer(answer: UserValue, wanted: AnswerType) -> UserValue:
    """Convert an answer in JSON to the wanted type; raise ValueError where it does not fit."""
    if isinstance(wanted, Mapping):
        _check_against_schema(answer, wanted)
        return answer
    from pydantic import ValidationError

    try:
        return get_adapter(wanted).validate_json(json.dumps(answer))
    except ValidationError as error:
        raise ValueError(format_validation_errors(error, "the answer")) from None


def _check_against_schema(answer: UserValue, schema: Json) -> None:
    require_packages(
        "a schema given as a dict", "jsonschema", "jsonschema", otherwise="give a type"
    )
    from jsonschema.exceptions import best_match
    from jsonschema.validators import validator_for

    problem = best_match(validator_for(schema)(schema).iter_errors(answer))
    if problem is not None:
        raise ValueError(f"{problem.json_path.replace('$', 'the answer', 1)}: {problem.message}")
