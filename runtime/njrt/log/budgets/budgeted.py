"""The layer that keeps a model's calls within budgets, below the cache and recordings.

    request ──is a budget spent?──> model
    reply   <──count its cost────── model

A call is made while every budget has something left, so the last call before the limit may exceed
it, and so may the others that are then under way. A call without a reply costs nothing, unless its
error has its usage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from njrt.data.options.budget import Budget
from njrt.data.records import record, replace
from njrt.errors import BudgetError, NaturalError
from njrt.log.budgets.ledger import Account, Spending, find_accounts, measure_spending
from njrt.messages import CallAttempt, Reply, Request, Usage
from njrt.models.model import Ask
from njrt.stores import Store


@record
class Budgeted:
    """The layer that checks budgets."""

    budgets: tuple[Budget, ...]
    find_store: Callable[[], Store]

    async def answer(self, request: Request, ask: Ask) -> Reply:
        """Ask the model if no budget is spent, and count what that has cost."""
        store = self.find_store()
        accounts = find_accounts(self.budgets, store.now())

        def check_next(used: Usage) -> float | None:
            check_accounts(store, accounts, used)
            return request.before_call and request.before_call(used)

        check_accounts(store, accounts, Usage())
        try:
            reply = await ask(replace(request, before_call=check_next))
        except NaturalError as error:
            count_attempts(store, accounts, error.attempts)
            raise
        if reply.source in ("model", "script"):
            made = reply.attempts or (CallAttempt(reply.model, "used", reply.usage),)
            count_attempts(store, accounts, made)
        if reply.source == "model":
            self._check_known(reply)
        return reply

    def _check_known(self, reply: Reply) -> None:
        """Raise BudgetError if nobody knows how much of a budget a reply has cost."""
        model, usage = reply.model or "(unnamed)", reply.usage
        unknown = f"no price is known for the model {model}; upgrade genai-prices, or limit tokens"
        if is_uncounted := not usage.input + usage.output:
            unknown = f"the server of {model} reported no usage; limit calls by `max_calls`"
        for it in self.budgets:
            is_unpriced = it.usd is not None and usage.usd is None
            if is_unpriced or (it.tokens is not None and is_uncounted):
                raise BudgetError(f"the budget `{it}` cannot count this call: {unknown}")


def check_accounts(store: Store, accounts: Iterable[Account], under_way: Usage) -> None:
    """Raise BudgetError if a budget is spent, together with the calls that are `under_way`."""
    for account in accounts:
        account.check(store, measure_spending(under_way))


def count_attempts(
    store: Store, accounts: Iterable[Account], attempts: Iterable[CallAttempt]
) -> None:
    """Add calls to the accounts, except those that have certainly used nothing."""
    used = (it.usage for it in attempts if it.usage != Usage(usd=0.0))
    spent = sum((measure_spending(usage, calls=1) for usage in used), Spending())
    by_key = {account.key: account for account in accounts}  # two budgets may be one account
    for account in by_key.values() if spent != Spending() else ():
        account.add(store, spent)
