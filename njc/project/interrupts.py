"""Interrupts (SIGINT and SIGTERM) that let running work finish first.

with noticing_interrupt() as interrupted:
    while work and not interrupted.is_set():
        ...
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def noticing_interrupt() -> Iterator[threading.Event]:
    """Note the first interrupt instead of raising; the second one raises. Only for the main thread.

    Ignored signals stay ignored.
    """
    interrupted = threading.Event()
    is_main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = {n: it for n, it in handlers.items() if is_main and it not in (None, signal.SIG_IGN)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(*_: object) -> None:
        interrupted.set()
        restore()

    for number in before:
        signal.signal(number, note)
    try:
        yield interrupted
    finally:
        restore()
