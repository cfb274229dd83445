"""Waiting for a state, never for a time.

    wait_until(lambda: len(server.seen) == 4)       returns at once when it is so
    process.wait(HANG_SECONDS)                      a limit that only a failure reaches
    run_threads(work, work)                         returns when both have ended

A machine that runs other tests beside may be 30 times slower than this one, or pause anywhere for seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

HANG_SECONDS = 90.0
"""Seconds after which a test fails instead of hanging; nothing that works takes as long."""


def wait_until(
    is_so: Callable[[], object], describe: Callable[[], object] = lambda: "it never came so far"
) -> None:
    """Wait until something is so; fail with a description if that takes longer than `HANG_SECONDS`."""
    stops = time.monotonic() + HANG_SECONDS
    while not is_so():
        assert time.monotonic() < stops, describe()
        time.sleep(0.01)


def run_threads(*works: Callable[[], object]) -> None:
    """Do each of these in a thread of its own, all at once, and wait until all have ended."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
        assert not thread.is_alive(), "a thread hangs"
