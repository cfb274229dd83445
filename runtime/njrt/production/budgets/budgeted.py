"""The layer that keeps a model's calls within budgets, below the cache and recordings.

    request ──count the most that it can cost──> model
    reply   <──correct that to its cost───────── model

A call that does not fit raises `BudgetError` and is not made. If it is unknown whether a call was
billed (a timeout, a lost connection, a killed process, a store that fails after the call), the most
that it could cost stays counted.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from njrt.errors import BudgetError, ModelError, ServerError, StoreError
from njrt.logs import warn
from njrt.media import Media
from njrt.message_json import message_to_json
from njrt.messages import Reply, Request, Usage, UserMessage
from njrt.models.model import Ask, CallLister, Model
from njrt.models.prices import compute_cost
from njrt.models.retry_and_fallback import FallbackModel
from njrt.models.scripted import Scripted
from njrt.options.budget import Budget
from njrt.persistence.sqlite_store import MemoryStore
from njrt.production.budgets.ledger import NANO, Account, Amount, correct, spend, to_nano
from njrt.production.budgets.period import find_period
from njrt.records import field, record, replace
from njrt.stores import Store, encode_text

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter


@record
class OpenBudget:
    """A budget around a point of the program; `scope` is the label of its `with`, if it has one."""

    budget: Budget
    scope: str = ""
    accounts: dict[str, Store] = field(default_factory=dict, compare=False)
    """The keys of its accounts, which are removed at the end of the `with`, and their stores."""
    process: int = field(default_factory=os.getpid, compare=False)

    def close(self) -> None:
        """Remove the accounts of a `with` that ends, in the process that started it."""
        if self.process != os.getpid():
            return
        for key, store in list(self.accounts.items()):  # threads may still use it
            try:
                store.clear(key)
            except StoreError as error:
                warn("a budget could not be removed: %s", error)


def open_budget(budget: Budget) -> OpenBudget:
    """Open a budget for a `with`."""
    return OpenBudget(budget, uuid.uuid4().hex if budget.per == "scope" else "")


@record
class Budgeted:
    """The layer that checks budgets. `find_model` returns the model below, which has the price."""

    budgets: tuple[OpenBudget, ...]
    find_store: Callable[[], Store]
    find_model: Callable[[], Model]
    run_store: Store = field(default_factory=MemoryStore)
    """The accounts of per-run budgets."""

    async def answer(self, request: Request, ask: Ask) -> Reply:
        """Ask the model if all budgets allow the most that the call can cost."""
        model = self.find_model()
        if isinstance(model, FallbackModel):
            # The wrapper's calls are counted one by one.
            return await ask(replace(request, call_layer=self.move_to))
        charges = self._charge_all(model, request)

        def charge_again(used: Usage) -> None:
            """Count one more call; the previous one stays counted."""
            nonlocal charges
            if request.before_call is not None:
                request.before_call(used)
            charges = self._charge_all(model, request)

        try:
            reply = await ask(replace(request, before_call=charge_again))
        except ModelError as error:
            made = error.attempts if isinstance(model, CallLister) else ()
            if made and made[-1].outcome == "unusable":  # a whole reply, with its usage
                for charge in charges:
                    charge.settle(made[-1].usage, model.name)
            elif not (isinstance(error, ServerError) and error.was_sent and error.status is None):
                # Otherwise it lost its connection or took too long, so it may have been billed.
                _take_back(charges)
            raise
        except BaseException as error:
            if not getattr(error, "was_sent", True):
                _take_back(charges)
            raise
        for charge in charges:
            charge.settle(reply.usage, model.name, reply.source)
        return reply

    def move_to(self, model: Model) -> Budgeted:
        """Return the same budgets around another model."""
        return replace(self, find_model=lambda: model)

    def _charge_all(self, model: Model, request: Request) -> list[Charge]:
        accounts = self._list_accounts(model)
        with_price = any(account.budget.usd is not None for _, account in accounts)
        estimate = estimate_call(model, request, with_price)
        made: list[Charge] = []
        try:
            for store, account in accounts:
                most = self._measure(account, estimate, model)
                spend(store, account, most)
                made.append(Charge(store, account, most))
        except BaseException as error:
            _take_back(made)
            if isinstance(error, BudgetError):
                error.place = error.place or request.place or None
                count(account, {"refusals": 1})
            raise
        return made

    def _list_accounts(self, model: Model) -> list[tuple[Store, Account]]:
        """Return a call's accounts; budgets of one account count once, with the lower limits."""
        found: dict[str, tuple[Store, Account]] = {}
        for opened in self.budgets:
            store = self.run_store if opened.budget.per == "run" else self.find_store()
            owner = digest_key(model) if opened.budget.each == "key" else ""
            period = find_period(opened.budget, store.now(), opened.scope or "run")
            account = Account(opened.budget, owner, period.label, period.renews)
            if opened.scope:
                opened.accounts[account.key] = store
            if (same := found.get(account.key)) is not None:
                account = replace(account, budget=_merge(account.budget, same[1].budget))
            found[account.key] = store, account
        return [found[key] for key in sorted(found)]

    def _measure(self, account: Account, estimate: Usage, model: Model) -> Amount:
        budget = account.budget
        if estimate.usd is None and budget.usd is not None and budget.unpriced == "refuse":
            error = BudgetError(
                f"the budget `{budget}` limits dollars, but no price is known for the model "
                f"{model.name}; upgrade genai-prices, or limit tokens and add unpriced=tokens"
            )
            error.budget, error.owner, error.usd_limit = str(budget), account.owner, budget.usd
            raise error
        return Amount(to_nano(estimate.usd or 0.0), estimate.input + estimate.output, 1)


