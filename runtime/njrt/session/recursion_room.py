"""Room in Python's recursion limit for the frames of the runtime, where blocks call each other recursively.

    f -> block -> f -> block -> ...        each level has frames of the program and `FRAMES` of the runtime

A program reaches its recursion limit by its own frames, as without blocks: every `STRIDE` levels the limit is raised
by those of the runtime, and lowered when these levels are left. Not seen: levels of `async` blocks, which are tasks.
"""

from __future__ import annotations

import sys
import threading
from types import TracebackType

FRAMES = 3
"""Frames of the runtime for each level: `run`, the time limit, and the code of the model."""
STRIDE = 16


class RecursionRoom:
    """A `with` around each block that is run (state: the levels in each thread, and by how much the limit is raised)."""

    def __init__(self) -> None:
        self._levels = threading.local()
        self._lock = threading.Lock()
        self._raised: list[int] = []
        """The levels for which the limit is raised, of all threads."""
        self._extra = 0
        self._limit = 0
        """The limit as it was last set here; the program may have set another one."""

    def __enter__(self) -> None:
        level = self._levels.count = getattr(self._levels, "count", 0) + 1
        if level % STRIDE == 0:
            with self._lock:
                self._raised.append(level)
                try:
                    self._set_limit()
                except RecursionError:  # there is no room for the call itself
                    self._raised.remove(level)
                    self._levels.count = level - 1
                    raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        level = self._levels.count
        self._levels.count = level - 1
        if level % STRIDE == 0:
            with self._lock:
                self._raised.remove(level)
                self._set_limit()

    def _set_limit(self) -> None:
        limit = sys.getrecursionlimit()
        own = limit - self._extra if limit == self._limit else limit
        extra = FRAMES * max(self._raised, default=0)
        try:
            sys.setrecursionlimit(own + extra)
        except (
            RecursionError
        ):  # this thread is deeper than the lower limit: it is lowered at the next level
            return
        self._extra, self._limit = extra, own + extra


recursion_room = RecursionRoom()
