"""`njc cache stats` and `njc cache clear`: the cache of models' replies."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal

import click

from njc.commands.flags import console_flags, pass_console
from njc.commands.terminal.console import Console
from njc.project.report import format_count
from njc.project.units import format_path
from njrt.errors import ConfigurationError
from njrt.persistence.store import Store
from njrt.private_files import find_cache_folder

_FOLDER_FLAG = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=lambda: find_cache_folder(os.environ),
    metavar="DIR",
    help="Cache directory (default: that of the user).",
)


@click.group("cache")
@console_flags
def command() -> None:
    """Show or empty the cache of models' replies."""


@command.command("stats")
@_FOLDER_FLAG
@click.option(
    "--output-format",
    "format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Format of the output (default: text).",
)
@console_flags
@pass_console
def stats(console: Console, folder: Path, format: Literal["text", "json"]) -> None:
    """Print the number of replies in the cache, and their size."""
    store = _find_store(folder)
    stats = store.read_stats() if store else None
    entries, size = (stats.entries, stats.size) if stats else (0, 0)
    if format == "json":
        fields = {"folder": folder.as_posix(), "entries": entries, "bytes": size}
        console.result(json.dumps(fields, indent=2))
    else:
        console.result(
            f"{format_path(folder)}: {format_count(entries, 'reply')}, {size / 1_000_000:.1f} MB"
        )


@command.command("clear")
@_FOLDER_FLAG
@console_flags
@pass_console
def clear(console: Console, folder: Path) -> None:
    """Delete all replies; programs may run meanwhile."""
    store = _find_store(folder)
    deleted = store.clear() if store else 0
    if store and store.read_stats().entries:
        raise ConfigurationError(
            f"cannot empty {format_path(store.path)}; check its permissions, and who else is writing to it"
        )
    console.note(f"{format_path(folder)}: {format_count(deleted, 'reply')} deleted")


def _find_store(folder: Path) -> Store | None:
    """Open the store if it exists; do not create it."""
    store = Store(folder)
    return store if store.path.exists() else None
