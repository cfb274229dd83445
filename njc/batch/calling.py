"""Calling the function for one row, with the model that it asks itself.

    call_target("mail.njpy:triage", row, 0.5)             RowOutcome(index=3, line='{"index": 3, ...}', ...)
    await acall_target("mail.njpy:triage", row, 0.5)      the same, on an event loop that rows share

What the function changes in its arguments is not in the results. Not seen: the calls of threads that the function
starts itself do not count as those of the row.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from njc.batch.rows import (
    BUDGET_OPTION,
    BatchRow,
    RowOutcome,
    RowUsage,
    make_failure,
    make_result,
    parse_row,
)
from njc.target import bind_arguments, call_function, get_target
from njrt.observability.accounts import Watch, watch
from njrt.session.limits import limit


def call_target(name: str, row: BatchRow, usd: float | None = None) -> RowOutcome:
    """Call the function `name` for a row, which may cost at most `usd`."""
    began = time.monotonic()
    with _open_account(usd) as account:
        try:
            target = get_target(name)
            positional, keywords = bind_arguments(target, parse_row(row))
            result = call_function(target, positional, keywords)
        except (
            BaseException
        ) as error:  # on a thread or in a process of the executor, where no interrupt arrives
            return make_failure(row, error, read_usage(account), time.monotonic() - began)
        return make_result(row, result, read_usage(account), time.monotonic() - began)


async def acall_target(name: str, row: BatchRow, usd: float | None = None) -> RowOutcome:
    """Do the same on a running event loop."""
    began = time.monotonic()
    with _open_account(usd) as account:
        try:
            target = get_target(name)
            positional, keywords = bind_arguments(target, parse_row(row))
            result = await target.function(*positional, **keywords)
        except BaseException as error:
            return make_failure(row, error, read_usage(account), time.monotonic() - began)
        return make_result(row, result, read_usage(account), time.monotonic() - began)


@contextmanager
def _open_account(usd: float | None) -> Iterator[Watch]:
    with watch() as account:
        if usd is None:
            yield account
        else:
            with limit(usd=usd, option=BUDGET_OPTION):
                yield account


def read_usage(account: Watch) -> RowUsage:
    """Return what the runs of a row used."""
    totals = account.totals
    return RowUsage(totals.calls, totals.input_tokens, totals.output_tokens, totals.usd)
