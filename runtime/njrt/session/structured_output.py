"""What an answer must look like: from a Python type to a JSON schema that vendors accept, and back.

    schema_of(bool)                        {"type": "boolean"}
    schema_of(Order)                       {"type": "object", "properties": ..., "required": ..., ...}
    shape_of(schema_of(list[int]))         "[a whole number, ...]", for models that read no schemas
    find_schema_problems({"type": "object"})      "an object must name its properties ..."
    parse_answer('{"value": "yes"}', bool)     True, or ValueError with the reason as its message

Vendors accept only strict schemas: every object lists its properties, requires all of them and allows no
others. What only narrows a value (lengths, ranges, patterns) is left out and checked on the answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from njrt.messages import Json
from njrt.outcome import UserValue

AnswerType = Any
"""What is asked for: a type that pydantic knows, or a JSON schema as a dict."""

_KEPT_KEYWORDS = ("type", "description", "enum", "$ref", "items", "anyOf", "properties", "$defs")
_SCALAR_KINDS = {"string", "number", "integer", "boolean", "null"}


def make_answer_schema(wanted: AnswerType) -> Json:
    """The strict JSON schema of what is wanted; raise TypeError for what has none."""
    if isinstance(wanted, Mapping):
        return _make_strict(wanted)
    try:
        return _make_strict(_get_adapter(wanted).json_schema())
    except Exception as error:
        raise TypeError(f"no JSON schema can be made of {wanted!r}: {error}") from None


def _make_strict(schema: Json) -> Json:
    """The same schema with all properties required, no others allowed, and nothing that only narrows."""
    schema = {"enum": [schema["const"]], **schema} if "const" in schema else schema
    schema = {"anyOf": schema["oneOf"], **schema} if "oneOf" in schema else schema
    kept: dict[str, Any] = {}
    for key in _KEPT_KEYWORDS:
        match schema.get(key):
            case None:
                continue
            case dict(inner) if key in ("properties", "$defs"):
                kept[key] = {name: _make_strict(each) for name, each in inner.items()}
            case list(choices) if key == "anyOf":
                kept[key] = [_make_strict(each) for each in choices]
            case dict(inner) if key == "items":
                kept[key] = _make_strict(inner)
            case value:
                kept[key] = value
    if schema.get("type") == "object" and "properties" in kept:
        kept |= {"required": list(kept["properties"]), "additionalProperties": False}
    return kept


def find_schema_problems(schema: Json) -> Iterator[str]:
    """Say what in a strict schema a vendor would refuse, each with a way out."""
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
    """The schema of an object that holds the answer as `value`: vendors want an object outermost."""
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    outer: dict[str, Any] = {
        "type": "object",
        "properties": {"value": inner},
        "required": ["value"],
        "additionalProperties": False,
    }
    return outer | ({"$defs": schema["$defs"]} if "$defs" in schema else {})


def describe_schema(schema: Json, definitions: Json | None = None, depth: int = 0) -> str:
    """A schema as an example that people, and small models, read at once."""
    definitions = definitions or schema.get("$defs", {})
    if "enum" in schema:
        return " | ".join(json.dumps(each, ensure_ascii=False) for each in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(describe_schema(each, definitions, depth) for each in schema["anyOf"])
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        known = depth < _MAX_DEPTH and name in definitions
        return describe_schema(definitions[name], definitions, depth + 1) if known else name
    match schema.get("type"):
        case "object":
            parts = schema.get("properties", {}).items()
            inner = [
                f'"{name}": {describe_schema(each, definitions, depth)}' for name, each in parts
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
    """Read an answer, given as JSON with or without its wrapping, or as a bare word.

    Raise ValueError, whose message is meant for the model, where it does not fit.
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
    """Make the wanted value of an answer in JSON; raise ValueError where it does not fit."""
    if isinstance(wanted, Mapping):
        for problem in _find_mismatches(answer, wanted, wanted.get("$defs", {}), "the answer"):
            raise ValueError(problem)
        return answer
    from pydantic import ValidationError

    try:
        return _get_adapter(wanted).validate_json(json.dumps(answer))
    except ValidationError as error:
        raise ValueError(_format_errors(error)) from None


def _format_errors(error: Any, most: int = 3) -> str:
    found = error.errors(include_url=False, include_context=False)
    return "; ".join(
        f"{'.'.join(map(str, each['loc'])) or 'the answer'}: {each['msg']}" for each in found[:most]
    )


@lru_cache(maxsize=256)
def _make_adapter(wanted: AnswerType) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(wanted)


def _get_adapter(wanted: AnswerType) -> Any:
    try:
        return _make_adapter(wanted)
    except TypeError:  # unhashable, such as Annotated[int, []]
        return _make_adapter.__wrapped__(wanted)


def _find_mismatches(answer: UserValue, schema: Json, definitions: Json, at: str) -> Iterator[str]:
    """Say how an answer fails a JSON schema, as far as strict schemas go."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices and all(any(_find_mismatches(answer, each, definitions, at)) for each in choices):
        yield f"{at}: fits none of {' | '.join(describe_schema(each, definitions) for each in choices)}"
    if "enum" in schema and answer not in schema["enum"]:
        yield f"{at}: must be one of {', '.join(map(json.dumps, schema['enum']))}"
    if "const" in schema and answer != schema["const"]:
        yield f"{at}: must be {json.dumps(schema['const'])}"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_has_json_type(answer, kind) for kind in kinds):
        yield f"{at}: must be of type {' or '.join(kinds)}, not {json.dumps(answer)[:80]}"
    elif isinstance(answer, list):
        for index, each in enumerate(answer):
            yield from _find_mismatches(
                each, schema.get("items", {}), definitions, f"{at}[{index}]"
            )
    elif isinstance(answer, dict):
        parts = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in answer:
                yield f"{at}: `{name}` is missing"
        for name, each in answer.items():
            if name in parts:
                yield from _find_mismatches(each, parts[name], definitions, f"{at}.{name}")
            elif schema.get("additionalProperties") is False:
                yield f"{at}: there is no `{name}`"


_PYTHON_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def _has_json_type(answer: UserValue, kind: str) -> bool:
    if isinstance(answer, bool):
        return kind == "boolean"
    return isinstance(answer, _PYTHON_TYPES.get(kind, (object,)))
