"""`njc cache stats`, `njc cache clear`: what models have answered before, and forgetting it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import click

from njc.commands.console import Console
from njc.commands.flags import console_flags, pass_console
from njc.project.report import format_count
from njc.project.units import format_path
from njrt.errors import ConfigurationError
from njrt.persistence.store import Store

_FOLDER_FLAG = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path(".njc_cache"),
    metavar="DIR",
    help="The cache's directory; .njc_cache by default.",
)


@click.group("cache")
@console_flags
def command() -> None:
    """Look at the cache of models' replies, or empty it."""


@command.command("stats")
@_FOLDER_FLAG
@click.option(
    "--output-format",
    "format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="How it is written; `text` by default.",
)
@console_flags
@pass_console
def stats(console: Console, folder: Path, format: Literal["text", "json"]) -> None:
    """Say how many replies are kept, and how much room they take."""
    store = _find_store(folder)
    entries, size = (store.read_stats().entries, store.read_stats().size) if store else (0, 0)
    if format == "json":
        found = {"folder": folder.as_posix(), "entries": entries, "bytes": size}
        console.result(json.dumps(found, indent=2))
    else:
        console.result(
            f"{format_path(folder)}: {_format_reply_count(entries)}, {_format_megabytes(size)}"
        )


@command.command("clear")
@_FOLDER_FLAG
@console_flags
@pass_console
def clear(console: Console, folder: Path) -> None:
    """Forget all replies; programs that run meanwhile go on."""
    store = _find_store(folder)
    forgotten = store.clear() if store else 0
    if store and store.read_stats().entries:
        raise ConfigurationError(
            f"cannot empty {format_path(store.path)}; check its permissions, and who else is writing to it"
        )
    console.note(f"{format_path(folder)}: {_format_reply_count(forgotten)} forgotten")


def _find_store(folder: Path) -> Store | None:
    """The store, if there is one: looking must not make one."""
    store = Store(folder)
    return store if store.path.exists() else None


def _format_reply_count(number: int) -> str:
    return format_count(number, "reply").replace("replys", "replies")


def _format_megabytes(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"
