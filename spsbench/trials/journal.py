"""The results file while it is written: it only grows, line by line, and each line is on the disk at once.

    with Journal(Path("results.jsonl")) as journal:
        journal.results                  what is there already
        journal.append(result)           written and synced before it returns

A kill at any moment loses no line that was appended. A line that a kill cut off is removed when the file is
next opened. Only one runner may have a file open.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from spsbench.results import BenchmarkRun, ResultSet, TrialResult, format_result_line, read_results


class JournalInUseError(Exception):
    """Another runner writes to the same file."""


class Journal:
    """A results file that is open for appending (state: the file)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results = ResultSet()
        self._handle = -1

    def __enter__(self) -> Journal:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            self._lock()
            data = self.path.read_bytes()
            self.results = read_results(data.decode("utf-8", "replace").splitlines(keepends=True))
            os.ftruncate(self._handle, data.rfind(b"\n") + 1)
        except BaseException:
            os.close(self._handle)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._handle)

    def append(self, entry: BenchmarkRun | TrialResult) -> None:
        """Write an entry, and wait until it is on the disk."""
        line = format_result_line(entry).encode() + b"\n"
        while line:
            line = line[os.write(self._handle, line) :]
        os.fsync(self._handle)

    def _lock(self) -> None:
        """Keep others out as long as the file is open; on systems without such locks (Windows), just go on."""
        try:
            import fcntl
        except ImportError:
            return
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalInUseError(
                f"another `spsbench run` writes to {self.path}; wait for it, or name another file by --out"
            ) from None
