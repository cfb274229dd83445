"""The calls of a batch, and the file of their results.

    BatchRow(1, mail="Pay 84 EUR.")   ──call──>
        {"row": 1, "digest": "5c9f...", "result": "invoice", "usage": {...}}
    BatchRow(2, mail=3)               ──call──>
        {"row": 2, "digest": "90b1...", "error": {"type": ..., "message": ...}}

Each result is appended and synced as soon as its call ends. A row is done if the results have its
number with the digest of its text; other rows are called when the command runs again. Replies of
models are in a recording beside the results until all rows are done, so a row that was interrupted
pays again only for a reply that was on its way. Failed rows that are called again, with `--retry`,
ask for all replies anew.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from njc.batch.rows import BatchRow, bind_row
from njc.project.interrupts import noticing_interrupt
from njc.project.units import explaining_failure, format_path
from njc.target import TargetFunction, get_target
from njrt.block.session.limits import limit
from njrt.data.context import carry
from njrt.data.message_json import format_json_line
from njrt.data.private_files import append_private_line, drop_cut_line, replacing
from njrt.data.records import asdict, field, record
from njrt.errors import (
    AuthenticationError,
    BudgetError,
    ConfigurationError,
    CostLimitError,
    ModelNotFoundError,
    NaturalError,
    StoreError,
    require_packages,
)
from njrt.log.accounts import Watch, watch
from njrt.values.dataclass_json import make_json_value

Submit = Callable[["BatchRow", float | None], "Future[RowResult]"]
"""Starts the call of a row, which may cost a number of US dollars; None for no limit."""


# ── results ───────────────────────────────────────────────────────────────────────────────────────


@record
class RowUsage:
    """The usage of a row's model calls; `usd` is None if a price is unknown."""

    calls: int = 0
    input: int = 0
    output: int = 0
    usd: float | None = 0.0

    def __add__(self, other: RowUsage) -> RowUsage:
        usd = None if None in (self.usd, other.usd) else (self.usd or 0.0) + (other.usd or 0.0)
        calls, input = self.calls + other.calls, self.input + other.input
        return RowUsage(calls, input, self.output + other.output, usd)


@record
class RowResult:
    """The result of a row's call. `stop` is why no other row would succeed; the row is not done."""

    row: int
    digest: str
    result: Any = None
    error: Mapping[str, str] | None = None
    usage: RowUsage = field(default_factory=RowUsage)
    seconds: float = 0.0
    stop: NaturalError | None = None

    def format_line(self) -> str:
        """Return the result's line in the file of results."""
        outcome = {"result": self.result} if self.error is None else {"error": dict(self.error)}
        head = {"row": self.row, "digest": self.digest} | outcome
        return format_json_line(head | {"usage": asdict(self.usage), "seconds": self.seconds})


