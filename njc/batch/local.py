"""A batch that asks the model directly: a window of concurrent calls.

    run_local(rows, count, store, submit, ...)     every row without a result gets one, or an error

An interrupt (SIGINT or SIGTERM) ends the batch when the running calls have ended, a second one immediately. If one
of the executor's processes dies, its rows are called again one at a time: a row that kills the process again has
failed. Not detected: the earlier calls for these rows.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from njc.batch.executors import SubmitRow
from njc.batch.rows import BatchRow, DeadProcessError, RowOutcome, RowUsage, read_rows
from njc.batch.store import BatchCounts, BatchStore
from njc.interrupts import noticing_interrupt
from njrt.errors import ModelError, NaturalError, ServerError

MAX_OUTAGES = 20
"""The number of successive rows without an answer from their model after which the batch stops."""

_REPORT_SECONDS = 0.25

ReportCounts = Callable[[BatchCounts], None]


class CallsGivenUp(KeyboardInterrupt):
    """A second interrupt: calls are still running, but nothing waits for them."""


ReportInterrupt = Callable[[int], None]
"""Called with the number of calls to wait for before the batch ends."""


@dataclass(slots=True)
class LocalRun:
    """A batch's running calls (state: the calls, the rows to call alone, and why the batch stops).

    At most `most_calls` run concurrently, and they cost at most `max_usd` US dollars in total.
    """

    store: BatchStore
    submit: SubmitRow
    most_calls: int
    max_usd: float | None
    spent: float
    running: dict[Future[RowOutcome], BatchRow] = field(default_factory=dict)
    suspects: deque[BatchRow] = field(default_factory=deque)
    is_alone: bool = False
    outages: int = 0
    stop: NaturalError | None = None

    def start_calls(self, todo: Iterator[BatchRow]) -> None:
        """Fill the window, or call a single row that may have killed a process."""
        if self.stop is not None or (self.running and (self.suspects or self.is_alone)):
            return
        self.is_alone = bool(self.suspects)
        if self.is_alone:
            self._start(self.suspects.popleft())
            return
        while len(self.running) < self.most_calls and (row := next(todo, None)) is not None:
            self._start(row)

    def _start(self, row: BatchRow) -> None:
        left = None if self.max_usd is None else max(0.0, self.max_usd - self.spent)
        try:
            self.running[self.submit(row, left)] = row
        except Exception as error:
            raise ModelError(
                f"the executor takes no calls ({type(error).__name__}: {error}); the same command continues"
            ) from None

    def take(self, future: Future[RowOutcome]) -> None:
        """Store the outcome of a call that has ended."""
        row = self.running.pop(future)
        try:
            outcome = future.result()
        except Exception as error:
            if not self.is_alone:
                self.suspects.append(row)
                return
            problem = DeadProcessError(
                f"the process that called the function crashed or was killed, perhaps as the memory was used up "
                f"({type(error).__name__}: {error})"
            )
            outcome = row.make_failure(problem, RowUsage(), 0.0)
        self.spent += outcome.usage.usd
        if outcome.stop is not None:
            self.store.add_usage(outcome.usage)
            self.stop = self.stop or outcome.stop
            return
        self.store.put_outcome(row, outcome)
        self.outages = self.outages + 1 if outcome.is_outage else 0
        if self.outages >= max(MAX_OUTAGES, self.most_calls):
            message = json.loads(outcome.line)["error"]["message"]
            self.stop = self.stop or ServerError(
                f"the model failed for {self.outages} rows in succession: {message}; fix this and run the same command with --retry"
            )

    def cancel(self) -> None:
        """Cancel the calls that have not started."""
        self.suspects.clear()
        self.running = {future: row for future, row in self.running.items() if not future.cancel()}


def run_local(
    rows: Path,
    count: int | None,
    store: BatchStore,
    submit: SubmitRow,
    most_calls: int,
    max_usd: float | None,
    report: ReportCounts,
    report_interrupt: ReportInterrupt,
) -> None:
    """Call the function for each row without a result; a failure is also a result.

    Raises a NaturalError that all other rows would raise, such as a wrong key, no model or the cost limit;
    KeyboardInterrupt after an interrupt, and CallsGivenUp after a second one.
    """
    todo = (row for row in read_rows(rows, count) if not store.is_done(row))
    run = LocalRun(store, submit, most_calls, max_usd, store.read_counts().usage.usd)
    reported = 0.0
    try:
        with noticing_interrupt() as interrupted:
            while True:
                if not interrupted.is_set():
                    run.start_calls(todo)
                if not run.running:
                    break
                done, _ = wait(run.running, _REPORT_SECONDS, FIRST_COMPLETED)
                for future in done:
                    run.take(future)
                if interrupted.is_set() and run.stop is None:
                    run.cancel()
                    run.stop = ModelError("interrupted")
                    report_interrupt(len(run.running))
                if time.monotonic() - reported >= _REPORT_SECONDS:
                    report(store.read_counts())
                    reported = time.monotonic()
    except KeyboardInterrupt:
        raise CallsGivenUp from None
    finally:
        run.cancel()
    if interrupted.is_set():
        raise KeyboardInterrupt
    if run.stop is not None:
        raise run.stop


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Make SIGTERM raise KeyboardInterrupt like SIGINT, unless it has a handler. Only for the main thread."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
