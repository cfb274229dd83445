"""`njc store`: budgets and cached replies in a store."""

from __future__ import annotations

import os
from typing import Any

import click

from njc.commands.terminal.console import Console, console_flags
from njc.commands.terminal.flags import (
    STORE,
    with_console,
)
from njc.debug.trace_view.tables import TableColumn
from njc.project.report import format_count
from njc.project.units import format_path
from njrt.data.private_files import find_cache_folder
from njrt.log.budgets.ledger import (
    NANO,
    StoredAccount,
    find_period,
    format_usd,
    list_accounts,
)
from njrt.log.cache import REPLIES_FILE, SHARED_PREFIX, open_cache_file
from njrt.log.open_store import get_store_to_read
from njrt.log.sqlite_store import MemoryStore
from njrt.stores import Store

_COLUMNS = (
    TableColumn("budget", can_shrink=True),
    TableColumn("per"),
    TableColumn("period"),
    TableColumn("spent", is_number=True),
    TableColumn("tokens", is_number=True),
    TableColumn("calls", is_number=True, rank=2),
)


@click.group("store")
@console_flags
def command() -> None:
    """Show budgets and cached replies, or empty the cache."""


@command.command("usage")
@STORE
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every account.")
@with_console
def show_usage(console: Console, url: str | None, as_json: bool) -> None:
    """Show the spending of each budget in its current period."""
    store = get_store_to_read(url, os.environ)
    found, now = list(list_accounts(store)), store.now()
    if as_json:
        accounts = [account_to_json(account, is_current(account, now)) for account in found]
        console.json({"store": store.name, "accounts": accounts})
        return
    shown = [account for account in found if is_current(account, now)]
    if not shown:
        console.note(f"{store.name}: no budget has been used")
        return
    console.table(_COLUMNS, [_format_row(account) for account in shown])


@command.command("cache")
@STORE
@with_console
def show_cache(console: Console, url: str | None) -> None:
    """Print the number of replies in the cache, and their size."""
    shown, store, prefix = _find_cache(url)
    found = store.measure(prefix)
    size = f"{found.size / 1_000_000:.1f} MB"
    console.result(f"{shown}: {format_count(found.entries, 'reply')}, {size}")


@command.command("clear")
@STORE
@with_console
def clear_cache(console: Console, url: str | None) -> None:
    """Delete all cached replies; programs may run meanwhile."""
    shown, store, prefix = _find_cache(url)
    console.note(f"{shown}: {format_count(store.clear(prefix), 'reply')} deleted")


def _find_cache(url: str | None) -> tuple[str, Store, str]:
    """Return a cache's name in messages, its store, and the prefix of its keys."""
    if url:
        store = get_store_to_read(url, os.environ)
        return store.name, store, SHARED_PREFIX
    folder = find_cache_folder(os.environ)
    exists = (folder / REPLIES_FILE).exists()
    return format_path(folder), open_cache_file(folder) if exists else MemoryStore(), ""


def is_current(account: StoredAccount, now: float) -> bool:
    """Return whether an account's period continues."""
    return find_period(account.per, now) == account.period


def account_to_json(account: StoredAccount, current: bool) -> dict[str, Any]:
    """Return an account in the form of `njc store usage --json`."""
    state = account.state
    return {
        "budget": account.name,
        "per": account.per,
        "period": account.period,
        "current": current,
        "usd": None if _is_unpriced(account) else state.usd / NANO,
        "tokens": state.tokens,
        "calls": state.calls,
    }


def _is_unpriced(account: StoredAccount) -> bool:
    """Return whether no price is known for the counted tokens."""
    return account.state.tokens > 0 and not account.state.usd


def _format_row(account: StoredAccount) -> tuple[str, ...]:
    state = account.state
    return (
        account.name,
        account.per,
        account.period,
        "price unknown" if _is_unpriced(account) else format_usd(state.usd / NANO),
        f"{state.tokens:,}",
        f"{state.calls:,}",
    )
