"""Run jobs, several at a time on this machine or on a Dask cluster.

    for result in run_jobs(jobs, execute_job, 4, None): ...              on this machine, 4 at once
    for result in run_jobs(jobs, execute_job, None, "tcp://..."): ...    on a cluster

Jobs are taken one by one, when a slot is free and the last result has been handled. The caller may
stop at any time; running jobs are then completed. After Ctrl-C or a job's exception, the results of
the running jobs are yielded before it is raised; a second Ctrl-C drops them. If the cluster workers
of a trial die repeatedly, it becomes a `LostTrial`.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import astuple, dataclass
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar

from njrt.errors import require_packages
from spsbench.results import InputError
from spsbench.trials.machine import describe_machine, read_timestamp

CONNECT_SECONDS = 5.0
WORKER_WAIT_SECONDS = 30.0


class RunnableJob(Protocol):
    """A trial with everything needed to run it; can be sent to other machines."""

    @property
    def trial(self) -> Any:
        """The trial to run: a frozen dataclass of texts and numbers."""


JobT = TypeVar("JobT", bound=RunnableJob)
ResultT = TypeVar("ResultT")
ExecuteJob = Callable[[JobT, threading.Event], ResultT]
"""A module-level job function; the event may end it early. On a cluster, it gets only the job."""
MAX_SERVER_FAILURES = 3
"""How many trials in a row the model's server may fail before a run stops, with one job at once."""


@dataclass(frozen=True, slots=True)
class Workers:
    """Where jobs run."""

    jobs: int | None = None
    """The number of jobs at a time; by default one on this machine, or a cluster's thread count."""
    scheduler: str | None = None
    """The address of a Dask scheduler."""

    @property
    def most_failures(self) -> int:
        """How many jobs in a row may be lost; jobs run at the same time may fail for one reason."""
        return MAX_SERVER_FAILURES - 1 + (self.jobs or 1)

    def describe_start(self, executor: str = "threads") -> dict[str, Any]:
        """Return the `RunLine` fields besides options; `executor` applies without a cluster."""
        return {
            "started": read_timestamp(),
            "jobs": self.jobs or 1,
            "executor": executor if self.scheduler is None else "dask",
            **describe_machine(),
        }


@dataclass(frozen=True, slots=True)
class LostTrial:
    """A trial without a result, because a cluster or the model's server failed."""

    trial: Any
    reason: str


def run_jobs(
    jobs: Iterator[JobT],
    execute: ExecuteJob[JobT, ResultT],
    width: int | None,
    scheduler: str | None,
) -> Iterator[ResultT | LostTrial]:
    """Run jobs on this machine, `width` at a time (1), or on the cluster of a scheduler."""
    if scheduler is None:
        return _run_here(jobs, execute, width or 1)
    return _run_on_cluster(jobs, execute, scheduler, width)


def _run_here(
    jobs: Iterator[JobT], execute: ExecuteJob[JobT, ResultT], width: int
) -> Iterator[ResultT]:
    stop = threading.Event()
    finished: SimpleQueue[list[ResultT]] = SimpleQueue()
    errors: list[BaseException] = []
    working: set[int] = set()

    def work(number: int, job: JobT) -> None:
        working.add(number)
        try:
            finished.put([execute(job, stop)])
        except BaseException as error:
            errors.append(error)
            finished.put([])
        finally:
            working.discard(number)

    with ThreadPoolExecutor(width, thread_name_prefix="trial") as pool:
        begun = ended = 0
        try:
            while not errors:
                for job in islice(jobs, width - (begun - ended)):
                    begun += 1
                    pool.submit(work, begun, job)
                if begun == ended:
                    return
                yield from finished.get()
                ended += 1
        except KeyboardInterrupt as interrupt:
            errors.insert(0, interrupt)
        finally:
            stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
        while working or not finished.empty():
            with suppress(Empty):
                yield from finished.get(timeout=0.1)
    raise errors[0]


def _run_on_cluster(
    jobs: Iterator[JobT], execute: ExecuteJob[JobT, ResultT], address: str, width: int | None
) -> Iterator[ResultT | LostTrial]:
    """Run jobs on a Dask cluster, as many at a time as its workers have threads, or `width`."""
    require_packages("a cluster", "njpy[bench]", "dask", "distributed")
    import distributed

    with _connect_to_cluster(address) as client:
        session = secrets.token_hex(4)
        trials: dict[str, Any] = {}
        ready: Any = distributed.as_completed(loop=client.loop)  # type: ignore[no-untyped-call]
        while True:
            room = (width or 2 * sum(client.nthreads().values()) or 1) - ready.count()
            for job in islice(jobs, max(0, room)):
                key = "-".join(["spsbench", session, *map(str, astuple(job.trial))])
                trials[key] = job.trial
                ready.add(client.submit(execute, job, key=key, pure=False))
            if not ready.count():
                return
            future = next(ready)
            trial = trials.pop(future.key)
            try:
                yield future.result()
            except distributed.KilledWorker:
                yield LostTrial(trial, "its workers died repeatedly")


def _connect_to_cluster(address: str) -> Any:
    """Return a client for the cluster, once it has a worker."""
    import distributed

    try:
        client: Any = distributed.Client(  # type: ignore[no-untyped-call]
            address, set_as_default=False, timeout=CONNECT_SECONDS
        )
    except (OSError, ValueError) as error:
        raise InputError(
            f"there is no Dask scheduler at {address} ({error}); start one by `dask scheduler`"
        ) from None
    try:
        client.wait_for_workers(1, timeout=WORKER_WAIT_SECONDS)
    except TimeoutError:
        client.close()
        raise InputError(
            f"the Dask scheduler at {address} has no workers; start some by `dask worker {address}`"
        ) from None
    return client
