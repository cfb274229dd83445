"""Random schemas of JSON from a seed.

A definition names later ones only, so that no schema needs itself before it has read any of a value.
"""

from __future__ import annotations

from random import Random
from typing import Any

KEYS = ["a", "b", "from", "self", "maxCount", "max-count", "model_dump", "model_x", "json", "é", "$id", "str", "list", "class"]  # fmt: skip
SCALARS = ["string", "integer", "number", "boolean", "null"]
ENUMS = ["a", "b", "1", 2, 7, True, False, None, 1.5, ["a"], {"a": 1}]
FORMATS = ["date-time", "uuid", "uri", "binary", "email"]
LIMITS: list[dict[str, Any]] = [
    {"type": "integer", "minimum": 1},
    {"type": "string", "maxLength": 1},
    {"type": "array", "items": {"type": "integer"}, "minItems": 1, "uniqueItems": True},
    {"type": "string", "nullable": True},
]
FLAT = [*SCALARS, "enum", "const", "any", "format", "limits", "ref"]
DEEP = [*FLAT, "array", "tuple", "object", "map", "pattern", "anyOf", "oneOf", "allOf", "types", "not"]  # fmt: skip


TEXTS = ["from", "annotations", "self", "server", "result", "class", "a-b", "aB", '"""', "\\", "'", "\n", "x\n    y", "é", "str", "_x", "njrt", "list", "None", "model_config", "match", '""" + evil + """', "#", "\x00", "\u2028", ""]  # fmt: skip


def make_tools(random: Random) -> tuple[list[dict[str, Any]], str]:
    """Return tools of a server that says anything where a text or a schema may be, and its name."""

    def pick() -> str:
        return random.choice(TEXTS) + random.choice(["", *TEXTS])

    def spoil(schema: Any) -> Any:
        if not isinstance(schema, dict):
            return random.choice([schema, None, [], "text", 3, {"$ref": "#/properties"}])
        named = {
            key: spoil(each) if isinstance(each, dict) else each for key, each in schema.items()
        }
        return {**named, random.choice(["description", "default", "title", "required"]): pick()}

    def make_object() -> dict[str, Any]:
        named = {pick(): spoil(make_schema(random, 0, [])) for _ in range(random.randint(0, 4))}
        return {
            "type": "object",
            "properties": named,
            "required": random.sample([*named], len(named) // 2),
        }

    tools = []
    for _ in range(random.randint(1, 3)):
        tool: dict[str, Any] = {"name": pick(), "description": pick(), "inputSchema": make_object()}
        if random.random() < 0.5:
            tool["outputSchema"] = random.choice([make_object(), spoil(make_root(random))])
        tools.append(tool)
    return tools, pick()


def make_root(random: Random) -> dict[str, Any]:
    """Return a schema with two definitions."""
    made = make_schema(random, 0, ["A", "B"])
    first, second = make_schema(random, 1, ["B"]), make_schema(random, 2, [])
    return {**(made if isinstance(made, dict) else {}), "$defs": {"A": first, "B": second}}


def make_schema(random: Random, depth: int, names: list[str]) -> Any:
    """Return a schema that may name these definitions."""
    kind = random.choice(DEEP if depth < 3 else FLAT)

    def inner() -> Any:
        return make_schema(random, depth + 1, names)

    def several(least: int = 1) -> list[Any]:
        return [inner() for _ in range(random.randint(least, 3))]

    made: Any
    match kind:
        case "enum":
            made = {"enum": random.sample(ENUMS, random.randint(1, 4))}
        case "const":
            made = {"const": random.choice(ENUMS)}
        case "any":
            made = random.choice([{}, True, {"description": "x"}])
        case "format":
            made = {"type": "string", "format": random.choice(FORMATS)}
        case "limits":
            made = dict(random.choice(LIMITS))
        case "ref":
            made = {"$ref": f"#/$defs/{random.choice(names)}"} if names else {}
        case "array":
            made = {"type": "array", "items": inner()}
        case "tuple":
            first = several()
            size = {"minItems": len(first), "maxItems": len(first)}
            rest: dict[str, Any] = random.choice([{}, size, {"items": False}, {"items": inner()}])
            made = {"type": "array", "prefixItems": first, **rest}
        case "object":
            keys = random.sample(KEYS, random.randint(0, 4))
            needed = [key for key in keys if random.random() < 0.5]
            made = {
                "type": "object",
                "properties": {key: inner() for key in keys},
                "required": needed,
            }
            made |= random.choice(
                [{}, {"additionalProperties": False}, {"additionalProperties": inner()}]
            )
        case "map":
            made = {"type": "object", "additionalProperties": inner()}
        case "pattern":
            made = {"type": "object", "patternProperties": {"^a": inner()}}
            made |= random.choice(
                [{}, {"additionalProperties": False}, {"additionalProperties": inner()}]
            )
        case "anyOf" | "oneOf" | "allOf":
            made = {kind: several()}
        case "types":
            made = {"type": random.sample([*SCALARS, "array", "object"], random.randint(1, 3))}
        case "not":
            made = {"not": inner()}
        case _:
            made = {"type": kind}
    if isinstance(made, dict) and random.random() < 0.2:
        made = {**made, "default": make_value(random, 1)}
    return made


def make_value(random: Random, depth: int = 0) -> Any:
    """Return any JSON value."""
    kind = random.choice(["str", "int", "float", "bool", "null", *(["list", "dict"] if depth < 3 else [])])  # fmt: skip
    match kind:
        case "str":
            return random.choice(["a", "b", "1", "", "ab", "true"])
        case "int":
            return random.choice([2, -1, 2**60 + 1])
        case "float":
            return random.choice([1.5, 2.5])
        case "bool":
            return random.random() < 0.5
        case "list":
            return [make_value(random, depth + 1) for _ in range(random.randint(0, 3))]
        case "dict":
            keys = random.sample(KEYS, random.randint(0, 3))
            return {key: make_value(random, depth + 1) for key in keys}
    return None
