"""Accounts of budgets in a store: one counter for each period.

    spend(store, account, most)          BudgetError if spent + most exceeds a limit, else counted
    correct(store, account, difference)  what a call has cost in place of the most

An account is one text in the store, changed by `update`. Dollars are stored as integer billionths.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from datetime import datetime
from urllib.parse import quote

from njrt.dataclass_json import InvalidJsonError, from_json, to_json
from njrt.errors import BudgetError, StoreError
from njrt.logs import warn
from njrt.options.budget import Budget
from njrt.records import record, replace
from njrt.stores import Store, make_store_key, split_store_key, update

NANO = 1_000_000_000
"""Billionths of a dollar in a dollar."""

KEY_PREFIX = "budget/"

MAX_NAME_CHARS = 180
"""The maximal length of a budget's or owner's name in a key, in characters of the key."""


@record
class Amount:
    """Billionths of a dollar, tokens, and calls."""

    usd: int = 0
    tokens: int = 0
    calls: int = 0

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.usd - other.usd, self.tokens - other.tokens, self.calls - other.calls)


@record
class Account:
    """One period of one owner's budget, with the start of the next period."""

    budget: Budget
    owner: str
    period: str
    renews: datetime | None = None

    @property
    def key(self) -> str:
        """The account's key in the store."""
        budget = self.budget
        name, owner = shorten_name(budget.name), shorten_name(self.owner)
        return make_store_key("budget", name, budget.per, budget.each, owner, self.period)


@record
class AccountState:
    """An account as stored. The limits come from the program that changed it last."""

    usd: int = 0
    tokens: int = 0
    calls: int = 0
    limit_usd: float | None = None
    limit_tokens: int | None = None
    at: float = 0.0

    def add(self, amount: Amount, now: float) -> AccountState:
        """Return the state with one more amount."""
        usd, tokens = self.usd + amount.usd, self.tokens + amount.tokens
        return replace(self, usd=usd, tokens=tokens, calls=self.calls + amount.calls, at=now)


@record
class StoredAccount:
    """An account that was found in the store."""

    name: str
    per: str
    each: str
    owner: str
    period: str
    state: AccountState
    key: str


def spend(store: Store, account: Account, most: Amount) -> None:
    """Count the most that a call can cost; raise `BudgetError` and count nothing if it exceeds."""
    budget, now = account.budget, store.now()

    def change(state: AccountState) -> AccountState:
        limits = (
            (None if budget.usd is None else to_nano(budget.usd), state.usd, most.usd),
            (budget.tokens, state.tokens, most.tokens),
        )
        if any(it is not None and (it < spent + more or it <= spent) for it, spent, more in limits):
            raise make_budget_error(account, state, most)
        limited = replace(state, limit_usd=budget.usd, limit_tokens=budget.tokens)
        return limited.add(most, now)

    _change(store, account.key, change)


def correct(store: Store, account: Account, difference: Amount) -> None:
    """Add to an account, whatever its limits."""
    now = store.now()
    _change(store, account.key, lambda state: state.add(difference, now))


def _change(store: Store, key: str, change: Callable[[AccountState], AccountState]) -> None:
    update(store, key, lambda text: to_json(change(read_state(text, key))))


def list_accounts(store: Store) -> Iterator[StoredAccount]:
    """Yield all accounts in a store, by name, period and owner; warn about unreadable ones."""
    for key in store.list_keys(KEY_PREFIX):
        parts, text = split_store_key(key), store.get(key)
        if len(parts) == 6 and text is not None:
            try:
                yield StoredAccount(*parts[1:], state=read_state(text, key), key=key)
            except StoreError as error:
                warn("%s", error)


def make_budget_error(account: Account, state: AccountState, needed: Amount) -> BudgetError:
    """Return an error with the amounts spent and needed, and the time when the budget renews."""
    budget = account.budget
    owner = f" of the {budget.each} {account.owner or '(none)'}" if budget.each != "all" else ""
    units = [unit for unit in ("usd", "tokens") if getattr(budget, unit) is not None]
    allowed = Amount(to_nano(budget.usd or 0.0), budget.tokens or 0)
    spent = Amount(state.usd, state.tokens)
    kinds = {"run": "each run has its own", "scope": "each `with` has its own"}
    renewal = kinds.get(budget.per, "it does not renew")
    if account.renews is not None:
        renewal = f"it renews at {account.renews.isoformat()}"
    error = BudgetError(
        f"the budget `{budget}`{owner} allows {format_amount(allowed, units)}: "
        f"{format_amount(spent, units)} spent (with the most that calls under way may cost), and "
        f"this call may need {format_amount(needed, units)}; {renewal}"
    )
    error.budget, error.owner, error.period = str(budget), account.owner, account.period
    error.usd_limit, error.tokens_limit = budget.usd, budget.tokens
    error.usd_spent, error.tokens_spent = state.usd / NANO, state.tokens
    error.usd_needed, error.tokens_needed = needed.usd / NANO, needed.tokens
    error.renews = account.renews
    return error


def format_amount(amount: Amount, units: list[str]) -> str:
    """Format an amount in the given units, out of `usd` and `tokens`."""
    texts = {"usd": format_usd(amount.usd / NANO), "tokens": f"{amount.tokens:,} tokens"}
    return " and ".join(texts[unit] for unit in units)


def format_usd(usd: float) -> str:
    """Return dollars with four decimals, or with all digits if it is a small amount."""
    return f"${usd:,.4f}" if not 1e-9 <= usd < 0.001 else f"${usd:.9f}".rstrip("0")


def shorten_name(name: str) -> str:
    """Return a name as used in keys: one that is too long is cut, and ends with its digest."""
    encoded = name.encode("utf-8", "surrogatepass")
    if len(quote(encoded, safe="")) <= MAX_NAME_CHARS:
        return name
    beginning = encoded[: MAX_NAME_CHARS // 3 - 20].decode("utf-8", "ignore")
    return f"{beginning}~{hashlib.sha256(encoded).hexdigest()[:16]}"


def to_nano(usd: float) -> int:
    """Return a dollar amount as integer billionths."""
    return round(usd * NANO)


def read_state(text: str | None, key: str) -> AccountState:
    """Return the state in a stored text, or a new state for None."""
    try:
        return AccountState() if text is None else from_json(text, AccountState)
    except InvalidJsonError as error:
        problem = f"the text of {key} in the store is not an account of a budget ({error})"
        raise StoreError(problem) from None
