"""Runs jobs and writes each result at once, with the time that is left; ends where the model's server fails repeatedly.

    collect_results(jobs, execute, journal, Workers(6), show)   ->  Collection(done=93, lost=(), is_down=False)

A job that fails is `LostTrial`, and is left for the next run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from spsbench.journal import Journal
from spsbench.trials.running import MAX_SERVER_FAILURES
from spsbench.trials.workers import ExecuteJob, LostTrial, RunnableJob, run_jobs

JobT = TypeVar("JobT", bound=RunnableJob)


class MeasuredResult(Protocol):
    """A result that knows what was run."""

    @property
    def trial(self) -> Any:
        """What was run, equal to the `trial` of its job."""


ResultT = TypeVar("ResultT", bound=MeasuredResult)


@dataclass(frozen=True, slots=True)
class Workers:
    """Where jobs run."""

    jobs: int | None = None
    """How many at a time; by default one on this machine, or as many as a cluster has threads."""
    scheduler: str | None = None
    """The address of a Dask scheduler."""

    @property
    def most_failures(self) -> int:
        """How many jobs in a row may be lost; those that run at the same time may fail of one cause."""
        return MAX_SERVER_FAILURES - 1 + (self.jobs or 1)


@dataclass(frozen=True, slots=True)
class Collection:
    """How the jobs ended."""

    done: int
    lost: tuple[LostTrial, ...]
    is_down: bool
    """Whether the run stopped because the model's server failed repeatedly."""


def collect_results(
    jobs: Sequence[JobT],
    execute: ExecuteJob[JobT, ResultT],
    journal: Journal[Any],
    workers: Workers,
    show: Callable[[ResultT | LostTrial, int, float], None],
) -> Collection:
    """Run jobs; `show` gets each result, how many there are, and the seconds that are left."""
    pace = Pace(time.monotonic)

    def take() -> Iterator[JobT]:
        for job in jobs:
            pace.begin(job.trial)
            yield job

    done, failed, lost = 0, 0, list[LostTrial]()
    for result in run_jobs(take(), execute, workers.jobs, workers.scheduler):
        pace.end(result.trial)
        if isinstance(result, LostTrial):
            lost.append(result)
            failed += 1
        else:
            journal.append(result)
            done += 1
            failed = 0
        left = len(jobs) - done - len(lost)
        show(result, done, pace.estimate_seconds_left(left))
        if failed >= workers.most_failures:
            break
    return Collection(done, tuple(lost), failed >= workers.most_failures)


# ── the time that is left of a run whose jobs overlap ──────────────────────────────────────────────


class Pace:
    """How fast results come (state: when the running jobs were taken, and how long the others took)."""

    def __init__(self, read_clock: Callable[[], float]) -> None:
        self._read_clock = read_clock
        self._taken: dict[Hashable, float] = {}
        self._seconds = 0.0
        self._ended = 0
        self._most = 1

    def begin(self, trial: Hashable) -> None:
        """Note that a job is taken."""
        self._taken[trial] = self._read_clock()
        self._most = max(self._most, len(self._taken))

    def end(self, trial: Hashable) -> None:
        """Note that a job has ended."""
        self._seconds += self._read_clock() - self._taken.pop(trial)
        self._ended += 1

    def estimate_seconds_left(self, left: int) -> float:
        """Return the time until `left` jobs have ended; call it after the end of one."""
        now, mean = self._read_clock(), self._seconds / self._ended
        running = sum(max(0.0, mean - (now - taken)) for taken in self._taken.values())
        waiting = mean * (left - len(self._taken))
        return (running + waiting) / max(1, min(self._most, left))
