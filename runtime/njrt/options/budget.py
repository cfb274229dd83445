"""Budgets and their text form.

Budget(usd=5.0, per="day", each="key")           "usd=5 per=day each=key"
parse_budgets("usd=5 per=day; tokens=2000000 per=month name=research")
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, get_args

from njrt.errors import ConfigurationError
from njrt.options.numbers import describe_number, is_limit
from njrt.options.removed import find_removed

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

BudgetPeriod = Literal["run", "scope", "hour", "day", "month", "total"]
BudgetOwner = Literal["all", "key"]
UnpricedRule = Literal["refuse", "tokens"]

_MOST = 10**12
"""The largest number of tokens or dollars."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much the model calls in a period may cost; a limit of None counts without limiting.

    Budgets with the same `name`, `per`, `each` and `zone` are one budget, whichever of the store's
    programs use them; if their limits differ, each program uses its own.
    """

    usd: float | None = None
    """US dollars."""
    tokens: int | None = None
    """Tokens, input and output together."""
    per: BudgetPeriod = "scope"
    """`run`: a run of a block; `scope`: the `with` and processes forked in it; `total`: forever."""
    each: BudgetOwner = "all"
    """Whether each API key has the whole budget for itself."""
    name: str = "all"
    unpriced: UnpricedRule = "refuse"
    """Without a known price: refuse the call, or count its tokens (needs a token limit)."""
    zone: str = "UTC"
    """The time zone of hours, days and months, such as `Europe/Berlin`."""

    def __post_init__(self) -> None:
        if problem := next(self._find_problems(), None):
            raise ConfigurationError(f"the budget {self}: {problem}")

    def __str__(self) -> str:
        return format_budget(self)

    def _find_problems(self) -> Iterator[str]:
        for name, value, kinds in (
            ("usd", self.usd, (int, float)),
            ("tokens", self.tokens, (int,)),
        ):
            if value is not None and (isinstance(value, bool) or not isinstance(value, kinds)):
                yield f"`{name}` must be a number, not {value!r}"
            elif value is not None and (not is_limit(value, float, _MOST) or value == math.inf):
                yield f"`{name}` must be a number from 0, not {describe_number(value, _MOST)}"
        for name, word, choices in (
            ("per", self.per, get_args(BudgetPeriod)),
            ("each", self.each, get_args(BudgetOwner)),
            ("unpriced", self.unpriced, get_args(UnpricedRule)),
        ):
            if (name, word) == ("each", "tenant"):
                yield find_removed("tenant") or ""
            elif word not in choices:
                yield f"`{name}` must be one of {', '.join(choices)}, not {word!r}"
        if not isinstance(self.name, str) or not 0 < len(self.name) <= 100:
            yield "`name` must be a text of 1 to 100 characters"
        if self.unpriced == "tokens" and self.tokens is None:
            yield "`unpriced=tokens` needs a limit of tokens"
        try:
            read_zone(self.zone)
        except (LookupError, ValueError, OSError, TypeError):
            yield f"there is no time zone {self.zone!r}; write one such as Europe/Berlin"


def read_zone(name: str) -> ZoneInfo | None:
    """Return the time zone with this name; None for UTC, which needs no time zone data."""
    if name == "UTC":
        return None
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def find_budget_problem(text: str) -> str | None:
    """Describe the problem with a budget in an option; None if it is valid.

    Time zones are checked when the program runs, because the compiling machine's data may differ.
    """
    try:
        parse_budgets(_ZONE.sub("", text))
    except ConfigurationError as error:
        return str(error)
    return None


_ZONE = re.compile(r"(?<!\S)zone=[^\s;]+")


def parse_budgets(text: str, in_code: bool = False) -> tuple[Budget, ...]:
    """Read budgets as in `NJC_BUDGET`: `NAME=VALUE` between spaces, budgets between semicolons.

    `in_code` is True for a `with` statement's budget, which may have `per=scope`.
    """
    return tuple(
        _parse_budget(part.strip(), text, in_code) for part in text.split(";") if part.strip()
    )


def _parse_budget(part: str, text: str, in_code: bool) -> Budget:
    values: dict[str, Any] = {}
    names = [field.name for field in fields(Budget)]
    for word in part.split():
        name, equals, value = word.partition("=")
        if not equals or name not in names or name in values:
            raise ConfigurationError(
                f"the budget {text!r}: {word!r} is not one NAME=VALUE with NAME one of "
                f"{', '.join(names)}, such as `usd=0.5 per=run`"
            )
        values[name] = value
    try:
        if "usd" in values:
            values["usd"] = float(values["usd"].removeprefix("$"))
        if "tokens" in values:
            values["tokens"] = int(values["tokens"])
    except ValueError:
        raise ConfigurationError(
            f"the budget {text!r}: usd and tokens must be numbers, such as usd=2.5 tokens=1_000_000"
        ) from None
    if not in_code and values.get("per", "scope") == "scope":
        raise ConfigurationError(
            f"the budget {text!r}: write per=run, hour, day, month or total; per=scope is for "
            "njrt.using(budget=...)"
        )
    return Budget(**values)


def format_budget(budget: Budget) -> str:
    """Return a budget in the form that `parse_budgets` reads, without default values."""
    shown = []
    for field in fields(Budget):
        value = getattr(budget, field.name)
        if field.name == "per" or value != field.default:
            written = (
                f"{value:g}"
                if isinstance(value, float)
                else value
                if isinstance(value, str)
                else describe_number(value, _MOST)
            )
            shown.append(f"{field.name}={written}")
    return " ".join(shown)
