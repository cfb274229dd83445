"""Run jobs, several at a time on this machine.

    for result in run_jobs(jobs, execute_job, 4): ...

Jobs are taken one by one, when a slot is free and the last result has been handled. The caller may
stop at any time; running jobs are then ended. After Ctrl-C or a job's exception, the results of
the running jobs are yielded before it is raised; a second Ctrl-C drops them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar


class RunnableJob(Protocol):
    """A trial with everything needed to run it."""

    @property
    def trial(self) -> Any:
        """The trial to run: a frozen dataclass of texts and numbers."""


JobT = TypeVar("JobT", bound=RunnableJob)
ResultT = TypeVar("ResultT")
ExecuteJob = Callable[[JobT, threading.Event], ResultT]
"""Runs a job; the event may end it early."""


@dataclass(frozen=True, slots=True)
class LostTrial:
    """A trial without a result, because the model's server failed."""

    trial: Any
    reason: str


def run_jobs(
    jobs: Iterator[JobT], execute: ExecuteJob[JobT, ResultT], width: int = 1
) -> Iterator[ResultT]:
    """Run jobs, `width` at a time."""
    stop = threading.Event()
    finished: SimpleQueue[tuple[list[ResultT], BaseException | None]] = SimpleQueue()

    def work(job: JobT) -> None:
        try:
            finished.put(([execute(job, stop)], None))
        except BaseException as error:
            finished.put(([], error))

    # A thread is listed before it starts: the executor of concurrent.futures lists it afterwards,
    # and does not wait for it when Ctrl-C comes in between.
    threads: list[threading.Thread] = []
    ended = 0
    try:
        while True:
            for job in islice(jobs, width - (len(threads) - ended)):
                threads.append(threading.Thread(target=work, args=(job,), name="trial"))
                threads[-1].start()
            if len(threads) == ended:
                return
            results, error = finished.get()
            ended += 1
            if error is not None:
                raise error
            yield from results
    except (Exception, KeyboardInterrupt):
        stop.set()
        join_threads(threads)
        while not finished.empty():
            yield from finished.get()[0]
        raise
    finally:
        stop.set()
        join_threads(threads)


def join_threads(threads: Iterable[threading.Thread]) -> None:
    """Wait until all threads have ended; one that never started is left out."""
    for thread in threads:
        if thread.is_alive():
            thread.join()
