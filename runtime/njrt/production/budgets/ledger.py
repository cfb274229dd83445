"""Budget accounts in a store: amounts spent, and reservations for running calls.

    ledger.reserve(account, hold)              BudgetError if spent + reserved + this call exceeds a limit
    ledger.settle(account, hold, spent)        the reservation becomes the cost of the call
    ledger.release(account, hold)              the call was never made

An account is one text in the store, changed by `update`. Dollar amounts are stored as integer billionths. A
reservation left by a dead process expires; its call still counts if it ends later. Settling twice counts once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from datetime import datetime
from urllib.parse import quote

from njrt.dataclass_json import InvalidJsonError, from_json, to_json
from njrt.errors import BudgetError, StoreError
from njrt.observability.logs import warn
from njrt.options.budget import Budget
from njrt.records import field, record, replace
from njrt.stores import Store, make_store_key, split_store_key, update

NANO = 1_000_000_000
"""Billionths of a dollar in a dollar."""

KEY_PREFIX = "budget/"

MAX_EXPIRED = 200
"""How many expired reservations an account remembers, so that their calls count if they end."""

MAX_NAME_CHARS = 180
"""The maximal length of a budget's or owner's name in a key, in characters of the key."""


@record
class Amount:
    """Billionths of a dollar, and tokens."""

    usd: int = 0
    tokens: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.usd + other.usd, self.tokens + other.tokens)


@record
class Account:
    """One period of one owner's budget, with its key in the store and the start of the next period."""

    budget: Budget
    owner: str
    period: str
    renews: datetime | None = None

    @property
    def key(self) -> str:
        budget = self.budget
        name, owner = shorten_name(budget.name), shorten_name(self.owner)
        return make_store_key("budget", name, budget.per, budget.each, owner, self.period)


@record
class Hold:
    """A call's reservation: the most that it may cost, and when it expires, by the store's clock."""

    id: str
    amount: Amount
    until: float


@record
class AccountState:
    """An account as stored. `limit_usd` and `limit_tokens` come from the program that changed it last."""

    usd: int = 0
    tokens: int = 0
    calls: int = 0
    held: dict[str, tuple[int, int, float]] = field(default_factory=dict)
    limit_usd: float | None = None
    limit_tokens: int | None = None
    at: float = 0.0
    expired: tuple[str, ...] = ()
    """The names of the last reservations that expired."""

    @property
    def spent(self) -> Amount:
        """The cost of finished calls."""
        return Amount(self.usd, self.tokens)

    @property
    def reserved(self) -> Amount:
        """The highest possible cost of running calls."""
        return sum((Amount(usd, tokens) for usd, tokens, _ in self.held.values()), Amount())

    def without_hold(self, hold: Hold) -> AccountState:
        held = {name: other for name, other in self.held.items() if name != hold.id}
        expired = tuple(name for name in self.expired if name != hold.id)
        return replace(self, held=held, expired=expired)

    def without_expired(self, now: float) -> AccountState:
        held = {name: hold for name, hold in self.held.items() if hold[2] > now}
        if len(held) == len(self.held):
            return self
        expired = (*self.expired, *(name for name in self.held if name not in held))
        return replace(self, held=held, expired=expired[-MAX_EXPIRED:])


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


