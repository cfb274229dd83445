"""`njc mcp`: tools of MCP servers as Python functions."""

from __future__ import annotations

import keyword
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.terminal.console import Console, console_flags
from njc.commands.terminal.flags import PATH, refuse_options, with_console
from njc.mcp.tool_module import write_module
from njc.project.outputs import write_all
from njc.project.report import format_count
from njrt.errors import ConfigurationError, require_packages
from njrt.mcp import McpServer, ToolError

_HEAD = "# Written by: njc mcp add"
"""A module begins so."""


@click.group("mcp")
@console_flags
def command() -> None:
    """Use tools of MCP servers as functions."""
    require_packages("njc mcp", "njpy[mcp]", "mcp")


@command.command("add")
@click.argument("name")
@click.argument("command", nargs=-1, metavar="[-- COMMAND...]", type=click.UNPROCESSED)
@click.option("--url", default="", metavar="URL", help="The URL of a running server.")
@click.option("--out", type=PATH, metavar="FILE", help="The module (default: NAME.py).")
@click.option("--env", multiple=True, metavar="VARIABLE", help="A variable that the server gets.")
@click.option(
    "--header",
    "headers",
    multiple=True,
    metavar="NAME=VALUE",
    callback=lambda context, option, values: dict(it.partition("=")[::2] for it in values),
    help="An HTTP header; ${VARIABLE} is replaced.",
)
@click.option(
    "--allow", multiple=True, metavar="TOOL", help="A tool that blocks call undecided; * is all."
)
@with_console
def add(console: Console, name: str, out: Path | None, allow: Sequence[str], **server: Any) -> None:
    """Write a module with a function for each tool of a server.

    The server is started by COMMAND, or reached at a URL. The same command
    writes the module again.
    """
    if server["url"]:
        refuse_options("is for a server that COMMAND starts, not for --url", "env")
    else:
        refuse_options("needs --url", "headers")
    file = out or Path(f"{name}.py")
    hidden = {*sys.stdlib_module_names, *keyword.kwlist, "mcp", "njc", "njrt", "pydantic"}
    if not file.stem.isidentifier() or file.suffix != ".py" or file.stem in hidden:
        raise ConfigurationError(
            f"{file.name} cannot be imported, or would hide another module; "
            "name a module with --out FILE.py"
        )
    if file.exists() and not file.read_text("utf-8", "replace").startswith(_HEAD):
        raise ConfigurationError(
            f"{file} exists, and is not written by this `njc mcp add`; name another --out, or "
            "delete the file"
        )
    opened = McpServer(name, **server)
    try:
        said, tools = opened.list_tools()
    except ToolError as error:
        raise ConfigurationError(str(error)) from None
    finally:
        opened.close()
    known = sorted(tool.name for tool in tools)
    if missing := {*allow} - {"*", *known}:
        raise ConfigurationError(
            f"the MCP server {name} has no tool `{min(missing)}`; it has {', '.join(known)}"
        )
    write_all({file: write_module(opened, tools, allow, _HEAD).encode()}, {})
    console.note(f"{file}: {format_count(len(tools), 'tool')} of {said or name}")
