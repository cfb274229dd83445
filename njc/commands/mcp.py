"""`njc mcp`: tools of MCP servers as Python functions."""

from __future__ import annotations

import keyword
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from njc.commands.terminal.console import Console, console_flags
from njc.commands.terminal.flags import PATH, refuse_options, with_console
from njc.project.outputs import write_all
from njc.project.report import format_count
from njrt.errors import ConfigurationError, require_packages

_HEAD = "# Written by: njc mcp add "
"""A module's first line begins so; the rest is the command line, which writes it again."""


@click.group("mcp")
@console_flags
def command() -> None:
    """Use tools of MCP servers as functions."""
    require_packages("njc mcp", "njpy[mcp]", "mcp")


@command.command("add")
@click.argument("name")
@click.argument("command_line", nargs=-1, metavar="[-- COMMAND...]", type=click.UNPROCESSED)
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
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds for one call.",
)
@with_console
def add(console: Console, name: str, out: Path | None, **given: Any) -> None:
    """Write a module with a function for each tool of a server.

    The server is started by COMMAND, or reached at a URL. The same command
    writes the module again.
    """
    if given["url"]:
        refuse_options("is for a server that COMMAND starts, not for --url", "env")
    else:
        refuse_options("needs --url", "headers")
    file = out or Path(f"{name}.py")
    _check_module_name(file.absolute())
    if file.exists() and not file.read_text("utf-8", "replace").startswith(_HEAD):
        raise ConfigurationError(
            f"{file} exists, and is not written by this `njc mcp add`; name another --out, or "
            "delete the file"
        )
    said, count, text = _make_module(name, **given)
    write_all({file: text.encode()}, {})
    console.note(f"{file}: {format_count(count, 'tool')} of {said or name}")


def _make_module(
    name: str,
    command_line: Sequence[str],
    url: str,
    env: Sequence[str],
    headers: Mapping[str, str],
    allow: Sequence[str],
    timeout: float,
) -> tuple[str, int, str]:
    """Ask a server; return its name, the number of its tools and the text of the module.

    Raises ConfigurationError if it cannot be reached, or lacks tools or one of `allow`.
    """
    from njc.mcp.tool_module import write_module
    from njrt.mcp import McpServer, ToolError

    server = McpServer(
        name, command=command_line, url=url, env=env, headers=headers, timeout=timeout
    )
    try:
        said, tools = server.list_tools()
    except ToolError as error:
        raise ConfigurationError(str(error)) from None
    finally:
        server.close()
    known = sorted(tool.name for tool in tools)
    if not known:
        raise ConfigurationError(f"the MCP server {name} has no tools")
    if missing := {*allow} - {"*", *known}:
        raise ConfigurationError(
            f"the MCP server {name} has no tool `{min(missing)}`; it has {', '.join(known)}"
        )
    options = {
        "--url": [url] * bool(url),
        "--env": env,
        "--header": [f"{key}={value}" for key, value in headers.items()],
        "--allow": allow,
        "--timeout": [f"{timeout:g}"] * (timeout != 60),
    }
    words = [
        name,
        *(word for key, values in options.items() for it in values for word in (key, it)),
    ]
    head = _HEAD + shlex.join([*words, *(["--", *command_line] if command_line else [])])
    if not head.isprintable():
        raise ConfigurationError("the command line of an MCP server must be a printable line")
    return said, len(tools), write_module(server, tools, allow, head)


def _check_module_name(file: Path) -> None:
    """Raise ConfigurationError for a module that cannot be imported, or that hides another."""
    name = file.stem
    if not name.isidentifier() or keyword.iskeyword(name) or file.suffix != ".py":
        raise ConfigurationError(
            f"{file.name} cannot be imported; name a module with --out FILE.py"
        )
    needed = {*sys.stdlib_module_names, "mcp", "njc", "njrt", "pydantic"}
    if name in needed and not (file.parent / "__init__.py").exists():
        raise ConfigurationError(
            f"{file.name} would hide the module `{name}`; choose another NAME or --out"
        )
