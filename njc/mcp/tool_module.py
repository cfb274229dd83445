"""A server's module: typed functions, one synchronous and one asynchronous for each tool.

    Tool(name="read_text", input_schema={...})         @njrt.gated(decide="allow")
                                                ─>     def read_text(path: str) -> str:
                                                           \"\"\"Read a file ...\"\"\"
                                                           return server.call("read_text", {"path": path})

The server's texts are data: names become identifiers, values are written with `repr`, descriptions are docstrings.
"""

from __future__ import annotations

import builtins
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
from njrt.records import asdict, record

HEADER = "# Written by `njc mcp add`; `njc mcp update` writes it again. Do not edit it."


@record
class Tool:
    """A server's tool, as the server describes it."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    reads_only: bool = False
    """Whether calls change nothing, according to the server."""
    is_repeatable: bool = False
    """Whether a second equal call changes nothing more, according to the server."""


def compute_digests(tools: Sequence[Tool]) -> dict[str, str]:
    """Return digests of tools' descriptions and schemas, by name; the order of tools does not matter."""
    described: dict[str, list[str]] = {}
    for tool in tools:
        text = json.dumps(asdict(tool), sort_keys=True, ensure_ascii=False)
        described.setdefault(tool.name, []).append(text)
    joined = {name: f"[{', '.join(sorted(described[name]))}]" for name in sorted(described)}
    return {name: hashlib.sha256(text.encode()).hexdigest()[:32] for name, text in joined.items()}


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
    lines = [
        HEADER,
        quote_docstring(f"Tools of the MCP server {shown}.", ""),
        "",
        "from __future__ import annotations",
        "",
        "from typing import Any, Literal",
        "",
        "from pydantic import BaseModel, ConfigDict, Field",
        "",
        "import njrt",
        "from njrt.mcp import McpServer",
        "",
        *_write_server(section),
        *(f"\n\n{text}" for text in writer.classes),
        *functions,
    ]
    text = "\n".join(_drop_unused_imports(lines))
    return black.format_str(text + "\n", mode=black.Mode(line_length=100))


def _write_server(section: ServerSection) -> Iterator[str]:
    yield "server = McpServer("
    yield f"    {section.name!r},"
    yield f"    url={section.url!r}," if section.url else f"    command={[*section.command]!r},"
    if section.env:
        yield f"    env={list(section.env)!r},"
    if section.headers:
        yield f"    headers={dict(section.headers)!r},"
    if section.timeout != 60:
        yield f"    timeout={section.timeout!r},"
    yield ")"


def _write_tool(
    tool: Tool, section: ServerSection, writer: TypeWriter, used: set[str]
) -> Iterator[str]:
    name = make_unique(make_identifier(tool.name), used)
    owner = make_class_name(tool.name)
    parameters = writer.list_properties(tool.input_schema, owner, tool.input_schema)
    result, is_wrapped = _write_result(tool, owner, writer)
    is_allowed = tool.reads_only or "*" in section.allow or tool.name in section.allow
    rule = '@njrt.gated(decide="allow", named=True)' if is_allowed else "@njrt.gated(named=True)"
    head = f"({', '.join(each.declaration for each in parameters)}) -> {result or 'str'}:"
    call = ", ".join(_write_call(tool, parameters, result, is_wrapped))
    doc = _write_docstring(tool, parameters)
    for word, made, called in (
        ("def", name, "server.call"),
        ("async def", make_unique(f"{name}_async", used), "await server.acall"),
    ):
        yield f"\n\n{rule}\n{word} {made}{head}"
        yield f"    {doc}"
        yield f"    result: {result or 'str'} = {called}({call})"
        yield "    return result"


def _write_call(
    tool: Tool, parameters: Sequence[TypedName], result: str, is_wrapped: bool
) -> Iterator[str]:
    yield repr(tool.name)
    yield "{" + ", ".join(f"{each.key!r}: {each.name}" for each in parameters) + "}"
    if result:
        yield f"result={result}"
    if is_wrapped:
        yield "wrapped=True"
    optional = [each.key for each in parameters if each.default == "None"]
    if optional:
        yield f"optional={optional!r}"
    if tool.reads_only or tool.is_repeatable:
        yield "repeatable=True"


def _write_result(tool: Tool, owner: str, writer: TypeWriter) -> tuple[str, bool]:
    """Return the structured content's type, or an empty text, and whether it is wrapped in an object.

    SDKs wrap a result that is not an object in an object with the single field `result`.
    """
    schema = tool.output_schema
    if not isinstance(schema, Mapping):
        return "", False
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and list(properties) == ["result"]:
        return writer.write(properties["result"], f"{owner}Result", schema), True
    return writer.write(schema, f"{owner}Result", schema), False


def _write_docstring(tool: Tool, parameters: Sequence[TypedName]) -> str:
    text = clean_text(tool.description) or f"Call the tool {clean_text(tool.name)}."
    described = [each for each in parameters if each.description]
    if described:
        lines = ["", "", "Args:"]
        for each in described:
            words = " ".join(each.description.split())
            lines.append(f"    {each.name}: {words}")
        text += "\n".join(lines)
    return quote_docstring(text)


def _drop_unused_imports(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines; imports keep only names that are used."""
    rest = "\n".join(line for line in lines if not line.startswith(("from ", "import ")))
    previous = None
    for line in lines:
        start, found, names = line.partition(" import ")
        if line.startswith(("from typing", "from pydantic")) and found:
            kept = [name for name in names.split(", ") if re.search(rf"\b{name}\b", rest)]
            if not kept:
                continue
            line = f"{start} import {', '.join(kept)}"
        if line or previous:
            yield line
        previous = line
