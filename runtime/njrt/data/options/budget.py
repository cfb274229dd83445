"""Budgets and their text form.

Budget(usd=5.0, per="day", name="research")      "usd=5 per=day name=research"
parse_budgets("usd=5 per=day; tokens=2000000 per=month name=research")
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from njrt.data.options.numbers import describe_number, is_limit
from njrt.data.options.removed import BUDGET_FIELDS
from njrt.errors import ConfigurationError

BudgetPeriod = Literal["hour", "day", "month", "total"]

_MOST = 10**12
"""The largest number of tokens or dollars."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much the model calls in a period may cost; a limit of None counts without limiting.

    Budgets with the same `name` and `per` are one budget, whichever of the store's programs use
    them; if their limits differ, each program uses its own.
    """

    usd: float | None = None
    """US dollars."""
    tokens: int | None = None
    """Tokens, input and output together."""
    per: BudgetPeriod | None = None
    """`hour`, `day` and `month` in UTC; `total`: forever. It must be given."""
    name: str = "all"

    def __post_init__(self) -> None:
        for name, kind in (("usd", float), ("tokens", int)):
            value = getattr(self, name)
            if value is not None and (not is_limit(value, kind, _MOST) or value == math.inf):
                raise ConfigurationError(
                    f"Budget: `{name}` must be a number from 0, not {describe_number(value, _MOST)}"
                )
        if self.per not in get_args(BudgetPeriod):
            raise ConfigurationError(
                f"Budget: `per` must be one of {', '.join(get_args(BudgetPeriod))}, not "
                f"{self.per!r}; limit a `with` by njrt.limit(usd=...), a run by the options "
                "max_usd and max_tokens"
            )
        if not isinstance(self.name, str) or not self.name:
            raise ConfigurationError("Budget: `name` must be a text")

    def __str__(self) -> str:
        """Return the form that `parse_budgets` reads, without default values."""
        found = [(field, getattr(self, field.name)) for field in fields(self)]
        return " ".join(
            f"{field.name}={value!s}".removesuffix(".0" if isinstance(value, float) else "")
            for field, value in found
            if value != field.default
        )


def parse_budgets(text: str) -> tuple[Budget, ...]:
    """Read budgets as in `NJC_BUDGET`: `NAME=VALUE` between spaces, budgets between semicolons."""
    try:
        return tuple(_parse_budget(part) for part in text.split(";") if part.strip())
    except (ConfigurationError, ValueError) as error:
        problem = str(error).removeprefix("Budget: ")
        raise ConfigurationError(f"the budget {text!r}: {problem}") from None


_KINDS: dict[str, Callable[[str], Any]] = {
    "usd": lambda text: float(text.removeprefix("$")),
    "tokens": int,
    "per": str,
    "name": str,
}


def _parse_budget(part: str) -> Budget:
    values: dict[str, Any] = {}
    for word in part.split():
        name, equals, value = word.partition("=")
        if name in BUDGET_FIELDS:
            raise ValueError(BUDGET_FIELDS[name])
        if not equals or name not in _KINDS or name in values:
            raise ValueError(
                f"{word!r} is not one NAME=VALUE with NAME one of {', '.join(_KINDS)}, such as "
                "`usd=5 per=day`"
            )
        try:
            values[name] = _KINDS[name](value)
        except ValueError:
            numbers = "usd and tokens must be numbers, such as usd=2.5 tokens=10_000"
            raise ValueError(numbers) from None
    return Budget(**values)
