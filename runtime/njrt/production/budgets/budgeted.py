"""The layer that keeps a model's calls within budgets. It is innermost: a cached or recorded reply costs nothing.

    request ──reserve the most it can cost──> model
    reply   <──settle the actual cost──────── model

A call that does not fit raises `BudgetError` and is not made. If it is unknown whether a call was billed (a timeout,
a lost connection, a killed process), its reservation stays until `HOLD_SECONDS` after its time limit. If the store
fails, the cost is settled with the next call.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import math
import os
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from njrt.context import free_in_child
from njrt.errors import BudgetError, ModelError, ServerError, StoreError
from njrt.media import Media
from njrt.message_json import message_to_json
from njrt.messages import Reply, Request, Usage, UserMessage
from njrt.models.model import Ask, CallLister, Model
from njrt.models.prices import compute_cost
from njrt.models.scripted import Scripted
from njrt.models.wrapped import WrappedModel
from njrt.observability.logs import warn
from njrt.options.budget import Budget
from njrt.persistence.memory_store import MemoryStore
from njrt.production.budgets.ledger import NANO, Account, Amount, Hold, Ledger, to_nano
from njrt.production.budgets.period import find_period
from njrt.records import field, record, replace
from njrt.stores import encode_text

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter

HOLD_SECONDS = 60.0


@record
class OpenBudget:
    """A budget around a point of the program; `scope` is the label of its `with`, if it belongs to one."""

    budget: Budget
    scope: str = ""
    ledgers: set[Ledger] = field(default_factory=set, compare=False)
    """The ledgers that contain its account, which is removed at the end of the `with`."""
    process: int = field(default_factory=os.getpid, compare=False)

    def close(self) -> None:
        """Remove the account of a `with` that ends, in the process that started it."""
        if self.process != os.getpid():
            return
        account = Account(self.budget, "", self.scope)
        before = account.key.rpartition("/")[0].rpartition("/")[0]  # without owner and period
        for ledger in self.ledgers:
            try:
                for key in ledger.store.list_keys(f"{before}/"):
                    if key.endswith(f"/{account.period}"):
                        ledger.forget(key)
            except StoreError as error:
                warn("a budget could not be removed: %s", error)


def open_budget(budget: Budget) -> OpenBudget:
    """Open a budget for a `with`."""
    return OpenBudget(budget, uuid.uuid4().hex if budget.per == "scope" else "")


@record
class Budgeted:
    """The layer that checks budgets. `find_model` returns the model below, which determines the price and the key."""

    budgets: tuple[OpenBudget, ...]
    find_ledger: Callable[[], Ledger]
    find_model: Callable[[], Model]
    run_ledger: Ledger = field(default_factory=lambda: Ledger(MemoryStore()))
    """The accounts of per-run budgets."""

    async def answer(self, request: Request, ask: Ask) -> Reply:
        """Ask the model if all budgets allow the call's highest possible cost."""
        model = self.find_model()
        if isinstance(model, WrappedModel):
            # The wrapper's calls are counted one by one.
            return await ask(replace(request, call_layer=self.move_to))
        settle_unsettled()
        reservations = self._reserve_all(model, request)

        def reserve_again(used: Usage) -> None:
            """Reserve one more call; the previous call's reservation stays."""
            nonlocal reservations
            if request.before_call is not None:
                request.before_call(used)
            reservations = self._reserve_all(model, request)

        try:
            reply = await ask(replace(request, before_call=reserve_again))
        except ModelError as error:
            made = error.attempts if isinstance(model, CallLister) else ()
            used = made[-1].usage if made else Usage()
            if used.input + used.output:
                for reservation in reservations:
                    reservation.settle(used, model.name)
            elif not (isinstance(error, ServerError) and error.was_sent and error.status is None):
                # Otherwise the call lost its connection or took too long, so it may have cost something.
                _release_all(reservations)
            raise
        except BaseException as error:
            if not getattr(error, "was_sent", True):
                _release_all(reservations)
            raise
        for reservation in reservations:
            reservation.settle(reply.usage, model.name, reply.source)
        return reply

    def move_to(self, model: Model) -> Budgeted:
        """Return the same budgets around another model."""
        return replace(self, find_model=lambda: model)

    def _reserve_all(self, model: Model, request: Request) -> list[CallReservation]:
        accounts = self._list_accounts(model)
        with_price = any(account.budget.usd is not None for _, account in accounts)
        estimate = estimate_call(model, request, with_price)
        made: list[CallReservation] = []
        try:
            for ledger, account in accounts:
                until = ledger.store.now() + request.timeout + HOLD_SECONDS
                amount = self._measure(account, estimate, model)
                reservation = CallReservation(
                    ledger, account, Hold(uuid.uuid4().hex[:16], amount, until)
                )
                try:
                    ledger.reserve(account, reservation.hold)
                except BudgetError:
                    count(account, {"refusals": 1})
                    raise
                made.append(reservation)
        except BaseException as error:
            _release_all(made)
            if isinstance(error, BudgetError):
                error.place = error.place or request.place or None
            raise
        return made

    def _list_accounts(self, model: Model) -> list[tuple[Ledger, Account]]:
        """Return a call's accounts; budgets that share an account count once, with the lower limits."""
        found: list[tuple[Ledger, Account]] = []
        for opened in self.budgets:
            ledger = self.run_ledger if opened.budget.per == "run" else self.find_ledger()
            if opened.scope:
                opened.ledgers.add(ledger)
            owner = digest_key(model) if opened.budget.each == "key" else ""
            period = find_period(opened.budget, ledger.store.now(), opened.scope or "run")
            found.append((ledger, Account(opened.budget, owner, period.label, period.renews)))
        by_key = sorted(found, key=lambda pair: pair[1].key)
        groups = groupby(by_key, key=lambda pair: pair[1].key)
        return [_merge_accounts(list(group)) for _, group in groups]

    def _measure(self, account: Account, estimate: Usage, model: Model) -> Amount:
        budget = account.budget
        if estimate.usd is None and budget.usd is not None and budget.unpriced == "refuse":
            error = BudgetError(
                f"the budget `{budget}` limits dollars, but no price is known for the model {model.name}; "
                "upgrade genai-prices, or limit tokens and add unpriced=tokens"
            )
            error.budget, error.owner, error.usd_limit = str(budget), account.owner, budget.usd
            count(account, {"refusals": 1})
            raise error
        return Amount(to_nano(estimate.usd or 0.0), estimate.input + estimate.output)


