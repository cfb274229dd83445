"""Wall-time limits for code that runs in this process, using an interval timer.

    with limit_time(5): exec(code)                       raises TimeLimitError after 5 seconds

Not limited: other threads, Windows, and C code that does not return to Python. If a bare `except:`
or a finalizer swallows the error, it is raised again a few seconds later.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SECONDS_BETWEEN = 5.0
"""Seconds until the error is raised again, for code that swallows it."""


class TimeLimitError(BaseException):
    """The code reached its time limit."""


@contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Stop code that runs longer, on systems with interval timers."""

    def over(number: int, frame: FrameType | None) -> None:
        raise TimeLimitError

    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds, _SECONDS_BETWEEN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
