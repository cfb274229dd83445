"""The executors for a batch's calls.

    with open_executor("processes", "mail.njpy:triage", jobs=4) as submit:
        submit(row, 0.5).result()           RowOutcome(...)

Rows are sent, and results returned, as text. On a cluster, the program must be importable under the same name. The
results do not include changes to arguments, or the usage of threads that the function starts.
"""

from __future__ import annotations

import asyncio
import importlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, Literal, assert_never

from njc.batch.rows import BUDGET_OPTION, BatchRow, RowOutcome, RowUsage
from njc.target import get_target
from njrt.errors import require_packages
from njrt.observability.accounts import watch
from njrt.session.limits import limit

ExecutorKind = Literal["async", "threads", "processes", "dask", "ray"]

SubmitRow = Callable[[BatchRow, float | None], "Future[RowOutcome]"]
"""Starts a row's call, with a limit in US dollars."""

Submit = Callable[..., "Future[Any]"]
"""Starts a call, given the function and its arguments."""
CONCURRENT_CALLS = 8
"""The default number of concurrent rows on threads and event loops."""


def count_jobs(kind: ExecutorKind, jobs: int | None) -> int:
    """Return the number of rows that run concurrently."""
    return jobs or (CONCURRENT_CALLS if kind in ("async", "threads") else os.cpu_count() or 1)


@contextmanager
def open_executor(
    kind: ExecutorKind, target: str, jobs: int | None = None, address: str | None = None
) -> Iterator[SubmitRow]:
    """Open an executor for the calls of a function; `address` is the address of a Dask or Ray cluster."""
    count = count_jobs(kind, jobs)
    match kind:
        case "async":
            with open_event_loop(target, count) as submit:
                yield submit
            return
        case "threads":
            opened = _shutting_down(ThreadPoolExecutor(count), cancel_futures=True)
        case "processes":
            opened = _shutting_down(ProcessExecutor(count), cancel_futures=True)
        case "dask":
            opened = _open_dask(count, address)
        case "ray":
            opened = _open_ray(count, address)
        case _:
            assert_never(kind)
    with opened as submit_call:
        yield lambda row, usd: submit_call(call_target, target, row, usd)


@contextmanager
def _shutting_down(executor: Executor, **options: bool) -> Iterator[Submit]:
    """At the end, wait for the calls, unless there was an interrupt."""
    waits = True
    try:
        yield executor.submit
    except KeyboardInterrupt:
        waits = False
        raise
    finally:
        executor.shutdown(wait=waits, **options)


@contextmanager
def open_event_loop(target: str, count: int) -> Iterator[SubmitRow]:
    """Run the calls as tasks on an event loop in a separate thread, `count` at a time."""
    loop = asyncio.new_event_loop()
    is_closed = threading.Event()

    def run_loop() -> None:
        while not is_closed.is_set():
            with suppress(SystemExit, KeyboardInterrupt):  # from a task that a function started
                loop.run_forever()

    thread = threading.Thread(target=run_loop, name="njc-batch", daemon=True)
    thread.start()
    slots = asyncio.Semaphore(count)

    async def call(row: BatchRow, usd: float | None) -> RowOutcome:
        async with slots:
            return await acall_target(target, row, usd)

    try:
        yield lambda row, usd: asyncio.run_coroutine_threadsafe(call(row, usd), loop)
    finally:
        asyncio.run_coroutine_threadsafe(_cancel_tasks(), loop).result()
        is_closed.set()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _cancel_tasks() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class ProcessExecutor(Executor):
    """New processes on this machine; when one dies, the pool is restarted (state: the pool)."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool = self._open()

    def _open(self) -> ProcessPoolExecutor:
        spawn = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._count, mp_context=spawn, initializer=_begin_process)

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Future[Any]:
        try:
            return self._pool.submit(call, *arguments, **keywords)
        except BrokenProcessPool:
            self._pool.shutdown(wait=False)
            self._pool = self._open()
            return self._pool.submit(call, *arguments, **keywords)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)


def _begin_process() -> None:
    """Make this process's calls outlive Ctrl-C, but not the command's process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all its processes
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end_with_parent() -> None:
        parent.join()
        os._exit(1)  # for example after SIGKILL: the results of further calls would be lost

    threading.Thread(target=end_with_parent, daemon=True).start()


def call_target(name: str, row: BatchRow, usd: float | None = None) -> RowOutcome:
    """Call the function `name` for a row, which may cost at most `usd`."""
    with _measuring(usd) as measure:
        try:
            target = get_target(name)
            result = target.call(*target.bind_arguments(row.parse()))
        except BaseException as error:  # the executor's threads and processes get no interrupt
            return row.make_failure(error, *measure())
        return row.make_result(result, *measure())


async def acall_target(name: str, row: BatchRow, usd: float | None = None) -> RowOutcome:
    """Like `call_target`, on a running event loop."""
    with _measuring(usd) as measure:
        try:
            target = get_target(name)
            positional, keywords = target.bind_arguments(row.parse())
            result = await target.function(*positional, **keywords)
        except BaseException as error:
            return row.make_failure(error, *measure())
        return row.make_result(result, *measure())


@contextmanager
def _measuring(usd: float | None) -> Iterator[Callable[[], tuple[RowUsage, float]]]:
    """Yield a function that returns the usage and seconds so far; at most `usd` may be spent."""
    began = time.monotonic()
    within = nullcontext() if usd is None else limit(usd=usd, option=BUDGET_OPTION)
    with watch() as account, within:

        def measure() -> tuple[RowUsage, float]:
            used = account.totals
            usage = RowUsage(used.calls, used.input_tokens, used.output_tokens, used.usd)
            return usage, time.monotonic() - began

        yield measure


@contextmanager
def _open_dask(count: int, address: str | None) -> Iterator[Submit]:
    """Submit calls to a Dask cluster; a local cluster ends with the `with`."""
    require_packages("--executor dask", "njpy[dask]", "dask", "distributed")
    distributed = importlib.import_module("distributed")
    # If a worker dies, its rows must not be called again without our knowledge.
    settings = {"distributed.scheduler.allowed-failures": 0}
    local = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": None}
    with importlib.import_module("dask").config.set({} if address else settings):
        client = distributed.Client(address, set_as_default=False, **({} if address else local))
    # Equal calls are separate calls, so each must run; a failed call must not be repeated.
    executor = client.get_executor(pure=False, retries=0)
    with client, _shutting_down(executor):
        yield executor.submit


@contextmanager
def _open_ray(count: int, address: str | None) -> Iterator[Submit]:
    """Submit calls to a Ray cluster; a local cluster ends with the `with`."""
    require_packages("--executor ray", "njpy[ray]", "ray")
    ray = importlib.import_module("ray")
    local = {} if address else {"num_cpus": count, "include_dashboard": False}
    ray.init(address=address or "local", log_to_driver=False, **local)
    try:
        yield lambda call, *arguments: ray.remote(max_retries=0)(call).remote(*arguments).future()
    finally:
        ray.shutdown()
