"""`njc store`: budgets and cached replies in a store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import click

from njc.commands.terminal.console import Console, console_flags
from njc.commands.terminal.flags import STORE, with_console
from njc.project.report import format_count, format_text_table
from njc.project.units import format_path
from njrt.data.private_files import find_cache_folder
from njrt.log.budgets.ledger import NANO, Account, Spending, find_period, format_usd, list_accounts
from njrt.log.cache import REPLIES_FILE, SHARED_PREFIX, open_cache_file
from njrt.log.open_store import get_store_to_read
from njrt.log.sqlite_store import MemoryStore
from njrt.stores import Store

_HEADINGS = ("budget", "per", "period", "spent", "tokens", "calls")


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
    accounts = [account_to_json(*found, store.now()) for found in list_accounts(store)]
    if as_json:
        console.json({"store": store.name, "accounts": accounts})
    elif shown := [_format_row(account) for account in accounts if account["current"]]:
        console.result(format_text_table(_HEADINGS, shown, labels=range(3)))
    else:
        console.note(f"{store.name}: no budget has been used")


@command.command("cache")
@STORE
@with_console
def show_cache(console: Console, url: str | None) -> None:
    """Print the number of replies in the cache, and their size."""
    shown, store, prefix = _find_cache(url)
    found = store.measure(prefix)
    replies = format_count(found.entries, "reply")
    console.result(f"{shown}: {replies}, {found.size / 1_000_000:.1f} MB")


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


def account_to_json(account: Account, state: Spending, now: float) -> dict[str, Any]:
    """Return an account in the form of `njc store usage --json`; None is an unknown price."""
    budget = account.budget
    return {
        "budget": budget.name,
        "per": budget.per,
        "period": account.period,
        "current": find_period(budget.per, now) == account.period,
        "usd": state.usd / NANO if state.usd or not state.tokens else None,
        "tokens": state.tokens,
        "calls": state.calls,
    }


def _format_row(account: Mapping[str, Any]) -> tuple[str, ...]:
    price = "price unknown" if account["usd"] is None else format_usd(account["usd"])
    counts = f"{account['tokens']:,}", f"{account['calls']:,}"
    return account["budget"], account["per"], account["period"], price, *counts
