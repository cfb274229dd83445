"""Budgets, their text form, and their periods.

Budget(usd=5.0, per="day", each="tenant")           "usd=5 per=day each=tenant"
parse_budgets("usd=5 per=day; tokens=2000000 per=month name=research")

find_period(budget, now)      Period("2026-03-01", renews=2026-03-02 00:00 UTC)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Literal, get_args

from njrt.errors import ConfigurationError

BudgetPeriod = Literal["run", "scope", "hour", "day", "month", "total"]
BudgetOwner = Literal["all", "tenant", "key"]
UnpricedRule = Literal["refuse", "tokens"]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much the model calls of a period may cost; a limit of None counts without limiting.

    Budgets with the same `name`, `per`, `each` and `zone` are one budget, whichever programs on the store use them;
    if their limits differ, each program uses its own.
    """

    usd: float | None = None
    """US dollars."""
    tokens: int | None = None
    """Tokens, in and out together."""
    per: BudgetPeriod = "scope"
    """`run`: one run of a block; `scope`: the `with njrt.using(...)`, with the processes that it forks; `total`: ever."""
    each: BudgetOwner = "all"
    """Whether each tenant (`njrt.using(tenant=...)`) or each API key has the whole budget for itself."""
    name: str = "all"
    unpriced: UnpricedRule = "refuse"
    """A model without a known price: refuse the call, or count its tokens only (needs a limit of tokens)."""
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
            elif value is not None and not 0 <= value < math.inf:
                yield f"`{name}` must be a number from 0, not {value!r}"
        for name, word, choices in (
            ("per", self.per, get_args(BudgetPeriod)),
            ("each", self.each, get_args(BudgetOwner)),
            ("unpriced", self.unpriced, get_args(UnpricedRule)),
        ):
            if word not in choices:
                yield f"`{name}` must be one of {', '.join(choices)}, not {word!r}"
        if not isinstance(self.name, str) or not 0 < len(self.name) <= 100:
            yield "`name` must be a text of 1 to 100 characters"
        if self.unpriced == "tokens" and self.tokens is None:
            yield "`unpriced=tokens` needs a limit of tokens"
        try:
            read_zone(self.zone)
        except (LookupError, ValueError, OSError, TypeError):
            yield f"there is no time zone {self.zone!r}; write one such as Europe/Berlin"


@dataclass(frozen=True, slots=True)
class Period:
    """The period of a call: its label, and the start of the next one, if any."""

    label: str
    renews: datetime | None = None


def find_period(budget: Budget, now: float, scope: str = "") -> Period:
    """Return the period at `now`, in seconds since the epoch; `scope` is the label of a run or a `with`."""
    if budget.per in ("run", "scope"):
        return Period(scope)
    if budget.per == "total":
        return Period("total")
    local = datetime.fromtimestamp(now, UTC).astimezone(read_zone(budget.zone))
    where = "" if budget.zone == "UTC" else f"@{budget.zone}"
    if budget.per == "hour":
        begin = local.replace(minute=0, second=0, microsecond=0)
        following = (begin.astimezone(UTC) + timedelta(hours=1)).astimezone(begin.tzinfo)
        return Period(f"{begin:%Y-%m-%dT%H%z}{where}", following)
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if budget.per == "day":
        following = midnight + timedelta(days=1)
        return Period(f"{midnight:%Y-%m-%d}{where}", following)
    first = midnight.replace(day=1)
    following = (first + timedelta(days=32)).replace(day=1)
    return Period(f"{first:%Y-%m}{where}", following)


def read_zone(name: str) -> tzinfo:
    """Return the time zone of a name; UTC needs no time zone data."""
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def parse_budgets(text: str, in_code: bool = False) -> tuple[Budget, ...]:
    """Read budgets as in `NJC_BUDGET`: `NAME=VALUE` separated by spaces, budgets separated by semicolons.

    `in_code` is True for a budget of a `with`, which may have `per=scope`.
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
                f"the budget {text!r}: {word!r} is not one NAME=VALUE with NAME one of {', '.join(names)}"
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
            f"the budget {text!r}: write per=run, hour, day, month or total; per=scope is for njrt.using(budget=...)"
        )
    return Budget(**values)


def format_budget(budget: Budget) -> str:
    """Return a budget in the form that `parse_budgets` reads, without default values."""
    shown = []
    for field in fields(Budget):
        value = getattr(budget, field.name)
        if field.name == "per" or value != field.default:
            written = f"{value:g}" if isinstance(value, float) else str(value)
            shown.append(f"{field.name}={written}")
    return " ".join(shown)
