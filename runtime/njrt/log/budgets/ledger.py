"""Accounts of budgets in a store: one counter for each period.

    find_accounts(budgets, now)     [Account("budget/all/day/...", Budget(...))]
    account.check(store)            BudgetError if its budget is spent
    account.add(store, spent)       what a call has cost

An account is one text in the store, changed by `update`. Dollars are stored as integer billionths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

from njrt.data.logs import warn
from njrt.data.options.budget import Budget
from njrt.data.records import record
from njrt.errors import BudgetError, StoreError
from njrt.messages import Usage
from njrt.stores import Store, make_store_key, split_store_key, update
from njrt.values.dataclass_json import InvalidJsonError, from_json, to_json

NANO = 1_000_000_000
"""Billionths of a dollar in a dollar."""

_LABELS: Mapping[str | None, str] = {
    "hour": "%Y-%m-%dT%H+0000",
    "day": "%Y-%m-%d",
    "month": "%Y-%m",
    "total": "total",
}


@record
class Spending:
    """Billionths of a dollar, tokens and calls: those of an account, as stored, or of a call."""

    usd: int = 0
    tokens: int = 0
    calls: int = 0

    def __add__(self, other: Spending) -> Spending:
        return Spending(self.usd + other.usd, self.tokens + other.tokens, self.calls + other.calls)

    def __str__(self) -> str:
        return f"{format_usd(self.usd / NANO)} and {self.tokens:,} tokens"


def measure_spending(usage: Usage, calls: int = 0) -> Spending:
    """Return a usage as an account counts it; an unknown price is not counted."""
    return Spending(round((usage.usd or 0.0) * NANO), round(usage.input + usage.output), calls)


@record
class Account:
    """The counter of a budget in one period, under `key` in a store."""

    key: str
    budget: Budget
    period: str

    def check(self, store: Store, under_way: Spending) -> None:
        """Raise BudgetError if the budget is spent, together with what is `under_way`."""
        budget, spent = self.budget, read_state(store.get(self.key), self.key) + under_way
        if (budget.tokens is not None and spent.tokens >= budget.tokens) or (
            budget.usd is not None and spent.usd >= budget.usd * NANO
        ):
            wait = "" if budget.per == "total" else f", or wait for the next {budget.per}"
            problem = f"the budget `{budget}` is spent: {spent}, in {self.period}"
            error = BudgetError(f"{problem}; allow more{wait}")
            error.budget, error.period = str(budget), self.period
            raise error

    def add(self, store: Store, more: Spending) -> None:
        """Add to the counter."""
        update(store, self.key, lambda text: to_json(read_state(text, self.key) + more))


def find_period(per: str | None, now: float) -> str:
    """Return the label of the period at `now`, in seconds since the epoch."""
    return f"{datetime.fromtimestamp(now, UTC):{_LABELS[per]}}"


def find_accounts(budgets: Iterable[Budget], now: float) -> list[Account]:
    """Return the accounts of a call."""
    found = []
    for budget in budgets:
        period = find_period(budget.per, now)
        key = make_store_key("budget", budget.name, str(budget.per), "all", "", period)
        found.append(Account(key, budget, period))
    return found


def list_accounts(store: Store) -> Iterator[tuple[Account, Spending]]:
    """Yield all accounts in a store and what they hold; warn about unreadable ones.

    Those of 0.2 that belonged to a key, a tenant, a run or a `with` are left out.
    """
    for key in store.list_keys("budget/"):
        parts, text = split_store_key(key), store.get(key)
        is_known = len(parts) == 6 and not parts[4] and parts[2] in _LABELS
        if is_known and text is not None:
            try:
                state = read_state(text, key)
            except StoreError as error:
                warn("%s", error)
            else:
                budget = Budget(per=parts[2], name=parts[1])  # type: ignore[arg-type]
                yield Account(key, budget, parts[5]), state


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
