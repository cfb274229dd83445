"""A server's module: typed functions, one synchronous and one asynchronous for each tool.

    Tool(name="read_text", inputSchema={...})          @njrt.gated(decide="allow", named=True)
                                                ─>     def read_text(path: str) -> str:
                                                           \"\"\"Read a file ...\"\"\"
                                                           return server.call("read_text", ...)

The server's texts are data: names become identifiers, values are written with `repr`,
descriptions are docstrings.
"""

from __future__ import annotations

import builtins
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from njc.mcp.schema_types import (
    TypedName,
    TypeWriter,
    clean_text,
    make_class_name,
    make_identifier,
    make_unique,
    quote_docstring,
)
from njc.project.servers import ServerSection

if TYPE_CHECKING:
    from mcp.types import Tool

HEADER = "# Written by `njc mcp add`; `njc mcp update` writes it again. Do not edit it."
_IMPORTS = """\
from __future__ import annotations

from typing import Any, Literal  # noqa: F401

from pydantic import BaseModel, ConfigDict, Field  # noqa: F401

import njrt
from njrt.mcp import McpServer
"""


def is_declared(tool: Tool, hint: str) -> bool:
    """Return whether the server declares a tool to be `read_only` or `idempotent`."""
    return bool(getattr(tool.annotations, f"{hint}_hint", False))


def compute_digests(tools: Sequence[Tool]) -> dict[str, str]:
    """Return digests of what servers say of tools, by name; the order of tools does not matter."""
    digests = {}
    for tool in sorted(tools, key=lambda each: each.name):
        said = {
            "name": tool.name,
            "description": tool.description or "",
            "input_schema": tool.input_schema,
            "output_schema": tool.output_schema,
            "reads_only": is_declared(tool, "read_only"),
            "is_repeatable": is_declared(tool, "idempotent"),
        }
        text = f"[{json.dumps(said, sort_keys=True, ensure_ascii=False)}]"
        digests[tool.name] = hashlib.sha256(text.encode()).hexdigest()[:32]
    return digests


def compare_tools(before: Mapping[str, str], tools: Sequence[Tool]) -> Iterator[str]:
    """Yield a line for each tool that differs from its digest in the lock."""
    now = compute_digests(tools)
    for name in sorted({*before, *now}):
        if name not in now:
            yield f"- {name}: the server does not have it any more"
        elif name not in before:
            yield f"+ {name}: new"
        elif before[name] != now[name]:
            yield f"~ {name}: its description or schema has changed"


def write_module(section: ServerSection, tools: Sequence[Tool]) -> str:
    """Return the text of a server's module."""
    import black

    writer, used = TypeWriter(), {"server", "njrt", "annotations", *dir(builtins)}
    ordered = sorted(tools, key=lambda tool: tool.name)  # names do not depend on the order
    functions = [line for tool in ordered for line in _write_tool(tool, section, writer, used)]
    shown = clean_text(section.server) or section.name
    options = {
        "url": section.url,
        "command": [*section.command],
        "env": [*section.env],
        "headers": dict(section.headers),
        "timeout": section.timeout if section.timeout != 60 else 0,
    }
    given = [f"{option}={value!r}" for option, value in options.items() if value]
    parts = [
        HEADER,
        quote_docstring(f"Tools of the MCP server {shown}.", ""),
        _IMPORTS,
        f"server = McpServer({section.name!r}, {', '.join(given)})",
        *writer.classes,
        *functions,
    ]
    return black.format_str("\n\n".join(parts) + "\n", mode=black.Mode(line_length=100))


def _write_tool(
    tool: Tool, section: ServerSection, writer: TypeWriter, used: set[str]
) -> Iterator[str]:
    name = make_unique(make_identifier(tool.name), used)
    owner = make_class_name(tool.name)
    parameters = writer.list_properties(tool.input_schema, owner, tool.input_schema)
    result, form = "str", []
    if (output := tool.output_schema) is not None:
        properties = output.get("properties")
        is_wrapped = isinstance(properties, Mapping) and [*properties] == ["result"]  # by the SDKs
        result = writer.write(
            output["properties"]["result"] if is_wrapped else output, f"{owner}Result", output
        )
        form = [f"result={result}"] + ["wrapped=True"] * is_wrapped
    if optional := [each.key for each in parameters if each.is_optional]:
        form.append(f"{optional=}")
    if is_declared(tool, "read_only") or is_declared(tool, "idempotent"):
        form.append("repeatable=True")
    is_allowed = is_declared(tool, "read_only") or {"*", tool.name} & {*section.allow}
    rule = '@njrt.gated(decide="allow", named=True)' if is_allowed else "@njrt.gated(named=True)"
    head = f"({', '.join(each.declaration for each in parameters)}) -> {result}:"
    sent = ", ".join(f"{each.key!r}: {each.name}" for each in parameters)
    call = ", ".join([repr(tool.name), f"{{{sent}}}", *form])
    doc = _write_docstring(tool, parameters)
    for word, made, called in (
        ("def", name, "server.call"),
        ("async def", make_unique(f"{name}_async", used), "await server.acall"),
    ):
        yield f"""\
{rule}
{word} {made}{head}
    {doc}
    result: {result} = {called}({call})
    return result"""


def _write_docstring(tool: Tool, parameters: Sequence[TypedName]) -> str:
    text = clean_text(tool.description) or f"Call the tool {clean_text(tool.name)}."
    words = {each.name: " ".join(each.description.split()) for each in parameters}
    lines = [f"    {name}: {text}" for name, text in words.items() if text]
    return quote_docstring("\n".join([text, "", "Args:", *lines]) if lines else text)
