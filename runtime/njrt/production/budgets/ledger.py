"""Accounts of budgets in a store: one counter for each period.

    find_period(budget, now)          ("2026-03-01", 2026-03-02 00:00 UTC)
    charge(store, account, most)      BudgetError if spent + most exceeds a limit, else counted
    correct(store, account, more)     what a call has cost beyond the most, mostly less

An account is one text in the store, changed by `update`. Dollars are stored as integer billionths.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from njrt.dataclass_json import InvalidJsonError, from_json, to_json
from njrt.errors import BudgetError, StoreError
from njrt.logs import warn
from njrt.options.budget import Budget
from njrt.records import record, replace
from njrt.stores import Store, make_store_key, split_store_key, update

NANO = 1_000_000_000
"""Billionths of a dollar in a dollar."""

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
    """One period of one owner's budget, with the start of the next period.

    Budgets of the same account with other limits are in `others`.
    """

    budget: Budget
    owner: str
    period: str
    renews: datetime | None = None
    others: tuple[Budget, ...] = ()

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
        case per:
            return per, None


def charge(store: Store, account: Account, most: Amount) -> None:
    """Count the most that a call can cost; raise `BudgetError` and count nothing if it exceeds."""

    def change(state: AccountState) -> AccountState:
        for budget in (account.budget, *account.others):
            if _exceeds(budget.usd and budget.usd * NANO, state.usd, most.usd) or _exceeds(
                budget.tokens, state.tokens, most.tokens
            ):
                raise make_budget_error(budget, account, state, most)
        budget = account.budget
        return replace(state, limit_usd=budget.usd, limit_tokens=budget.tokens)

    correct(store, account, most, change)


def _exceeds(limit: float | None, spent: int, needed: int) -> bool:
    return limit is not None and (spent >= limit or spent + needed > round(limit))


def correct(
    store: Store,
    account: Account,
    more: Amount,
    change: Callable[[AccountState], AccountState] = lambda state: state,
) -> None:
    """Add to an account, whatever its limits, what `change` makes of it."""
    key, now = account.key, store.now()

    def add(text: str | None) -> str:
        state = change(read_state(text, key))
        usd, tokens, calls = state.usd + more.usd, state.tokens + more.tokens, state.calls
        return to_json(replace(state, usd=usd, tokens=tokens, calls=calls + more.calls, at=now))

    update(store, key, add)


def list_accounts(store: Store) -> Iterator[StoredAccount]:
    """Yield all accounts in a store, by name, period and owner; warn about unreadable ones."""
    for key in store.list_keys("budget/"):
        parts, text = split_store_key(key), store.get(key)
        if len(parts) == 6 and text is not None:
            try:
                yield StoredAccount(*parts[1:], state=read_state(text, key), key=key)
            except StoreError as error:
                warn("%s", error)


def make_budget_error(
    budget: Budget, account: Account, state: AccountState, needed: Amount
) -> BudgetError:
    """Return an error with the amounts spent and needed, and the time when the budget renews."""
    owner = f" of the {budget.each} {account.owner or '(none)'}" if budget.each != "all" else ""
    kinds = {"run": "each run has its own", "scope": "each `with` has its own"}
    renewal = kinds.get(budget.per, "it does not renew")
    if account.renews is not None:
        renewal = f"it renews at {account.renews.isoformat()}"

    def write(usd: int, tokens: int) -> str:
        parts = {"usd": format_usd(usd / NANO), "tokens": f"{tokens:,} tokens"}
        limited = (parts[unit] for unit in parts if getattr(budget, unit) is not None)
        return " and ".join(limited)

    allowed = write(round((budget.usd or 0) * NANO), budget.tokens or 0)
    error = BudgetError(
        f"the budget `{budget}`{owner} allows {allowed}: {write(state.usd, state.tokens)} spent "
        f"(with the most that calls under way may cost), and this call may need "
        f"{write(needed.usd, needed.tokens)}; {renewal}"
    )
    error.budget, error.owner, error.period = str(budget), account.owner, account.period
    error.usd_limit, error.tokens_limit = budget.usd, budget.tokens
    error.usd_spent, error.tokens_spent = state.usd / NANO, state.tokens
    error.usd_needed, error.tokens_needed = needed.usd / NANO, needed.tokens
    error.renews = account.renews
    return error


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


def read_state(text: str | None, key: str) -> AccountState:
    """Return the state in a stored text, or a new state for None."""
    try:
        return AccountState() if text is None else from_json(text, AccountState)
    except InvalidJsonError as error:
        problem = f"the text of {key} in the store is not an account of a budget ({error})"
        raise StoreError(problem) from None
