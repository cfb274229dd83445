"""Checkpoints: forked copies of a controlled program, each waiting at its step.

    find_obstacle(own_files)      None, or why a copy would not be safe here
    CheckpointSchedule(interval=20).take(40, None)       True: there is no checkpoint in the last 20 steps

A copy shares everything outside its memory, so it is only made if the program has one thread and no open socket,
pipe, database or child process. An asyncio event loop is allowed if it only waits for timers and its own wake-up
(known on Linux). A copy restores the positions in open files, but not their contents.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import stat
import sys
import threading
import warnings
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from njc.runs.timeline.steps import Position
from njrt.records import record


@record
class LoopFiles:
    """The file descriptors of an event loop, and the events that it waits for, by descriptor."""

    epoll: int
    sockets: tuple[int, ...]
    events: Mapping[int, int]

    @property
    def all(self) -> frozenset[int]:
        return frozenset((self.epoll, *self.sockets))

    def replace(self) -> None:
        """Replace the files with new ones at the same descriptors."""
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
    """Return the running loop's files among open files of these kinds; None if it may have others."""
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


@record
class RunningLoop:
    """The event loop running in this thread, and its current task."""

    loop: Any
    task: Any
    wakeup: int
    """The descriptor that Python's signal handler writes to."""

    @classmethod
    def get(cls) -> RunningLoop | None:
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
        """Make this the running loop in a copy; return whether asyncio still knows the task."""
        import asyncio

        asyncio._set_running_loop(self.loop)
        signal.set_wakeup_fd(self.wakeup)
        return asyncio.current_task() is self.task


_OWN_THREADS = {"njrt-time-limit"}
"""Threads that njrt starts, and restarts after a fork."""


def find_obstacle(own_files: Collection[int]) -> str | None:
    """Return why this process cannot be copied safely now, ignoring `own_files`; None if it can."""
    if not hasattr(os, "fork") or sys.platform == "win32":
        return "this system has no fork"
    if threading.current_thread() is not threading.main_thread():
        return "the block runs outside of the main thread"
    threads = [thread.name for thread in threading.enumerate()]
    if len([name for name in threads if name not in _OWN_THREADS]) > 1:
        return "the program has threads"
    if "sqlite3" in sys.modules:
        return "the program uses sqlite3"
    if _has_children():
        return "the program has child processes"
    kinds = list_unsafe_files(own_files)
    loop_files = find_loop_files(kinds)
    own = loop_files.all if loop_files is not None else ()
    others = [kind for handle, kind in kinds.items() if handle not in own]
    return f"the program has an open {max(others, key=_KINDS.index)}" if others else None


def list_open_files() -> list[int]:
    """Return the file descriptors of this process."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError):
            return [int(name) for name in os.listdir(folder) if name.isdigit()]
    return list(range(256))


def list_unsafe_files(own_files: Collection[int]) -> dict[int, str]:
    """Return the kind of each open file that copies cannot share, apart from `own_files`."""
    found = {}
    for handle in list_open_files():
        with suppress(OSError):  # closed meanwhile
            mode = os.fstat(handle).st_mode
            is_safe = stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISCHR(mode)
            if handle > 2 and handle not in own_files and not is_safe:
                is_socket, is_pipe = stat.S_ISSOCK(mode), stat.S_ISFIFO(mode)
                found[handle] = "socket" if is_socket else "pipe" if is_pipe else "event queue"
    return found


_KINDS = ("event queue", "pipe", "socket")
"""Kinds of unsafe files; if several are open, only the last in this order is reported."""


def _has_children() -> bool:
    """Return whether this process has children other than its checkpoints; known only on Linux."""
    own = {str(pid) for pid in _checkpoint_processes}
    with suppress(OSError):
        for task in Path("/proc/self/task").iterdir():
            if set((task / "children").read_text().split()) - own:
                return True
    return False


_checkpoint_processes: set[int] = set()


def fork_quietly() -> int:
    """Fork this process; return 0 in the copy, and the copy's process ID in the original."""
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        pid = os.fork()
    if pid:
        _checkpoint_processes.add(pid)
    else:
        _checkpoint_processes.clear()
    return pid


@record
class ProcessState:
    """The state that a copy of a process must restore."""

    positions: Mapping[int, int]
    """The positions in the open regular files."""
    loop: RunningLoop | None
    loop_files: LoopFiles | None

    def resume_loop(self) -> bool:
        """Resume the event loop, if there is one, in a copy; return whether that was possible."""
        return self.loop is None or self.loop.resume()

    def restore(self) -> None:
        self.resume_loop()
        if self.loop_files is not None:
            self.loop_files.replace()
        for handle, position in self.positions.items():
            with suppress(OSError):
                os.lseek(handle, position, os.SEEK_SET)


def read_process_state(own_files: Collection[int]) -> ProcessState:
    """Return the state of this process, ignoring these file descriptors."""
    positions = {}
    for handle in list_open_files():
        with suppress(OSError):
            if handle > 2 and stat.S_ISREG(os.fstat(handle).st_mode):
                positions[handle] = os.lseek(handle, 0, os.SEEK_CUR)
    loop_files = find_loop_files(list_unsafe_files(own_files))
    return ProcessState(positions, RunningLoop.get(), loop_files)


DENSE_INTERVAL = 5
"""Steps between checkpoints shortly before a position that the user has gone back to."""


@dataclass(slots=True)
class CheckpointSchedule:
    """Decides where to make checkpoints (state: the steps that have a checkpoint)."""

    interval: int = 0
    """Steps between checkpoints; 0 disables them."""
    taken: set[int] = field(default_factory=set)

    def take(self, number: int, target: Position | None) -> bool:
        """Return whether to make a checkpoint at this step on the way to a target; if so, count it as made."""
        interval = self.interval
        if target is not None and number > target.number - interval:
            interval = min(interval, DENSE_INTERVAL)  # the user may go back further
        if not interval or not self.taken.isdisjoint(range(number - interval + 1, number + 1)):
            return False
        self.taken.add(number)
        return True
