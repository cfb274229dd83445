"""Checkpoints: copies of a program under control that wait where they were made.

    find_obstacle(own_files)      None, or why a copy would not be safe here
    fork_quietly()                as os.fork, without a warning about the thread of njrt

    schedule = CheckpointSchedule(interval=20)
    schedule.take(40, None)       True: there is no checkpoint in the last 20 steps

A copy is made by `fork`. It shares with the program all that is outside of the memory of the process, so it is
made only where the program has one thread, and no socket, pipe, database or child process is open; of asyncio, only an
event loop that waits for nothing but timers and its own wake-up (see `event_loops`). Elsewhere going back is a replay
in a fresh process. The positions in open files are restored in a copy that goes on;
what was written to files in the meantime stays, as it does when the program is replayed. In a copy that goes on
`os.getpid` returns another number.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
import warnings
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from njc.runs.timeline.event_loops import LoopFiles, RunningLoop, find_loop_files
from njc.runs.timeline.steps import Position

_OWN_THREADS = {"njrt-time-limit"}
"""Threads that njrt starts, and starts again after a fork."""


def find_obstacle(own_files: Collection[int]) -> str | None:
    """Why this process cannot be copied safely now, apart from these file descriptors; None if it can."""
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
    """Return the open files, apart from these, that copies cannot share: what each is."""
    return {
        handle: kind
        for handle in list_open_files()
        if handle > 2 and handle not in own_files and (kind := _find_unsafe_kind(handle))
    }


def _find_unsafe_kind(handle: int) -> str | None:
    try:
        mode = os.fstat(handle).st_mode
    except OSError:  # closed
        return None
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISCHR(mode):
        return None
    return "socket" if stat.S_ISSOCK(mode) else "pipe" if stat.S_ISFIFO(mode) else "event queue"


_KINDS = ("event queue", "pipe", "socket")
"""What is said of an event loop with sockets of its own is that it has sockets."""


def _has_children() -> bool:
    """Return whether this process has children that it did not make as checkpoints; known on Linux only."""
    own = {str(pid) for pid in _checkpoint_processes}
    with suppress(OSError):
        for task in Path("/proc/self/task").iterdir():
            if set((task / "children").read_text().split()) - own:
                return True
    return False


_checkpoint_processes: set[int] = set()


def fork_quietly() -> int:
    """Copy this process: 0 in the copy, in the process the copy's number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        _checkpoint_processes.add(pid)
    else:
        _checkpoint_processes.clear()
    return pid


@dataclass(frozen=True, slots=True)
class ProcessState:
    """What a copy of the process must restore."""

    positions: Mapping[int, int]
    """In the open regular files."""
    loop: RunningLoop | None
    loop_files: LoopFiles | None

    def resume_loop(self) -> bool:
        """Let the event loop run on in a copy, if there is one; whether it can."""
        return self.loop is None or self.loop.resume()

    def restore(self) -> None:
        """Make a copy that goes on as the process was."""
        self.resume_loop()
        if self.loop_files is not None:
            self.loop_files.replace()
        for handle, position in self.positions.items():
            with suppress(OSError):
                os.lseek(handle, position, os.SEEK_SET)


def read_process_state(own_files: Collection[int]) -> ProcessState:
    """Return the state of this process, apart from these file descriptors."""
    positions = {}
    for handle in list_open_files():
        with suppress(OSError):
            if handle > 2 and stat.S_ISREG(os.fstat(handle).st_mode):
                positions[handle] = os.lseek(handle, 0, os.SEEK_CUR)
    loop_files = find_loop_files(list_unsafe_files(own_files))
    return ProcessState(positions, RunningLoop.get(), loop_files)


DENSE_INTERVAL = 5
"""Steps between two checkpoints just before a position to which the user has gone back."""


@dataclass(slots=True)
class CheckpointSchedule:
    """When checkpoints are due (state: the steps that have one)."""

    interval: int = 0
    """Steps between two checkpoints; 0 for none."""
    taken: set[int] = field(default_factory=set)

    def take(self, number: int, target: Position | None) -> bool:
        """Return whether a checkpoint is due at this step, on the way to a target; it counts as taken from now on."""
        interval = self.interval
        if target is not None and number > target.number - interval:
            interval = min(interval, DENSE_INTERVAL)  # the user may go back further
        if not interval or not self.taken.isdisjoint(range(number - interval + 1, number + 1)):
            return False
        self.taken.add(number)
        return True
