"""A server's module: a typed function for each tool.

    Tool(name="read_text", inputSchema={...})          @njrt.gated(decide="allow", named=True)
                                                ─>     def read_text(path: str) -> str:
                                                           \"\"\"Read a file ...\"\"\"
                                                           return server.call("read_text", ...)

The server's texts are data: names become identifiers, values are written with `repr`,
descriptions are docstrings, which also have the schemas of what has no simple type.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import json
import keyword
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.types import Tool

    from njrt.mcp import McpServer

_IMPORTS = """\
# fmt: off
# ruff: noqa
from __future__ import annotations

from typing import Any, Literal

import njrt
from njrt.mcp import McpServer
"""
_SCALARS = {
    "string": "str",
    "integer": "int",
    "number": "int | float",
    "boolean": "bool",
    "null": "None",
    "object": "dict[str, Any]",
}
_USED = frozenset(["server", "njrt", "annotations", "result", *dir(builtins)])
"""Names that the module uses itself, or may."""


def write_module(
    server: McpServer, tools: Sequence[Tool], allowed: Sequence[str], head: str
) -> str:
    """Return the text of a server's module, below a comment; `allowed` tools need no decision."""
    used = {*_USED}
    ordered = sorted(tools, key=lambda tool: tool.name)  # names do not depend on the order
    functions = [_write_tool(tool, allowed, used) for tool in ordered]
    options = {
        "url": server.url,
        "command": [*server.command],
        "env": [*server.env],
        "headers": server.headers,
    }
    given = [f"{option}={value!r}" for option, value in options.items() if value]
    title = quote_docstring(f"Tools of the MCP server {server.name}.", "")
    made = f"server = McpServer({server.name!r}, {', '.join(given)})\n"
    return "\n\n".join([f"{head}\n{title}", f"{_IMPORTS}\n{made}", *functions])


def _write_tool(tool: Tool, allowed: Sequence[str], used: set[str]) -> str:
    name = make_unique(make_identifier(tool.name), used)
    parameters, sent, described = read_parameters(tool.input_schema)
    result, structured, output = "str", "", tool.output_schema
    if output is not None:
        properties = output.get("properties")
        is_wrapped = isinstance(properties, Mapping) and [*properties] == ["result"]  # by the SDKs
        result = write_type(output["properties"]["result"] if is_wrapped else output)
        structured = ", structured=True"
    reads_only = bool(tool.annotations and tool.annotations.read_only_hint)
    is_allowed = reads_only or {"*", tool.name} & {*allowed}
    rule = '@njrt.gated(decide="allow", named=True)' if is_allowed else "@njrt.gated(named=True)"
    text = clean_text(tool.description) or f"Call the tool {clean_text(tool.name)}."
    parts = [text, "\n".join(["Args:", *described]) if described else ""]
    if any("Any" in each for each in parameters):
        parts.append(f"Schema of the arguments: {json.dumps(tool.input_schema)}")
    if "Any" in result:
        parts.append(f"Schema of the result: {json.dumps(tool.output_schema)}")
    doc = quote_docstring("\n\n".join(filter(None, parts)))
    return f"""\
{rule}
def {name}({", ".join(parameters)}) -> {result}:
    {doc}
    result: {result} = server.call({tool.name!r}, {{{", ".join(sent)}}}{structured})
    return result
"""


# ── types ────────────────────────────────────────────────────────────────────────────────────────


def read_parameters(schema: Mapping[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """Return the parameters for an object's properties, how each is sent, and their descriptions.

    The required ones come first; the others are None by default.
    """
    parameters, optional, sent, described, used = [], [], [], [], {*_USED}
    properties, required = schema.get("properties"), schema.get("required")
    for key, value in properties.items() if isinstance(properties, Mapping) else ():
        name, annotation = make_unique(make_identifier(key), used), write_type(value)
        if isinstance(required, list) and key in required:
            parameters.append(f"{name}: {annotation}")
        else:
            annotation = _write_union([annotation.removesuffix(" | None"), "None"])
            optional.append(f"{name}: {annotation} = None")
        sent.append(f"{key!r}: {name}")
        text = clean_text(value.get("description")) if isinstance(value, Mapping) else ""
        described += [f"    {name}: {' '.join(text.split())}"] if text else []
    return parameters + optional, sent, described


def write_type(schema: Any) -> str:
    """Return the annotation for a schema; it is Any where a simple type does not say it.

    Patterns, limits and formats are left to the server, which checks them.
    """
    match schema:
        case {"enum": [*values]} if values and all(type(it) in (str, int) for it in values):
            return f"Literal[{', '.join(dict.fromkeys(map(repr, values)))}]"
        case {"enum": _} | {"const": _} | {"$ref": _}:
            return "Any"
        case {"type": str(kind)} if kind in _SCALARS:
            return _SCALARS[kind]
        case {"type": "array"}:
            return f"list[{'Any' if 'prefixItems' in schema else write_type(schema.get('items'))}]"
        case {"type": [_, *_] as kinds}:
            return _write_union(write_type({**schema, "type": kind}) for kind in kinds)
        case {"anyOf": [_, *_] as parts}:
            return _write_union(map(write_type, parts))
    return "Any"


def _write_union(parts: Iterable[str]) -> str:
    unique = list(dict.fromkeys(parts))
    return "Any" if "Any" in unique else " | ".join(sorted(unique, key="None".__eq__))


# ── names and texts ──────────────────────────────────────────────────────────────────────────────


def make_identifier(text: str) -> str:
    """Return a lower-case identifier for a server's name: `getFile-2` becomes `get_file_2`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    name = re.sub(r"[^0-9a-zA-Z]+", "_", spaced).strip("_").lower() or "value"
    name = f"n{name}" if name[0].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) or keyword.issoftkeyword(name) else name


def make_unique(name: str, used: set[str]) -> str:
    """Return the name, with a number if it is already used, and add it to the used names."""
    numbered = (f"{name.rstrip('_')}_{number}" for number in itertools.count(2))
    made = next(it for it in itertools.chain([name], numbered) if it not in used)
    used.add(made)
    return made


def clean_text(text: Any) -> str:
    """Return a server's text without control characters; empty for any other value."""
    lines = text.expandtabs().splitlines() if isinstance(text, str) else []
    kept = ("".join(char for char in line if char.isprintable()).rstrip() for line in lines)
    return "\n".join(kept).strip()


def quote_docstring(text: str, indent: str = "    ") -> str:
    """Return a text as a docstring, with its later lines indented."""
    ending = f"\n{indent}" if "\n" in text else ""
    whole = textwrap.indent(text, indent).lstrip() + ending
    return ast.unparse(ast.Module([ast.Expr(ast.Constant(whole))], []))
