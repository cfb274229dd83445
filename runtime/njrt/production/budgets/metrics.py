"""OpenTelemetry metrics of budgets, if the program uses OpenTelemetry.

    njrt.budget.usd, njrt.budget.tokens, njrt.budget.calls     counters: what was spent
    njrt.budget.refusals                                       counter: calls that did not fit

Each has the attributes `njrt.budget.name`, `njrt.budget.per`, `njrt.budget.owner` (the tenant, or the digest of the key)
and, where a call was made, `gen_ai.request.model`. OpenTelemetry is not imported here: a program that exports metrics
has imported and configured it.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from njrt.production.budgets.ledger import NANO, Account, Amount

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter

_UNITS = {"usd": "{USD}", "tokens": "{token}", "calls": "{call}", "refusals": "{call}"}


def count_spending(account: Account, spent: Amount, model: str) -> None:
    """Count what one call has cost."""
    attributes = make_attributes(account) | {"gen_ai.request.model": model}
    for name, value in (("usd", spent.usd / NANO), ("tokens", spent.tokens), ("calls", 1)):
        _add(name, value, attributes)


def count_refusal(account: Account) -> None:
    """Count one call that was not made."""
    _add("refusals", 1, make_attributes(account))


def make_attributes(account: Account) -> dict[str, str]:
    """Return the attributes of an account."""
    return {
        "njrt.budget.name": account.budget.name,
        "njrt.budget.per": account.budget.per,
        "njrt.budget.owner": account.owner,
    }


def _add(name: str, value: float, attributes: dict[str, str]) -> None:
    api = sys.modules.get("opentelemetry.metrics")
    if api is not None:
        _get_counter(api.get_meter("njrt"), name).add(value, attributes)


@lru_cache(maxsize=16)
def _get_counter(meter: Any, name: str) -> Counter:
    counter: Counter = meter.create_counter(f"njrt.budget.{name}", unit=_UNITS[name])
    return counter