class BatchResults:
    """The file of results (state: which rows are done, their counts and usage).

    `digests` has the digest of each row; results of other rows, or of a row before it was changed,
    do not count.
    """

    def __init__(self, path: Path, digests: Mapping[int, str]) -> None:
        self.path, self._digests = path, digests
        self.recording = path.with_name(f"{path.name}.replies.jsonl")
        self.usage = RowUsage()
        self.done: set[int] = set()
        """The rows with a result."""
        self.failed: set[int] = set()
        """Those whose result is an error."""
        if path.exists() and not path.is_file():
            raise ConfigurationError(f"{format_path(path)} is not a regular file")
        for _, fields in self._list_results():
            self._note(fields["row"], fields["digest"], "error" in fields, fields["usage"])

    def forget_failed(self) -> None:
        """Forget the error results and all replies, so that these rows are called again."""
        if self.failed:
            self._rewrite(lambda fields: "error" not in fields)
            self.done -= self.failed
            self.failed.clear()

    def append(self, result: RowResult) -> None:
        """Add a result to the file; it survives a kill and a power failure."""
        with explaining_failure(f"write {format_path(self.path)}"):
            append_private_line(self.path, result.format_line(), is_synced=True)
        self._note(result.row, result.digest, result.error is not None, result.usage)

    def finish(self) -> None:
        """Keep one line for each row, in the order of rows, and remove the recording."""
        self._rewrite(lambda fields: self._digests.get(fields["row"]) == fields["digest"])

    def _rewrite(self, is_kept: Callable[[Mapping[str, Any]], bool]) -> None:
        lines = {fields["row"]: line for line, fields in self._list_results() if is_kept(fields)}
        with explaining_failure(f"write {format_path(self.path)}"):
            with replacing(self.path.resolve(), is_private=True) as file:
                file.writelines(lines[number] + b"\n" for number in sorted(lines))
            self.recording.unlink(missing_ok=True)

    def _list_results(self) -> Iterator[tuple[bytes, Mapping[str, Any]]]:
        """Yield the lines of the file with their fields, the usage read."""
        with explaining_failure(f"read {format_path(self.path)}"):
            data = drop_cut_line(self.path.read_bytes()) if self.path.exists() else b""
        for place, line in enumerate(data.split(b"\n"), 1):
            if line.strip():
                try:
                    fields = json.loads(line)
                    number, usage = int(fields["row"]), RowUsage(**fields["usage"])
                    yield line, fields | {"row": number, "digest": fields["digest"], "usage": usage}
                except (ValueError, LookupError, TypeError):
                    raise ConfigurationError(
                        f"{format_path(self.path)}, line {place}: not a result of `njc batch`; name"
                        " another file"
                    ) from None

    def _note(self, number: int, digest: str, has_failed: bool, usage: RowUsage) -> None:
        self.usage += usage
        if self._digests.get(number) == digest:
            self.done.add(number)
            (self.failed.add if has_failed else self.failed.discard)(number)


# ── calls ─────────────────────────────────────────────────────────────────────────────────────────


def call_row(name: str, row: BatchRow, usd: float | None) -> RowResult:
    """Call a function for a row, in this thread or another process."""
    with _measuring(row, usd) as finish:
        try:
            target = get_target(name)
            return finish(target.call(*bind_row(target, row)))
        except BaseException as error:  # a thread of an executor gets no interrupt
            return finish(error)


async def acall_row(target: TargetFunction, row: BatchRow, usd: float | None) -> RowResult:
    """Call an async function for a row, on a running event loop."""
    with _measuring(row, usd) as finish:
        try:
            positional, named = bind_row(target, row)
            return finish(await target.function(*positional, **named))
        except BaseException as error:
            return finish(error)


@contextmanager
def _measuring(row: BatchRow, usd: float | None) -> Iterator[Callable[[Any], RowResult]]:
    """Yield a function that makes the row's result from a value or exception, with usage so far."""
    began = time.monotonic()
    with watch() as account, limit(usd=usd, option="--max-{}"):
        yield lambda value: make_result(row, value, sum_usage(account), time.monotonic() - began)


def sum_usage(account: Watch) -> RowUsage:
    """Return the usage of all calls in an account."""
    prices = [
        usage.usd for run in account.runs for call in run.calls for usage in call.list_usages()
    ]
    usd = None if None in prices else sum(filter(None, prices), 0.0)
    totals = account.totals
    return RowUsage(totals.calls, totals.input_tokens, totals.output_tokens, usd)


def make_result(row: BatchRow, value: Any, usage: RowUsage, seconds: float) -> RowResult:
    """Return the result of a call that returned a value, or raised the exception that is given."""
    made = partial(RowResult, row.number, row.digest, usage=usage, seconds=round(seconds, 3))
    if not isinstance(value, BaseException):
        try:
            return made(json.loads(format_json_line(make_json_value(value))))
        except Exception as error:  # also from the value's own methods
            reason = str(error).partition("\n")[0]
            value = TypeError(f"the result, a {type(value).__name__}, has no JSON form: {reason}")
    described = {"type": type(value).__name__, "message": str(value)}
    if not isinstance(value, NaturalError):
        return made(error=described)
    if value.place:
        described["place"] = value.place
    value.run = None  # the result may be sent between processes
    return made(error=described, stop=value if _concerns_all_rows(value) else None)


def _concerns_all_rows(error: NaturalError) -> bool:
    """Return whether other rows would fail with this error too."""
    match error:
        case ConfigurationError() | AuthenticationError() | ModelNotFoundError():
            return True
        case StoreError() | BudgetError():
            return True
        case CostLimitError():
            return "--max-usd" in str(error)
    return False


