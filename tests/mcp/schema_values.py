"""Tools with random schemas of JSON from a seed."""

from __future__ import annotations

from random import Random
from typing import Any

SCALARS = ["string", "integer", "number", "boolean", "null"]
ENUMS = ["a", "b", "1", 2, 7, True, False, None, 1.5, ["a"], {"a": 1}]
LEAVES = [*SCALARS, "enum", "const", "any", "ref"]
NESTED = [*LEAVES, "array", "tuple", "object", "anyOf", "allOf", "types"]


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
        named = {pick(): spoil(make_schema(random, 0)) for _ in range(random.randint(0, 4))}
        return {
            "type": "object",
            "properties": named,
            "required": random.sample([*named], len(named) // 2),
        }

    tools = []
    for _ in range(random.randint(1, 3)):
        tool: dict[str, Any] = {"name": pick(), "description": pick(), "inputSchema": make_object()}
        if random.random() < 0.5:
            tool["outputSchema"] = random.choice(
                [make_object(), spoil({"anyOf": [make_schema(random, 1)]})]
            )
        tools.append(tool)
    return tools, pick()


def make_schema(random: Random, depth: int) -> Any:
    """Return a schema, at most three levels deep."""
    kind = random.choice(NESTED if depth < 3 else LEAVES)
    several = [make_schema(random, depth + 1) for _ in range(random.randint(1, 3)) if depth < 3]
    match kind:
        case "enum":
            return {"enum": random.sample(ENUMS, random.randint(1, 4))}
        case "const":
            return {"const": random.choice(ENUMS)}
        case "any":
            return random.choice([{}, True, {"description": "x"}])
        case "ref":
            return {"$ref": "#/$defs/A"}
        case "array":
            return {"type": "array", "items": several[0]}
        case "tuple":
            return {"type": "array", "prefixItems": several, "items": False}
        case "object":
            return {"type": "object", "properties": dict(zip(TEXTS, several, strict=False))}
        case "anyOf" | "allOf":
            return {kind: several}
        case "types":
            return {"type": random.sample([*SCALARS, "array", "object"], random.randint(1, 3))}
    return {"type": kind}
