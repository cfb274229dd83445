"""`njc cache stats` and `njc cache clear`: the cache of models' replies."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import click

from njc.commands.terminal.console import Console, console_flags
from njc.commands.terminal.flags import PATH, STORE, TEXT_OR_JSON, refuse_options, with_console
from njc.project.report import format_count
from njc.project.units import format_path
from njrt.errors import ConfigurationError
from njrt.persistence.cache import REPLIES_FILE, SHARED_PREFIX, ReplyStore, open_reply_store
from njrt.persistence.open_store import get_store_to_read
from njrt.private_files import find_cache_folder

_FOLDER_FLAG = click.option(
    "--folder", type=PATH, metavar="DIR", help="Cache directory (default: the user's cache)."
)


@click.group("cache")
@console_flags
def command() -> None:
    """Show or empty the cache of models' replies."""


@command.command("stats")
@_FOLDER_FLAG
@STORE
@TEXT_OR_JSON
@with_console
def stats(
    console: Console, folder: Path | None, url: str | None, format: Literal["text", "json"]
) -> None:
    """Print the number of replies in the cache, and their size."""
    place, shown, store = _find_cache(folder, url)
    stats = store.read_stats() if store else None
    entries, size = (stats.entries, stats.size) if stats else (0, 0)
    if format == "json":
        console.json({"folder": place, "entries": entries, "bytes": size})
    else:
        console.result(f"{shown}: {format_count(entries, 'reply')}, {size / 1_000_000:.1f} MB")


@command.command("clear")
@_FOLDER_FLAG
@STORE
@with_console
def clear(console: Console, folder: Path | None, url: str | None) -> None:
    """Delete all replies; programs may run meanwhile."""
    _, shown, store = _find_cache(folder, url)
    deleted = store.clear() if store else 0
    if store and store.read_stats().entries:
        raise ConfigurationError(
            f"cannot empty {shown}; check its permissions, and who else is writing to it"
        )
    console.note(f"{shown}: {format_count(deleted, 'reply')} deleted")


def _find_cache(folder: Path | None, url: str | None) -> tuple[str, str, ReplyStore | None]:
    """Return the place of a folder's, store's or user's cache, its name in messages, and its store if it exists."""
    if folder is not None:
        refuse_options("is another place than --folder; leave one out", "url")
    elif url:
        store = get_store_to_read(url, os.environ)
        store.measure(SHARED_PREFIX)  # raises StoreError, where the cache would do without it
        return store.name, store.name, ReplyStore(store, SHARED_PREFIX)
    folder = folder or find_cache_folder(os.environ)
    exists = (folder / REPLIES_FILE).exists()
    return folder.as_posix(), format_path(folder), open_reply_store(folder) if exists else None
