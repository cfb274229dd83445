"""Accounts of budgets in a store: one counter for each period.

    find_accounts(budgets, now)                      {"budget/all/day/...": Account(...)}
    count(store, account, most, is_checked=True)     BudgetError if a budget does not allow it
    count(store, account, spent - most)              what the call has cost, in place of the most

An account is one text in the store, changed by `update`. Dollars are stored as integer billionths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import get_args

from njrt.data.logs import warn
from njrt.data.options.budget import Budget, BudgetPeriod
from njrt.data.records import record, replace
from njrt.errors import BudgetError, StoreError
from njrt.stores import Store, make_store_key, split_store_key, update
from njrt.values.dataclass_json import InvalidJsonError, from_json, to_json

NANO = 1_000_000_000
"""Billionths of a dollar in a dollar."""


@record
class Spending:
    """Billionths of a dollar, tokens and calls: those of an account, as stored, or of one call."""

    usd: int = 0
    tokens: int = 0
    calls: int = 0

    def __add__(self, other: Spending) -> Spending:
        return Spending(self.usd + other.usd, self.tokens + other.tokens, self.calls + other.calls)

    def __sub__(self, other: Spending) -> Spending:
        return self + Spending(-other.usd, -other.tokens, -other.calls)

    def __str__(self) -> str:
        return f"{format_usd(self.usd / NANO)} and {self.tokens:,} tokens"


@record
class Account:
    """One period of the budgets with one name and `per`, and the start of the next period."""

    key: str
    period: str
    renews: datetime | None
    budgets: tuple[Budget, ...]


@record
class StoredAccount:
    """An account that was found in the store."""

    name: str
    per: str
    period: str
    state: Spending


def find_period(budget: Budget, now: float) -> tuple[str, datetime | None]:
    """Return the label of the period at `now`, in seconds, and the start of the next one."""
    hour = datetime.fromtimestamp(now, UTC).replace(minute=0, second=0, microsecond=0)
    day = hour.replace(hour=0)
    match budget.per:
        case "hour":
            return f"{hour:%Y-%m-%dT%H%z}", hour + timedelta(hours=1)
        case "day":
            return f"{day:%Y-%m-%d}", day + timedelta(days=1)
        case "month":
            return f"{day:%Y-%m}", (day.replace(day=1) + timedelta(days=32)).replace(day=1)
        case _:
            return "total", None


def find_accounts(budgets: Iterable[Budget], now: float) -> Mapping[str, Account]:
    """Return the accounts of a call by key, each with all its budgets."""
    found: dict[str, Account] = {}
    for budget in budgets:
        period, renews = find_period(budget, now)
        key = make_store_key("budget", budget.name, str(budget.per), "all", "", period)
        account = found.get(key, Account(key, period, renews, ()))
        found[key] = replace(account, budgets=(*account.budgets, budget))
    return found


def count(store: Store, account: Account, more: Spending, is_checked: bool = False) -> None:
    """Add to an account; if it `is_checked`, only what its budgets allow, else BudgetError."""

    def change(text: str | None) -> str:
        state = read_state(text, account.key)
        for budget in account.budgets if is_checked else ():
            if _exceeds(budget.usd and budget.usd * NANO, state.usd, more.usd) or _exceeds(
                budget.tokens, state.tokens, more.tokens
            ):
                raise make_budget_error(account, budget, state, more)
        return to_json(state + more)

    update(store, account.key, change)


def _exceeds(limit: float | None, spent: int, needed: int) -> bool:
    return limit is not None and (spent >= limit or spent + needed > round(limit))


def list_accounts(store: Store) -> Iterator[StoredAccount]:
    """Yield all accounts in a store, by name and period; warn about unreadable ones.

    Those of 0.2 that belonged to a key, a tenant, a run or a `with` are left out.
    """
    for key in store.list_keys("budget/"):
        parts, text = split_store_key(key), store.get(key)
        is_known = len(parts) == 6 and not parts[4] and parts[2] in get_args(BudgetPeriod)
        if is_known and text is not None:
            try:
                state = read_state(text, key)
            except StoreError as error:
                warn("%s", error)
            else:
                yield StoredAccount(parts[1], parts[2], parts[5], state)


def make_budget_error(
    account: Account, budget: Budget, state: Spending, needed: Spending
) -> BudgetError:
    """Return an error with the amounts spent and needed, and the time when the budget renews."""
    renews = account.renews
    error = BudgetError(
        f"the budget `{budget}` does not allow this call: it may need {needed}, with {state} spent "
        "(and the most that calls under way may cost); "
        + (f"it renews at {renews.isoformat()}" if renews else "it does not renew")
    )
    error.budget, error.period, error.renews = str(budget), account.period, renews
    return error


def format_usd(usd: float) -> str:
    """Return dollars with four decimals, or with all digits if it is a small amount."""
    return f"${usd:,.4f}" if not 1e-9 <= usd < 0.001 else f"${usd:.9f}".rstrip("0")


def read_state(text: str | None, key: str) -> Spending:
    """Return the state in a stored text, or a new state for None."""
    try:
        return Spending() if text is None else from_json(text, Spending)
    except InvalidJsonError as error:
        problem = f"the text of {key} in the store is not an account of a budget ({error})"
        raise StoreError(problem) from None
