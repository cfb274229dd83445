"""Accounts of budgets in a store: one counter for each period.

    find_period(budget, now)          ("2026-03-01", 2026-03-02 00:00 UTC)
    charge(store, account, most)      BudgetError if spent + most exceeds a limit, else counted
    correct(store, account, most, spent)    what the call has cost, in place of the most

An account is one text in the store, changed by `update`. Dollars are stored as integer billionths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
class Account:
    """One period of a budget, with the start of the next period."""

    budget: Budget
    period: str
    renews: datetime | None = None

    @property
    def key(self) -> str:
        """The account's key in the store."""
        budget = self.budget
        return make_store_key("budget", budget.name, str(budget.per), "all", "", self.period)


@record
class Spending:
    """Billionths of a dollar, tokens and calls: those of an account, as stored, or of one call.

    The limits come from the program that changed the account last.
    """

    usd: int = 0
    tokens: int = 0
    calls: int = 0
    limit_usd: float | None = None
    limit_tokens: int | None = None
    at: float = 0.0


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


def charge(store: Store, account: Account, most: Spending) -> None:
    """Count the most that a call can cost; raise `BudgetError` and count nothing if it exceeds."""
    budget = account.budget

    def check(state: Spending) -> Spending:
        if _exceeds(budget.usd and budget.usd * NANO, state.usd, most.usd) or _exceeds(
            budget.tokens, state.tokens, most.tokens
        ):
            raise make_budget_error(account, state, most)
        return replace(state, limit_usd=budget.usd, limit_tokens=budget.tokens)

    correct(store, account, Spending(), most, check)


def _exceeds(limit: float | None, spent: int, needed: int) -> bool:
    return limit is not None and (spent >= limit or spent + needed > round(limit))


def correct(
    store: Store,
    account: Account,
    counted: Spending,
    spent: Spending,
    check: Callable[[Spending], Spending] = lambda state: state,
) -> None:
    """Count in an account what a call has cost, in place of what was counted for it."""
    key, now = account.key, store.now()

    def change(text: str | None) -> str:
        state = check(read_state(text, key))
        usd, tokens = state.usd + spent.usd - counted.usd, state.tokens + spent.tokens
        calls = state.calls + spent.calls - counted.calls
        changed = replace(state, usd=usd, tokens=tokens - counted.tokens, calls=calls, at=now)
        return to_json(changed)

    update(store, key, change)


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


def make_budget_error(account: Account, state: Spending, needed: Spending) -> BudgetError:
    """Return an error with the amounts spent and needed, and the time when the budget renews."""
    budget = account.budget
    renewal = "it does not renew"
    if account.renews is not None:
        renewal = f"it renews at {account.renews.isoformat()}"

    def write(usd: int, tokens: int) -> str:
        parts = {"usd": format_usd(usd / NANO), "tokens": f"{tokens:,} tokens"}
        limited = (parts[unit] for unit in parts if getattr(budget, unit) is not None)
        return " and ".join(limited)

    allowed = write(round((budget.usd or 0) * NANO), budget.tokens or 0)
    error = BudgetError(
        f"the budget `{budget}` allows {allowed}: {write(state.usd, state.tokens)} spent "
        f"(with the most that calls under way may cost), and this call may need "
        f"{write(needed.usd, needed.tokens)}; {renewal}"
    )
    error.budget, error.period, error.renews = str(budget), account.period, account.renews
    error.usd_limit, error.tokens_limit = budget.usd, budget.tokens
    error.usd_spent, error.tokens_spent = state.usd / NANO, state.tokens
    error.usd_needed, error.tokens_needed = needed.usd / NANO, needed.tokens
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
