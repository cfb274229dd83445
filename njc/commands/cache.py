"""`njc cache stats`, `njc cache clear`: what models have answered before, and forgetting it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import click

from njc.commands.console import Console
from njc.commands.flags import pass_console, speaking
from njc.project.report import counted
from njc.project.units import shown
from njrt.errors import ConfigurationError
from njrt.persistence.store import Store

_FOLDER = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path(".njc_cache"),
    metavar="DIR",
    help="The cache's directory; .njc_cache by default.",
)


@click.group("cache")
@speaking
def command() -> None:
    """Look at the cache of models' replies, or empty it."""


@command.command("stats")
@_FOLDER
@click.option(
    "--output-format",
    "format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="How it is written; `text` by default.",
)
@speaking
@pass_console
def stats(console: Console, folder: Path, format: Literal["text", "json"]) -> None:
    """Say how many replies are kept, and how much room they take."""
    store = _store_in(folder)
    entries, size = (store.stats().entries, store.stats().size) if store else (0, 0)
    if format == "json":
        found = {"folder": folder.as_posix(), "entries": entries, "bytes": size}
        console.result(json.dumps(found, indent=2))
    else:
        console.result(f"{shown(folder)}: {_replies(entries)}, {_megabytes(size)}")


@command.command("clear")
@_FOLDER
@speaking
@pass_console
def clear(console: Console, folder: Path) -> None:
    """Forget all replies; programs that run meanwhile go on."""
    store = _store_in(folder)
    forgotten = store.clear() if store else 0
    if store and store.stats().entries:
        raise ConfigurationError(
            f"cannot empty {shown(store.path)}; check its permissions, and who else is writing to it"
        )
    console.note(f"{shown(folder)}: {_replies(forgotten)} forgotten")


def _store_in(folder: Path) -> Store | None:
    """The store, if there is one: looking must not make one."""
    store = Store(folder)
    return store if store.path.exists() else None


def _replies(number: int) -> str:
    return counted(number, "reply").replace("replys", "replies")


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"
