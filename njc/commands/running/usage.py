"""`njc usage`: the spending of budgets in the store."""

from __future__ import annotations

import os
from typing import Any

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import COUNT, STORE, refuse_options, with_console
from njc.project.report import format_count
from njc.runs.trace_view.tables import TableColumn
from njrt.options.budget import Budget
from njrt.persistence.open_store import get_store_to_read
from njrt.production.budgets.ledger import NANO, Ledger, StoredAccount, format_usd, shorten_name
from njrt.production.budgets.period import find_period

_DAY = 24 * 3600
_COLUMNS = (
    TableColumn("budget", can_shrink=True),
    TableColumn("per"),
    TableColumn("of", can_shrink=True),
    TableColumn("period"),
    TableColumn("spent", is_number=True),
    TableColumn("limit", is_number=True),
    TableColumn("tokens", is_number=True),
    TableColumn("limit", is_number=True, rank=3),
    TableColumn("calls", is_number=True, rank=2),
    TableColumn("reserved", is_number=True, rank=1),
)


@click.command("usage")
@STORE
@click.option("--budget", "name", metavar="NAME", help="Only budgets of this name.")
@click.option("--of", "owner", metavar="OWNER", help="Only budgets of this tenant or key.")
@click.option("--all", "shows_all", is_flag=True, help="Past periods too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every account.")
@click.option(
    "--forget", type=COUNT, metavar="DAYS", help="Delete accounts unchanged for DAYS days."
)
@with_console
def command(
    console: Console,
    url: str | None,
    name: str | None,
    owner: str | None,
    shows_all: bool,
    as_json: bool,
    forget: int | None,
) -> None:
    """Show the spending of each budget, or delete old accounts."""
    if forget is not None:
        refuse_options("does nothing with --forget, which shows nothing", "shows_all", "as_json")
    ledger = Ledger(get_store_to_read(url, os.environ))
    found = [
        account
        for account in ledger.list_accounts()
        if (name is None or shorten_name(name) == account.name)
        and (owner is None or shorten_name(owner) == account.owner)
    ]
    now = ledger.store.now()
    if forget is not None:
        old = [account for account in found if account.state.at < now - forget * _DAY]
        for account in old:
            ledger.forget(account.key)
        console.note(f"{ledger.store.name}: {format_count(len(old), 'account')} deleted")
        return
    if as_json:
        accounts = [account_to_json(account, is_current(account, now)) for account in found]
        console.json({"store": ledger.store.name, "accounts": accounts})
        return
    shown = [account for account in found if shows_all or is_current(account, now)]
    if not shown:
        past = f"; {format_count(len(found), 'account')} of past periods: --all" if found else ""
        console.note(f"{ledger.store.name}: no budget has been used{past}")
        return
    console.table(_COLUMNS, [_format_row(account) for account in shown])


def is_current(account: StoredAccount, now: float) -> bool:
    """Return whether an account's period continues; the period of a `with` ends with its reservations."""
    if account.per in ("run", "scope"):
        return bool(account.state.held)
    _, _, zone = account.period.partition("@")
    budget = Budget(per=account.per, zone=zone or "UTC")  # type: ignore[arg-type]
    return find_period(budget, now).label == account.period


def account_to_json(account: StoredAccount, current: bool) -> dict[str, Any]:
    """Return an account in the form of `njc usage --json`."""
    state, reserved = account.state, account.state.reserved
    return {
        "budget": account.name,
        "per": account.per,
        "each": account.each,
        "owner": account.owner,
        "period": account.period,
        "current": current,
        "usd": None if _is_unpriced(account) else state.usd / NANO,
        "usd_limit": state.limit_usd,
        "usd_reserved": reserved.usd / NANO,
        "tokens": state.tokens,
        "tokens_limit": state.limit_tokens,
        "tokens_reserved": reserved.tokens,
        "calls": state.calls,
        "calls_under_way": len(state.held),
        "changed_at": state.at,
    }


def _is_unpriced(account: StoredAccount) -> bool:
    """Return whether no price is known for the counted tokens."""
    return account.state.tokens > 0 and not account.state.usd


def _format_row(account: StoredAccount) -> tuple[str, ...]:
    state, reserved, most = account.state, account.state.reserved, account.state.limit_usd
    owner = f"{account.each} {account.owner or '(none)'}" if account.each != "all" else "all"
    return (
        account.name,
        account.per,
        owner,
        account.period,
        "price unknown" if _is_unpriced(account) else format_usd(state.usd / NANO),
        "" if most is None else f"${most:,.2f}" if most == round(most, 2) else format_usd(most),
        f"{state.tokens:,}",
        "" if state.limit_tokens is None else f"{state.limit_tokens:,}",
        f"{state.calls:,}",
        format_usd(reserved.usd / NANO) if reserved.usd else f"{reserved.tokens:,}",
    )
