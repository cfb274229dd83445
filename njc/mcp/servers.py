"""A project's servers: request their tools, write their modules, and compare both with njc.lock.

add_server(section, lock)         asks the server, writes the module, returns the section with its digests
check_server(section, folder)     the differences as lines; none if nothing has changed
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from njc.mcp.tool_module import HEADER, Tool, compare_tools, compute_digests, write_module
from njc.project.outputs import write_all
from njc.project.servers import ServerSection
from njrt.errors import ConfigurationError
from njrt.mcp import McpServer, ToolError


def fetch_tools(section: ServerSection) -> tuple[str, list[Tool]]:
    """Ask a server for its name and its tools; raises ConfigurationError if that fails, or it has no tools."""
    server = McpServer(
        section.name,
        command=section.command,
        url=section.url,
        env=section.env,
        headers=section.headers,
        timeout=section.timeout,
    )
    try:
        client, found = server.list_tools()
        info = client.server_info
    except ToolError as error:
        raise ConfigurationError(str(error)) from None
    finally:
        server.close()
    if not found:
        raise ConfigurationError(f"the MCP server {section.name} has no tools")
    return f"{info.name} {info.version}".strip() if info else "", list(map(read_tool, found))


def read_tool(found: Any) -> Tool:
    """Return a tool from the SDK's form."""
    hints = found.annotations
    return Tool(
        found.name,
        found.description or "",
        found.input_schema,
        found.output_schema,
        bool(hints and hints.read_only_hint),
        bool(hints and hints.idempotent_hint),
    )


def add_server(section: ServerSection, folder: Path) -> ServerSection:
    """Ask a server for its tools and write the module, below the lock's folder.

    Raises ConfigurationError if the server is unreachable, lacks a tool in `allow`, or the file is foreign or edited.
    """
    name, tools = fetch_tools(section)
    known = {tool.name for tool in tools}
    for allowed in section.allow:
        if allowed != "*" and allowed not in known:
            raise ConfigurationError(
                f"the MCP server {section.name} has no tool `{allowed}`; it has {', '.join(sorted(known))}"
            )
    file = folder / section.file
    if file.exists():
        text = file.read_text("utf-8", "replace")
        if not text.startswith(HEADER):
            raise ConfigurationError(f"{file} exists, and njc did not write it; name another --out")
        if section.digest and hash_text(text) != section.digest:
            raise ConfigurationError(
                f"{file} was edited; move the edit elsewhere and delete the file, then run the command again"
            )
    described = replace(section, server=name)
    module = write_module(described, tools)
    write_all({file: module.encode()}, {})
    return replace(described, digest=hash_text(module), tools=compute_digests(tools))


def check_server(section: ServerSection, folder: Path) -> Iterator[str]:
    """Yield how a server and its module differ from the lock; raises ConfigurationError."""
    file = folder / section.file
    if not file.exists():
        yield f"! {section.file}: the module is missing"
    elif hash_text(file.read_text("utf-8", "replace")) != section.digest:
        yield f"! {section.file}: the module was edited"
    name, tools = fetch_tools(section)
    yield from compare_tools(section.tools, tools)
    if name != section.server:
        yield f"  the server is now {name or 'unnamed'}, it was {section.server or 'unnamed'}"


def hash_text(text: str) -> str:
    """Return a module's digest."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def find_section(
    sections: Mapping[str, ServerSection], names: Sequence[str], lock: Path
) -> list[ServerSection]:
    """Return the sections with these names, or all sections; raises ConfigurationError if any is missing."""
    for name in names:
        if name not in sections:
            known = ", ".join(sections) or "none"
            raise ConfigurationError(f"{lock} has no MCP server `{name}`; it has {known}")
    found = [section for name, section in sections.items() if not names or name in names]
    if not found:
        raise ConfigurationError(f"{lock} has no MCP server; add one with `njc mcp add`")
    return found