class Ledger:
    """The accounts in one store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def reserve(self, account: Account, hold: Hold) -> None:
        """Reserve a call's highest possible cost; raise `BudgetError` and change nothing if it does not fit."""
        refused: list[BudgetError] = []
        now, budget = self.store.now(), account.budget

        def change(state: AccountState) -> AccountState | None:
            refused.clear()
            state = state.without_expired(now)
            if hold.id in state.held:
                return None
            if error := find_excess(account, state, hold.amount):
                refused.append(error)
                return None
            held = state.held | {hold.id: (hold.amount.usd, hold.amount.tokens, hold.until)}
            limited = replace(state, limit_usd=budget.usd, limit_tokens=budget.tokens)
            return replace(limited, held=held, at=now)

        self._change(account.key, change)
        if refused:
            raise refused[0]

    def settle(self, account: Account, hold: Hold, spent: Amount) -> None:
        """Replace a reservation with the amount spent."""
        now = self.store.now()

        def change(state: AccountState) -> AccountState | None:
            if hold.id not in state.held and hold.id not in state.expired:
                return None  # already settled
            total = state.spent + spent
            new = replace(state, usd=total.usd, tokens=total.tokens, calls=state.calls + 1, at=now)
            return new.without_hold(hold).without_expired(now)

        self._change(account.key, change)

    def release(self, account: Account, hold: Hold) -> None:
        self._change(
            account.key, lambda state: state.without_hold(hold) if hold.id in state.held else None
        )

    def _change(self, key: str, change: Callable[[AccountState], AccountState | None]) -> None:
        """Replace an account with `change(state)`; None leaves it as it is."""

        def change_text(text: str | None) -> str | None:
            new = change(read_state(text, key))
            return text if new is None else to_json(new)

        update(self.store, key, change_text)

    def read(self, account: Account) -> AccountState:
        state = read_state(self.store.get(account.key), account.key)
        return state.without_expired(self.store.now())

    def forget(self, key: str) -> None:
        """Remove an account unless a running call has a reservation in it."""
        now = self.store.now()

        def change(text: str | None) -> str | None:
            return text if read_state(text, key).without_expired(now).held else None

        update(self.store, key, change)

    def list_accounts(self) -> Iterator[StoredAccount]:
        """Yield all accounts in the store, by name, period and owner; warn about unreadable ones."""
        now = self.store.now()
        for key in self.store.list_keys(KEY_PREFIX):
            parts = split_store_key(key)
            text = self.store.get(key)
            if len(parts) == 6 and text is not None:
                try:
                    state = read_state(text, key).without_expired(now)
                except StoreError as error:
                    warn("%s", error)
                    continue
                yield StoredAccount(*parts[1:], state=state, key=key)


def find_excess(account: Account, state: AccountState, needed: Amount) -> BudgetError | None:
    """Return the error for a call that does not fit into an account; None if it fits."""
    budget, taken = account.budget, state.spent + state.reserved
    limits = (
        (None if budget.usd is None else to_nano(budget.usd), taken.usd, needed.usd),
        (budget.tokens, taken.tokens, needed.tokens),
    )
    is_excess = any(
        limit is not None and (used + more > limit or used >= limit) for limit, used, more in limits
    )
    return make_budget_error(account, state, needed) if is_excess else None


def make_budget_error(account: Account, state: AccountState, needed: Amount) -> BudgetError:
    """Return an error with the amounts spent, reserved and needed, and the time when the budget renews."""
    budget = account.budget
    owner = f" of the {budget.each} {account.owner or '(none)'}" if budget.each != "all" else ""
    shown = [unit for unit in ("usd", "tokens") if getattr(budget, unit) is not None]
    allowed = Amount(to_nano(budget.usd or 0.0), budget.tokens or 0)
    renewal = {"run": "each run has its own", "scope": "each `with` has its own"}.get(
        budget.per, "it does not renew"
    )
    if account.renews is not None:
        renewal = f"it renews at {account.renews.isoformat()}"
    error = BudgetError(
        f"the budget `{budget}`{owner} allows {format_amount(allowed, shown)}: "
        f"{format_amount(state.spent, shown)} spent, {format_amount(state.reserved, shown)} reserved by "
        f"calls under way, and this call may need {format_amount(needed, shown)}; {renewal}"
    )
    error.budget, error.owner, error.period = str(budget), account.owner, account.period
    error.usd_limit, error.tokens_limit = budget.usd, budget.tokens
    error.usd_spent, error.tokens_spent = state.usd / NANO, state.tokens
    error.usd_reserved, error.tokens_reserved = state.reserved.usd / NANO, state.reserved.tokens
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
    """Return a name as used in keys: a name that is too long for a key is cut, and ends with its digest."""
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
    if text is None:
        return AccountState()
    try:
        state: AccountState = from_json(text, AccountState)
    except InvalidJsonError as error:
        raise StoreError(
            f"the text of {key} in the store is not an account of a budget ({error})"
        ) from None
    return state
