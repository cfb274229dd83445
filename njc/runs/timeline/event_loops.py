"""The files of an event loop in a copy of the process: replaced, so that the loop is the copy's own.

    files = find_loop_files({5: "event queue", 6: "socket", 7: "socket"})    LoopFiles(epoll=5, sockets=(6, 7), ...)
    loop = RunningLoop.get()             before the fork
    loop.resume()                        in the copy: asyncio knows the loop and the task again
    files.replace()                      in a copy that goes on: an epoll and a wake-up of its own at the same numbers

After `fork` a process shares the epoll of its loop, and the pair of sockets that wakes the loop up, with its copies,
and asyncio forgets in a copy which loop is running. Only loops of asyncio are known that have no other files than
these three: then the two sockets are the wake-up. Known on Linux only, where a process can read what its epoll
waits for.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class LoopFiles:
    """The file descriptors of a loop, and the events that it waits for, by descriptor."""

    epoll: int
    sockets: tuple[int, ...]
    events: Mapping[int, int]

    @property
    def all(self) -> frozenset[int]:
        """All descriptors."""
        return frozenset((self.epoll, *self.sockets))

    def replace(self) -> None:
        """Put new files at the same descriptors."""
        pair = socket.socketpair()
        for old, new in zip(self.sockets, pair, strict=True):
            new.setblocking(False)
            os.dup2(new.fileno(), old, inheritable=False)
            new.close()
        with select.epoll() as epoll:
            for handle, mask in self.events.items():
                epoll.register(handle, mask)
            os.dup2(epoll.fileno(), self.epoll, inheritable=False)


def find_loop_files(kinds: Mapping[int, str]) -> LoopFiles | None:
    """Return the files of the running loop among open files of these kinds; None if it may have others."""
    queues = [handle for handle, kind in kinds.items() if kind == "event queue"]
    sockets = tuple(handle for handle, kind in kinds.items() if kind == "socket")
    if len(queues) != 1 or len(sockets) != 2 or RunningLoop.get() is None:
        return None
    events = {}
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/self/fdinfo/{queues[0]}").read_text().splitlines():
            if line.startswith("tfd:"):
                _, handle, _, mask, *_ = line.split()
                events[int(handle)] = int(mask, 16)
    if len(events) != 1 or not events.keys() <= set(sockets):
        return None
    return LoopFiles(queues[0], sockets, events)


@dataclass(frozen=True, slots=True)
class RunningLoop:
    """The loop that runs in this thread, and its current task."""

    loop: Any
    task: Any
    wakeup: int
    """The descriptor that Python's signal handler writes to."""

    @classmethod
    def get(cls) -> RunningLoop | None:
        """Return the loop of asyncio; None if there is none."""
        if "asyncio" not in sys.modules:
            return None
        import asyncio

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return None
        if type(loop) is not asyncio.SelectorEventLoop:
            return None
        wakeup = signal.set_wakeup_fd(-1)
        signal.set_wakeup_fd(wakeup)
        return cls(loop, asyncio.current_task(), wakeup)

    def resume(self) -> bool:
        """Tell asyncio, in a copy, that this loop is running; whether it knows the task, too."""
        import asyncio

        asyncio._set_running_loop(self.loop)
        signal.set_wakeup_fd(self.wakeup)
        return asyncio.current_task() is self.task
