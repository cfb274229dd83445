"""The time that is left of a run whose jobs overlap.

    pace.begin(trial)                 a job is taken
    pace.end(trial)                   its result has arrived
    pace.estimate_seconds_left(93)    93 jobs have no result yet, those that run included

By Little's law, N jobs at a time that take S seconds each give N / S results a second, on this machine or on a
cluster, and also where the jobs wait for one another. Counting results instead would be wrong by up to N at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable


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
