"""A batch whose rows ask the model themselves: a window of calls that run at the same time.

    run_local(rows, store, submit, ...)     every row that has no result gets one, or BatchStopped says why not

The window keeps the memory the same for any number of rows. What runs when the process is killed is called again later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from njc.batch.executors import SubmitRow
from njc.batch.rows import BatchRow, RowOutcome, read_rows
from njc.batch.store import BatchCounts, BatchStore
from njrt.errors import ModelError, NaturalError, ServerError

MAX_OUTAGES = 20
"""Rows in succession whose model does not answer, after which the batch stops."""

_REPORT_SECONDS = 0.25

ReportCounts = Callable[[BatchCounts], None]


@dataclass(frozen=True, slots=True)
class Window:
    """How many calls may be under way, and what they may cost together in US dollars."""

    calls: int
    max_usd: float | None = None


def run_local(
    rows: Path,
    count: int | None,
    store: BatchStore,
    submit: SubmitRow,
    window: Window,
    report: ReportCounts,
) -> None:
    """Call the function for each row without a result; a failed row is one, too.

    Raises the NaturalError by which all other rows would fail: a wrong key, no model, the limit of the cost.
    """
    todo = iterate_todo(rows, count, store)
    running: dict[Future[RowOutcome], BatchRow] = {}
    outages = 0
    stop: NaturalError | None = None
    spent = store.read_counts().usage.usd
    try:
        while True:
            while stop is None and len(running) < window.calls:
                row = next(todo, None)
                if row is None:
                    break
                left = None if window.max_usd is None else max(0.0, window.max_usd - spent)
                running[submit(row, left)] = row
            if not running:
                break
            done, _ = wait(running, _REPORT_SECONDS, FIRST_COMPLETED)
            for future in done:
                row = running.pop(future)
                outcome = get_outcome(future, row)
                spent += outcome.usage.usd
                if outcome.stop is not None:
                    stop = stop or outcome.stop
                    continue
                store.put_outcome(row, outcome)
                outages = outages + 1 if outcome.is_outage else 0
                if outages >= max(MAX_OUTAGES, window.calls):
                    stop = stop or ServerError(
                        f"the model failed for {outages} rows in succession: {read_message(outcome)}; "
                        "try later: the same command with --retry continues"
                    )
            report(store.read_counts())
    finally:
        for future in running:
            future.cancel()
    if stop is not None:
        raise stop


def iterate_todo(rows: Path, count: int | None, store: BatchStore) -> Iterator[BatchRow]:
    """The rows that have no result."""
    return (row for row in read_rows(rows, count) if not store.is_done(row))


def get_outcome(future: Future[RowOutcome], row: BatchRow) -> RowOutcome:
    """The outcome of a call; raises ModelError where a process of the executor has died."""
    try:
        return future.result()
    except BrokenProcessPool:
        raise ModelError(
            f"a process of the executor died, perhaps at row {row.index}; the same command continues"
        ) from None


def read_message(outcome: RowOutcome) -> str:
    """The message of a failed row."""
    import json

    return str(json.loads(outcome.line)["error"]["message"])
