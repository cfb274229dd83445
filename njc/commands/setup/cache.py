"""`njc cache stats` and `njc cache clear`: the cache of models' replies."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from njc.commands.terminal.console import Console, console_flags
from njc.commands.terminal.flags import PATH, TEXT_OR_JSON, with_console
from njc.project.report import format_count
from njc.project.units import format_path
from njrt.errors import ConfigurationError
from njrt.persistence.cache import REPLIES_FILE, SHARED_PREFIX, ReplyStore, open_reply_store
from njrt.persistence.open_store import get_store
from njrt.private_files import find_cache_folder

_FOLDER_FLAG = click.option(
    "--folder", type=PATH, metavar="DIR", help="Cache directory (default: that of the user)."
)
_STORE_FLAG = click.option(
    "--store",
    "url",
    envvar="NJC_STORE",
    metavar="URL",
    help="The shared store, instead of a directory.",
)


@click.group("cache")
@console_flags
def command() -> None:
    """Show or empty the cache of models' replies."""


@command.command("stats")
@_FOLDER_FLAG
@_STORE_FLAG
@TEXT_OR_JSON
@with_console
def stats(
    console: Console, folder: Path | None, url: str | None, format: Literal["text", "json"]
) -> None:
    """Print the number of replies in the cache, and their size."""
    cache = _find_cache(folder, url)
    stats = cache.store.read_stats() if cache.store else None
    entries, size = (stats.entries, stats.size) if stats else (0, 0)
    fields = {"folder": cache.place, "entries": entries, "bytes": size}
    shown = f"{cache.shown}: {format_count(entries, 'reply')}, {size / 1_000_000:.1f} MB"
    console.result(json.dumps(fields, indent=2) if format == "json" else shown)


@command.command("clear")
@_FOLDER_FLAG
@_STORE_FLAG
@with_console
def clear(console: Console, folder: Path | None, url: str | None) -> None:
    """Delete all replies; programs may run meanwhile."""
    cache = _find_cache(folder, url)
    deleted = cache.store.clear() if cache.store else 0
    if cache.store and cache.store.read_stats().entries:
        raise ConfigurationError(
            f"cannot empty {cache.shown}; check its permissions, and who else is writing to it"
        )
    console.note(f"{cache.shown}: {format_count(deleted, 'reply')} deleted")


@dataclass(frozen=True, slots=True)
class FoundCache:
    """The cache that a command is about: its place, the place as messages show it, its store if it exists."""

    place: str
    shown: str
    store: ReplyStore | None


def _find_cache(folder: Path | None, url: str | None) -> FoundCache:
    """Find the cache of a folder, of a shared store, or else of the user; create nothing."""
    if folder is None and url:
        store = get_store(url, os.environ)
        return FoundCache(store.name, store.name, ReplyStore(store, SHARED_PREFIX))
    folder = folder or find_cache_folder(os.environ)
    exists = (folder / REPLIES_FILE).exists()
    found = open_reply_store(folder) if exists else None
    return FoundCache(folder.as_posix(), format_path(folder), found)