@record
class CallReservation:
    """The reservation of one call in one account."""

    ledger: Ledger
    account: Account
    hold: Hold

    def settle(self, usage: Usage, model: str, source: str = "model") -> None:
        if source == "recording":  # it has been counted before
            self.release()
            return
        spent = measure_spent(usage, self.hold.amount, source == "script")
        self.book(spent)
        amounts = {"usd": spent.usd / NANO, "tokens": spent.tokens, "calls": 1}
        count(self.account, amounts, **{"gen_ai.request.model": model})

    def book(self, spent: Amount) -> bool:
        """Count a cost in the store, or with the next call if the store fails; return whether it was counted."""
        try:
            self.ledger.settle(self.account, self.hold, spent)
        except StoreError as error:
            warn("the cost of a call is counted with the next call: %s", error)
            with _unsettled_lock:
                _unsettled.append((self, spent))
            return False
        return True

    def release(self) -> None:
        """Drop the reservation and count nothing."""
        try:
            self.ledger.release(self.account, self.hold)
        except StoreError as error:
            warn("a reservation stays until its time is over: %s", error)


def measure_spent(usage: Usage, most: Amount, is_script: bool = False) -> Amount:
    """Return a call's cost, or the reserved amount `most` if the counts are missing or impossible."""
    tokens = usage.input + usage.output
    counts = (usage.input, usage.output, usage.usd or 0.0)
    if not all(0 <= each < math.inf for each in counts):
        return most
    if not tokens and not usage.usd:
        return Amount() if is_script else most
    return Amount(most.usd if usage.usd is None else to_nano(usage.usd), math.ceil(tokens))


_unsettled: list[tuple[CallReservation, Amount]] = []
"""Calls' costs that the store does not know yet."""
_unsettled_lock = free_in_child(threading.RLock())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unsettled.clear)  # they are the parent's


def settle_unsettled() -> None:
    """Settle calls that could not be settled before."""
    with _unsettled_lock:
        items = _unsettled[:]
        _unsettled.clear()
    for number, (reservation, spent) in enumerate(items):
        if not reservation.book(spent):
            with _unsettled_lock:
                _unsettled.extend(items[number + 1 :])
            return


atexit.register(settle_unsettled)


def _release_all(reservations: Iterable[CallReservation]) -> None:
    for reservation in reservations:
        reservation.release()


