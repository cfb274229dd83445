"""`njc mcp`: tools of MCP servers as Python functions."""

from __future__ import annotations

import keyword
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from njc.commands.terminal.console import Console, console_flags
from njc.commands.terminal.flags import PATH, refuse_options, with_console
from njc.project.config import find_project, get_lock_path
from njc.project.report import format_count
from njc.static.lock import StaticLock, read_lock
from njc.static.write import change_lock
from njrt.errors import ConfigurationError, require_packages

if TYPE_CHECKING:
    from njc.project.servers import ServerSection


@click.group("mcp")
@console_flags
def command() -> None:
    """Use tools of MCP servers as functions."""
    require_packages("njc mcp", "njpy[mcp]", "mcp", "black")


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
def add(
    console: Console,
    name: str,
    command_line: Sequence[str],
    url: str,
    out: Path | None,
    **flags: Any,
) -> None:
    """Write a module with a function for each tool of a server.

    The server is started by COMMAND, or reached at a URL. njc.lock gets
    digests of the tools, for `njc mcp check`.
    """
    from njc.project.servers import ServerSection

    if url:
        refuse_options("is for a server that COMMAND starts, not for --url", "env")
    else:
        refuse_options("needs --url", "headers")
    file = (out or Path(f"{name}.py")).absolute()
    _check_module_name(file)
    lock, lock_file = _read_lock()
    section = ServerSection(
        name,
        Path(os.path.relpath(file, lock_file.parent)).as_posix(),
        tuple(command_line),
        url,
        **flags,
        digest=lock.servers[name].digest if name in lock.servers else "",
    )
    _write(console, section, lock, lock_file)


@command.command("update")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@with_console
def update(console: Console, names: Sequence[str]) -> None:
    """Ask the servers again, and write their modules."""
    lock, lock_file = _read_lock()
    for section in _find_sections(lock, names, lock_file):
        lock = _write(console, section, lock, lock_file)


@command.command("check")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@with_console
def check(console: Console, names: Sequence[str]) -> int:
    """Compare servers and modules with njc.lock; exit 1 if one differs."""
    from njc.mcp.servers import check_server

    lock, lock_file = _read_lock()
    is_stale = False
    for section in _find_sections(lock, names, lock_file):
        differences = list(check_server(section, lock_file.parent))
        is_stale = is_stale or any(not line.startswith(" ") for line in differences)
        state = "" if differences else " as in the lock"
        console.result("\n".join([f"{section.name}:{state}", *differences]))
    if is_stale:
        console.note("review the differences, then run: njc mcp update")
    return int(is_stale)


def _write(
    console: Console, section: ServerSection, lock: StaticLock, lock_file: Path
) -> StaticLock:
    """Write a server's module and its section; return the lock with it."""
    from njc.mcp.servers import add_server

    written = add_server(section, lock_file.parent)
    changed = lock.with_server(written)
    change_lock(lock_file, lambda current: current.with_server(written))
    tools = format_count(len(written.tools), "tool")
    console.note(f"{written.file}: {tools} of {written.server or written.name}")
    return changed


def _find_sections(lock: StaticLock, names: Sequence[str], file: Path) -> list[ServerSection]:
    """Return the sections with these names, or all; raises ConfigurationError if one is missing."""
    if missing := [name for name in names if name not in lock.servers]:
        known = ", ".join(lock.servers) or "none"
        raise ConfigurationError(f"{file} has no MCP server `{missing[0]}`; it has {known}")
    if not lock.servers:
        raise ConfigurationError(f"{file} has no MCP server; add one with `njc mcp add`")
    return [lock.servers[name] for name in names or lock.servers]


def _read_lock() -> tuple[StaticLock, Path]:
    """Return the lock of the project here, and its file."""
    file = get_lock_path(find_project(Path.cwd(), os.environ), Path.cwd()).absolute()
    return read_lock(file), file


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
