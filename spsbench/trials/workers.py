"""Runs jobs: in a number of processes of this machine at a time, or on a Dask cluster.

    for result in run_in_processes(jobs, 4): ...
    for result in run_on_cluster(jobs, "tcp://cluster:8786"): ...

Jobs are taken from the iterator one by one, when a slot is free and the last result has been handled: the caller
may stop at any time, and running jobs are then completed. Results are yielded as they are ready.

On a cluster a job is a task whose key is its trial. The scheduler moves the tasks of a lost worker to others, and
returns each result once. A trial whose workers are lost repeatedly is yielded as `LostTrial` and left for the next run.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from typing import Any

from spsbench.results import Trial, TrialResult
from spsbench.trials.executing import execute_job
from spsbench.trials.job import Job

CONNECT_SECONDS = 5.0
WORKER_WAIT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class LostTrial:
    """A trial that a cluster could not complete."""

    trial: Trial
    reason: str


class NoWorkersError(Exception):
    """A cluster cannot be reached or has no workers."""


def run_in_processes(jobs: Iterator[Job], width: int) -> Iterator[TrialResult]:
    """Run jobs on this machine, `width` at a time."""
    stop = threading.Event()
    with ThreadPoolExecutor(width, thread_name_prefix="trial") as pool:
        running: set[Future[TrialResult]] = set()
        try:
            while True:
                running |= {
                    pool.submit(execute_job, job, stop)
                    for job in islice(jobs, width - len(running))
                }
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            stop.set()


def run_on_cluster(
    jobs: Iterator[Job], address: str, width: int | None
) -> Iterator[TrialResult | LostTrial]:
    """Run jobs on a Dask cluster, as many at a time as its workers have threads, or `width`."""
    import distributed

    with _connect_to_cluster(address) as client:
        session = secrets.token_hex(4)
        trials: dict[str, Trial] = {}
        ready: Any = distributed.as_completed(loop=client.loop)  # type: ignore[no-untyped-call]
        while True:
            room = (width or 2 * sum(client.nthreads().values()) or 1) - ready.count()
            for job in islice(jobs, max(0, room)):
                key = make_task_key(job.trial, session)
                trials[key] = job.trial
                ready.add(client.submit(execute_job, job, key=key, pure=False))
            if not ready.count():
                return
            future = next(ready)
            trial = trials.pop(future.key)
            try:
                yield future.result()
            except distributed.KilledWorker:
                yield LostTrial(trial, "its workers died repeatedly")


def make_task_key(trial: Trial, session: str) -> str:
    """The key of a trial's task; two runs on one cluster have different keys."""
    return f"spsbench-{session}-{trial.program}-{trial.method}-{trial.model}-{trial.repeat}"


def _connect_to_cluster(address: str) -> Any:
    """A client of the cluster, when it has a worker."""
    import distributed

    try:
        client: Any = distributed.Client(  # type: ignore[no-untyped-call]
            address, set_as_default=False, timeout=CONNECT_SECONDS
        )
    except (OSError, ValueError) as error:
        raise NoWorkersError(
            f"there is no Dask scheduler at {address} ({error}); start one by `dask scheduler`"
        ) from None
    try:
        client.wait_for_workers(1, timeout=WORKER_WAIT_SECONDS)
    except TimeoutError:
        client.close()
        raise NoWorkersError(
            f"the Dask scheduler at {address} has no workers; start some by `dask worker {address}`"
        ) from None
    return client
