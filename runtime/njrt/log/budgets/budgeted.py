"""The layer that keeps a model's calls within budgets, below the cache and recordings.

    request ──count the most that it can cost──> model
    reply   <──correct that to its cost───────── model

A call that does not fit raises `BudgetError` and is not made. If it is unknown whether a call was
billed (a timeout, a lost connection, a killed process, a store that fails after the call), the most
that it could cost stays counted.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable

from njrt.data.logs import warn
from njrt.data.message_json import message_to_json
from njrt.data.options.budget import Budget
from njrt.data.records import record, replace
from njrt.errors import BudgetError, ModelError, ServerError, StoreError
from njrt.log.budgets.ledger import NANO, Spending, count, find_accounts
from njrt.messages import Reply, Request, Usage, UserMessage
from njrt.models.model import Ask, CallLister, Model
from njrt.models.prices import compute_cost
from njrt.models.retry_and_fallback import FallbackModel
from njrt.stores import Store, encode_text
from njrt.testing import Scripted


@record
class Budgeted:
    """The layer that checks budgets. `find_model` returns the model below, which has the price."""

    budgets: tuple[Budget, ...]
    find_store: Callable[[], Store]
    find_model: Callable[[], Model]

    async def answer(self, request: Request, ask: Ask) -> Reply:
        """Ask the model if all budgets allow the most that the call can cost."""
        model = self.find_model()
        if isinstance(model, FallbackModel):
            # The wrapper's calls are counted one by one.
            return await ask(replace(request, call_layer=self.move_to))
        made = self._charge(model, request)

        def charge_again(used: Usage) -> None:
            """Count one more call; the previous one stays counted."""
            nonlocal made
            if request.before_call is not None:
                request.before_call(used)
            made = self._charge(model, request)

        try:
            reply = await ask(replace(request, before_call=charge_again))
        except ModelError as error:
            calls = error.attempts if isinstance(model, CallLister) else ()
            if calls and calls[-1].outcome == "unusable":  # a whole reply, with its usage
                made.settle(calls[-1].usage)
            elif not (isinstance(error, ServerError) and error.was_sent and error.status is None):
                # Otherwise it lost its connection or took too long, so it may have been billed.
                made.settle(None)
            raise
        except BaseException as error:
            if not getattr(error, "was_sent", True):
                made.settle(None)
            raise
        made.settle(reply.usage, reply.source)
        return reply

    def move_to(self, model: Model) -> Budgeted:
        """Return the same budgets around another model."""
        return replace(self, find_model=lambda: model)

    def _charge(self, model: Model, request: Request) -> Charge:
        with_price = any(budget.usd is not None for budget in self.budgets)
        estimate = estimate_call(model, request, with_price)
        charged: list[str] = []
        try:
            if estimate.usd is None:
                raise BudgetError(
                    "a budget limits dollars, but no price is known for the model "
                    f"{model.name}; upgrade genai-prices, or limit tokens"
                )
            most = Spending(round(estimate.usd * NANO), estimate.input + estimate.output, 1)
            made = Charge(self.find_store(), charged, most)
            for key, budgets in find_accounts(self.budgets, made.store.now()).items():
                try:
                    count(made.store, key, most, budgets)
                except BaseException:
                    made.settle(None)
                    raise
                charged.append(key)
        except BudgetError as error:
            error.place = error.place or request.place or None
            raise
        return made


@record
class Charge:
    """The most that one call can cost, counted in the accounts with some keys."""

    store: Store
    keys: list[str]
    most: Spending

    def settle(self, usage: Usage | None, source: str = "model") -> None:
        """Correct the accounts to the cost; None and recorded replies cost nothing."""
        spent = Spending()
        if usage is not None and source != "recording":  # which has been counted before
            spent = measure_spending(usage, self.most, source == "script")
        for key in self.keys:
            try:
                count(self.store, key, spent - self.most)
            except StoreError as error:
                warn("the most that a call could cost stays counted: %s", error)


def measure_spending(usage: Usage, most: Spending, is_script: bool = False) -> Spending:
    """Return a call's cost; the most that it could cost if counts are missing or impossible."""
    tokens = usage.input + usage.output
    counts = (usage.input, usage.output, usage.usd or 0.0)
    if not all(0 <= each < math.inf for each in counts):
        return most
    if not tokens and not usage.usd:
        return Spending(calls=1) if is_script else most
    return Spending(
        most.usd if usage.usd is None else round(usage.usd * NANO), math.ceil(tokens), 1
    )


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
    tools = [[tool.name, tool.description, tool.parameters] for tool in request.tools]
    messages = list(map(message_to_json, request.messages))
    shown = json.dumps([request.system, tools, messages, request.schema], ensure_ascii=False)
    prompt = len(encode_text(shown))
    prompt += EXTRA_TOKENS + TOKENS_PER_MESSAGE * len(request.messages)
    for message in request.messages:
        for file in message.attachments if isinstance(message, UserMessage) else ():
            is_image, size = file.media.kind == "image", len(file.media.data)
            prompt += IMAGE_TOKENS if is_image else size or LINKED_FILE_TOKENS
    usage = Usage(prompt, request.max_reply_tokens + getattr(model, "thinking_tokens", 0))
    if isinstance(model, Scripted) or not with_price:
        return replace(usage, usd=0.0)
    if getattr(model, "is_own_server", False):  # the vendor's price is not that of this server
        return usage
    costs = [compute_cost(model.name, usage, writes) for writes in (prompt, 0)]
    return replace(usage, usd=max((cost for cost in costs if cost is not None), default=None))
