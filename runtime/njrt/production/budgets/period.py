"""The periods of budgets.

find_period(budget, now)      Period("2026-03-01", renews=2026-03-02 00:00 UTC)
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from njrt.options.budget import Budget, read_zone
from njrt.records import record


@record
class Period:
    """A call's period: its label, and the start of the next period, if any."""

    label: str
    renews: datetime | None = None


def find_period(budget: Budget, now: float, scope: str = "") -> Period:
    """Return the period at `now` (seconds since the epoch); `scope` labels a run or a `with`."""
    if budget.per in ("run", "scope", "total"):
        return Period("total" if budget.per == "total" else scope)
    local = datetime.fromtimestamp(now, UTC).astimezone(read_zone(budget.zone) or UTC)
    where = "" if budget.zone == "UTC" else f"@{budget.zone}"
    if budget.per == "hour":
        begin = local.replace(minute=0, second=0, microsecond=0)
        following = (begin.astimezone(UTC) + timedelta(hours=1)).astimezone(begin.tzinfo)
        return Period(f"{begin:%Y-%m-%dT%H%z}{where}", following)
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if budget.per == "day":
        return Period(f"{midnight:%Y-%m-%d}{where}", midnight + timedelta(days=1))
    first = midnight.replace(day=1)
    following = (first + timedelta(days=32)).replace(day=1)
    return Period(f"{first:%Y-%m}{where}", following)