def _merge_accounts(pairs: list[tuple[Ledger, Account]]) -> tuple[Ledger, Account]:
    ledger, account = pairs[0]
    budgets = [other.budget for _, other in pairs]
    merged = replace(
        account.budget,
        usd=min((budget.usd for budget in budgets if budget.usd is not None), default=None),
        tokens=min((each.tokens for each in budgets if each.tokens is not None), default=None),
        unpriced="refuse" if any(budget.unpriced == "refuse" for budget in budgets) else "tokens",
    )
    return ledger, replace(account, budget=merged)


def digest_key(model: Model) -> str:
    """Return a digest of the API key that a model uses; empty without a key."""
    key = getattr(model, "_key", None)
    return hashlib.sha256(key.encode()).hexdigest()[:12] if isinstance(key, str) else ""


# ── OpenTelemetry metrics for budgets ──────────────────────────────────────────────────────────────


_UNITS = {"usd": "{USD}", "tokens": "{token}", "calls": "{call}", "refusals": "{call}"}


def count(account: Account, amounts: Mapping[str, float], **attributes: str) -> None:
    """Count an account's amounts if the program has imported OpenTelemetry."""
    api = sys.modules.get("opentelemetry.metrics")
    if api is None:
        return
    budget = account.budget
    attributes |= {"njrt.budget.name": budget.name, "njrt.budget.per": budget.per}
    attributes |= {"njrt.budget.owner": account.owner}
    for name, value in amounts.items():
        _get_counter(api.get_meter("njrt"), name).add(value, attributes)


@lru_cache(maxsize=16)
def _get_counter(meter: Any, name: str) -> Counter:
    counter: Counter = meter.create_counter(f"njrt.budget.{name}", unit=_UNITS[name])
    return counter


# ── the most that a call can cost, before it is made ─────────────────────────────────────────────


EXTRA_TOKENS = 512
"""Tokens of a prompt that belong to no text, but to the vendor's own format."""

TOKENS_PER_MESSAGE = 16

IMAGE_TOKENS = 50_000
"""More than any vendor counts for one image."""

LINKED_FILE_TOKENS = 200_000
"""Tokens to reserve for a file that the vendor downloads, which may have more."""


def estimate_call(model: Model, request: Request, with_price: bool = True) -> Usage:
    """Return the most tokens that a call can use, and their cost in US dollars; None if the price is not known.

    A scripted model's cost is not known in advance, and counts as 0. `with_price=False` avoids loading price data.
    """
    texts: list[Any] = [[tool.name, tool.description, tool.parameters] for tool in request.tools]
    texts += [message_to_json(message) for message in request.messages]
    texts += [request.schema] if request.schema is not None else []
    shown = [request.system, *(json.dumps(part, ensure_ascii=False) for part in texts)]
    prompt = sum(len(encode_text(text)) for text in shown)
    prompt += sum(map(count_file_tokens, list_files(request)))
    prompt += EXTRA_TOKENS + TOKENS_PER_MESSAGE * len(request.messages)
    usage = Usage(prompt, request.max_reply_tokens + count_thinking_tokens(model.name))
    if isinstance(model, Scripted) or not with_price:
        return replace(usage, usd=0.0)
    costs = [compute_cost(model.name, usage, writes) for writes in (prompt, 0)]
    return replace(usage, usd=max((cost for cost in costs if cost is not None), default=None))


def list_files(request: Request) -> Iterator[Media]:
    """Yield the files that are shown with a request."""
    for message in request.messages:
        if isinstance(message, UserMessage):
            yield from (attachment.media for attachment in message.attachments)


def count_file_tokens(media: Media) -> int:
    """Return the most tokens that a file can have: a constant for images and linked files, else one per byte."""
    if media.kind == "image":
        return IMAGE_TOKENS
    return len(media.data) or LINKED_FILE_TOKENS


def count_thinking_tokens(name: str) -> int:
    """Return how many tokens a model may use for thinking, in addition to its reply."""
    from njrt.models.anthropic import NON_THINKING_PREFIXES
    from njrt.models.openai import find_tools_of_thinking_model
    from njrt.models.remote import THINKING_TOKENS

    provider, _, model = name.partition("/")
    thinks = (provider == "openai" and find_tools_of_thinking_model(model)) or (
        provider == "anthropic" and not model.startswith(NON_THINKING_PREFIXES)
    )
    return THINKING_TOKENS if thinks else 0
