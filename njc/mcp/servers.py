"""A project's servers: their tools, their modules, and how both differ from njc.lock.

add_server(section, folder)       asks the server, writes the module, returns the section
check_server(section, folder)     the differences as lines; none if nothing has changed
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from njc.mcp.tool_module import compare_tools, compute_digests, write_module
from njc.project.outputs import write_all
from njc.project.servers import ServerSection
from njrt.errors import ConfigurationError
from njrt.mcp import McpServer, ToolError

if TYPE_CHECKING:
    from mcp.types import Tool


def fetch_tools(section: ServerSection) -> tuple[str, list[Tool]]:
    """Ask a server for its name and its tools; raises ConfigurationError if it has none."""
    server = McpServer(
        section.name,
        command=section.command,
        url=section.url,
        env=section.env,
        headers=section.headers,
        timeout=section.timeout,
    )
    try:
        name, tools = server.list_tools()
    except ToolError as error:
        raise ConfigurationError(str(error)) from None
    finally:
        server.close()
    if not tools:
        raise ConfigurationError(f"the MCP server {section.name} has no tools")
    return name, tools


def add_server(section: ServerSection, folder: Path) -> ServerSection:
    """Ask a server for its tools and write the module, below the lock's folder.

    Raises ConfigurationError if the server cannot be reached, lacks a tool in `allow`, or the
    file is edited or not njc's.
    """
    file = folder / section.file
    if is_edited(section, folder):
        raise ConfigurationError(
            f"{file} exists, and is not as njc wrote it; name another --out, or move the edit "
            "elsewhere and delete the file"
        )
    name, tools = fetch_tools(section)
    known = sorted(tool.name for tool in tools)
    if missing := {*section.allow} - {"*", *known}:
        raise ConfigurationError(
            f"the MCP server {section.name} has no tool `{min(missing)}`; it has {', '.join(known)}"
        )
    described = replace(section, server=name)
    module = write_module(described, tools)
    write_all({file: module.encode()}, {})
    return replace(described, digest=_hash_text(module), tools=compute_digests(tools))


def check_server(section: ServerSection, folder: Path) -> Iterator[str]:
    """Yield how a server and its module differ from the lock; raises ConfigurationError."""
    if not (folder / section.file).exists():
        yield f"! {section.file}: the module is missing"
    elif is_edited(section, folder):
        yield f"! {section.file}: the module was edited"
    name, tools = fetch_tools(section)
    yield from compare_tools(section.tools, tools)
    if name != section.server:
        yield f"  the server is now {name or 'unnamed'}, it was {section.server or 'unnamed'}"


def is_edited(section: ServerSection, folder: Path) -> bool:
    """Return whether a module exists and is not as it was written."""
    file = folder / section.file
    return file.exists() and _hash_text(file.read_text("utf-8", "replace")) != section.digest


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