@record
class Charge:
    """The most that one call can cost, counted in one account."""

    store: Store
    account: Account
    most: Amount

    def settle(self, usage: Usage, model: str, source: str = "model") -> None:
        """Correct the account to what the call has cost."""
        if source == "recording":  # it has been counted before
            self.take_back()
            return
        spent = measure_spent(usage, self.most, source == "script")
        self._correct(spent - self.most)
        amounts = {"usd": spent.usd / NANO, "tokens": spent.tokens, "calls": 1}
        count(self.account, amounts, **{"gen_ai.request.model": model})

    def take_back(self) -> None:
        """Count nothing for the call."""
        self._correct(Amount() - self.most)

    def _correct(self, difference: Amount) -> None:
        try:
            correct(self.store, self.account, difference)
        except StoreError as error:
            warn("the most that a call could cost stays counted: %s", error)


def _take_back(charges: list[Charge]) -> None:
    for charge in charges:
        charge.take_back()


def measure_spent(usage: Usage, most: Amount, is_script: bool = False) -> Amount:
    """Return a call's cost; the most that it could cost if counts are missing or impossible."""
    tokens = usage.input + usage.output
    counts = (usage.input, usage.output, usage.usd or 0.0)
    if not all(0 <= each < math.inf for each in counts):
        return most
    if not tokens and not usage.usd:
        return Amount(calls=1) if is_script else most
    return Amount(most.usd if usage.usd is None else to_nano(usage.usd), math.ceil(tokens), 1)


def _merge(one: Budget, other: Budget) -> Budget:
    def pick(first: Any, second: Any) -> Any:
        return min((each for each in (first, second) if each is not None), default=None)

    return replace(
        one,
        usd=pick(one.usd, other.usd),
        tokens=pick(one.tokens, other.tokens),
        unpriced="refuse" if "refuse" in (one.unpriced, other.unpriced) else "tokens",
    )


def digest_key(model: Model) -> str:
    """Return a digest of the API key that a model uses; empty without a key."""
    key = getattr(model, "_key", None)
    return hashlib.sha256(key.encode()).hexdigest()[:12] if isinstance(key, str) else ""


# ── OpenTelemetry metrics for budgets ────────────────────────────────────────────────────────────


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
    """Return the most tokens that a call can use, and their cost; None if no price is known.

    A scripted model's cost is not known in advance, and counts as 0. `with_price=False` avoids
    loading price data.
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
    """Return the most tokens that a file can have: one for each byte, or a constant."""
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
