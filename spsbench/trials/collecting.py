"""The workers of jobs, and the time left of a run with overlapping jobs.

Workers(6).describe_start()         {"started": "2026-03-01T09:30:00Z", "jobs": 6, "executor": "threads", ...}
pace.estimate_seconds_left(40)      310.5
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from spsbench.trials.machine import describe_machine, read_timestamp
from spsbench.trials.running import MAX_SERVER_FAILURES


@dataclass(frozen=True, slots=True)
class Workers:
    """Where jobs run."""

    jobs: int | None = None
    """How many at a time; by default one on this machine, or as many as a cluster has threads."""
    scheduler: str | None = None
    """The address of a Dask scheduler."""

    @property
    def most_failures(self) -> int:
        """How many jobs in a row may be lost; jobs that run at the same time may fail for one reason."""
        return MAX_SERVER_FAILURES - 1 + (self.jobs or 1)

    def describe_start(self, executor: str = "threads") -> dict[str, Any]:
        """Return the fields of a `RunLine` that are not options; `executor` is used without a cluster."""
        return {
            "started": read_timestamp(),
            "jobs": self.jobs or 1,
            "executor": executor if self.scheduler is None else "dask",
            **describe_machine(),
        }


class Pace:
    """How fast results come (state: when the running jobs were taken, and how long the others took)."""

    def __init__(self, read_clock: Callable[[], float]) -> None:
        self._read_clock = read_clock
        self._taken: dict[Hashable, float] = {}
        self._seconds = 0.0
        self._ended = 0
        self._most = 1

    def begin(self, trial: Hashable) -> None:
        self._taken[trial] = self._read_clock()
        self._most = max(self._most, len(self._taken))

    def end(self, trial: Hashable) -> None:
        self._seconds += self._read_clock() - self._taken.pop(trial)
        self._ended += 1

    def estimate_seconds_left(self, left: int) -> float:
        """Return the time until `left` jobs have ended; call it after the end of one."""
        now, mean = self._read_clock(), self._seconds / self._ended
        running = sum(max(0.0, mean - (now - taken)) for taken in self._taken.values())
        waiting = mean * (left - len(self._taken))
        return (running + waiting) / max(1, min(self._most, left))
