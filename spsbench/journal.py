"""A results file that is being written: it only grows, and each line is on the disk before `append` returns.

    with Journal(Path("results.jsonl"), read_results) as journal:
        journal.results                  what `read_results` makes of the lines that the file has already
        journal.append(result)           written and synced

A kill loses no line that was appended; a line that a kill cut off is removed when the file is next opened. Only
one process may have a file open. Without a path nothing is read or written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

from njrt.typed_json import to_json
from spsbench.results import DamagedResultsError, split_lines

ContentsT = TypeVar("ContentsT")


class JournalError(Exception):
    """A results file cannot be written to; names it."""


class JournalInUseError(JournalError):
    """Another process writes to the same file."""


class Journal(Generic[ContentsT]):
    """A results file, open for appending (state: the file)."""

    def __init__(self, path: Path | None, read: Callable[[Iterable[str]], ContentsT]) -> None:
        self.path = path
        self._read = read
        self.results = read([])
        self._handle = -1

    def __enter__(self) -> Journal[ContentsT]:
        if self.path is None:
            return self
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise JournalError(
                f"cannot write to {self.path}: {error.strerror}; name another file by --out"
            ) from None
        try:
            self._lock()
            data = self.path.read_bytes()
            self.results = self._read(split_lines(data.decode("utf-8", "replace")))
            os.ftruncate(self._handle, data.rfind(b"\n") + 1)
        except DamagedResultsError as damage:
            os.close(self._handle)
            raise DamagedResultsError(f"{self.path}: {damage}") from None
        except BaseException:
            os.close(self._handle)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle >= 0:
            os.close(self._handle)

    def append(self, entry: object) -> None:
        """Write an entry, a dataclass, and wait until it is on the disk; raises `JournalError`, as on a full disk."""
        if self._handle < 0:
            return
        line = to_json(entry).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._handle, line) :]
            os.fsync(self._handle)
        except OSError as error:
            raise JournalError(
                f"cannot write to {self.path}: {error.strerror}; what it has stays, and the same command continues"
            ) from None

    def _lock(self) -> None:
        """Lock the file as long as it is open; does nothing on systems without such locks (Windows)."""
        try:
            import fcntl
        except ImportError:
            return
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalInUseError(
                f"another process writes to {self.path}; wait for it, or name another file by --out"
            ) from None