@contextmanager
def open_threads(target: TargetFunction, jobs: int) -> Iterator[Submit]:
    """Run calls in threads, with the settings around this point."""
    pool, call = ThreadPoolExecutor(jobs), carry(call_row)
    try:
        yield lambda row, usd: pool.submit(call, target.name, row, usd)
    finally:
        pool.shutdown(wait=False)


@contextmanager
def open_event_loop(target: TargetFunction) -> Iterator[Submit]:
    """Run the calls of an async function as tasks of one event loop, in a separate thread."""
    loop = asyncio.new_event_loop()
    is_over = threading.Event()

    def run() -> None:
        while not is_over.is_set():
            with suppress(SystemExit, KeyboardInterrupt):  # of a task that a row has left behind
                loop.run_forever()

    thread = threading.Thread(target=run, name="njc-batch", daemon=True)
    thread.start()

    try:
        yield lambda row, usd: asyncio.run_coroutine_threadsafe(acall_row(target, row, usd), loop)
    finally:
        is_over.set()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def open_dask(target: TargetFunction, jobs: int, scheduler: str | None) -> Iterator[Submit]:
    """Run calls on a Dask cluster; without a `scheduler` address, on processes of this machine."""
    require_packages("--executor dask", "njpy[dask]", "dask", "distributed")
    dask: Any = importlib.import_module("dask")
    distributed: Any = importlib.import_module("distributed")
    local = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": None}
    interrupts = signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited by workers, which go on
    try:
        # If a worker dies, Dask must not call its rows again without being asked.
        with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
            given = {} if scheduler else local
            client = distributed.Client(scheduler, set_as_default=False, **given)
    except OSError as error:
        raise ConfigurationError(f"cannot connect to the scheduler {scheduler}: {error}") from None
    finally:
        signal.signal(signal.SIGINT, interrupts)
    with client:
        pool = client.get_executor(pure=False, retries=0)
        yield lambda row, usd: pool.submit(call_row, target.name, row, usd)


# ── the batch ─────────────────────────────────────────────────────────────────────────────────────


class CallsGivenUp(KeyboardInterrupt):
    """A second interrupt: calls are under way, but nothing waits for them."""


def run_batch(
    rows: Iterator[BatchRow],
    results: BatchResults,
    submit: Submit,
    jobs: int,
    usd: float | None,
    report: Callable[[int], None],
) -> None:
    """Call the function for all rows that are not done, `jobs` at a time, and append their results.

    `usd` is the US dollars that all calls may cost, if they run in other processes. `report` is
    called again and again, with the number of calls to wait for after an interrupt.

    Raises:
        KeyboardInterrupt: after an interrupt, when the calls under way have ended.
        CallsGivenUp: after a second interrupt.
        NaturalError: an error that concerns all rows, such as a wrong key.
    """
    todo = (row for row in rows if row.number not in results.done)
    running: dict[Future[RowResult], BatchRow] = {}
    stop: NaturalError | None = None
    try:
        with noticing_interrupt() as interrupted:
            while True:
                if stop is None and not interrupted.is_set():
                    spent = results.usage.usd or 0.0
                    left = None if usd is None else max(0.0, usd - spent)
                    started = islice(todo, jobs - len(running))
                    running |= {submit(row, left): row for row in started}
                if not running:
                    break
                for future in wait(running, 0.25, FIRST_COMPLETED).done:
                    result = _take(future, running.pop(future))
                    if result.stop is not None:
                        stop = stop or result.stop
                        continue
                    results.append(result)
                report(len(running) if interrupted.is_set() else 0)
    except KeyboardInterrupt:
        raise CallsGivenUp from None
    if interrupted.is_set():
        raise KeyboardInterrupt
    if stop is not None:
        raise stop


def _take(future: Future[RowResult], row: BatchRow) -> RowResult:
    """Return the result of a call that has ended; a worker that died is an error of its row."""
    try:
        return future.result()
    except Exception as error:
        problem = RuntimeError(f"the worker of row {row.number} died ({type(error).__name__})")
        return make_result(row, problem, RowUsage(), 0.0)
