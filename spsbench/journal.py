"""A results file being written: it only grows, and `append` returns once the line is on disk.

    with Journal(Path("results.jsonl"), BENCHMARK_KINDS) as journal:
        journal.append(result)           written and synced
        journal.read()                   the results of all lines, with the earlier ones

If the process is killed, no appended line is lost; a partly written line is removed when the file
is next opened. Only one process may have a file open. Without a path, lines are kept only in
memory.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from njrt.data.private_files import end_last_line
from njrt.values.dataclass_json import to_json, validate_value
from spsbench.results import (
    BENCHMARK_KINDS,
    InputError,
    Item,
    Results,
    RunLine,
    TrialLine,
    parse_json_lines,
    read_results,
    split_lines,
)


@contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Prefix the message of an `InputError` with the name of a file."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"{path}: {error}") from None


def read_data_file(path: Path) -> tuple[list[str], str]:
    """Return the lines of a text file, with invalid UTF-8 replaced, and its digest."""
    data = path.read_bytes()
    return split_lines(data.decode("utf-8", "replace")), compute_digest(data)


def compute_digest(data: bytes) -> str:
    """Return the first 16 digits of the SHA-256."""
    return hashlib.sha256(data).hexdigest()[:16]


def read_results_file(path: Path, kinds: tuple[type, ...] = BENCHMARK_KINDS) -> Results:
    """Return the results in a file; `InputError` names the file and an unreadable line."""
    with naming(path):
        found = read_results(read_data_file(path)[0], kinds)
        if not found.entries:
            raise InputError("the file has no results; name another file")
        return found


def read_rows(path: Path, kind: type[Item], expected: str) -> list[Item]:
    """Return a file's lines as objects; InputError describes an invalid line as `expected`."""
    with naming(path):
        parsed = parse_json_lines(
            read_data_file(path)[0], lambda _, row: validate_value(row, kind), expected
        )
        return list(parsed)


class Journal:
    """A results file with lines of given kinds, open for appending (state: the file and lines)."""

    def __init__(self, path: Path | None, kinds: tuple[type, ...] = BENCHMARK_KINDS) -> None:
        self.path = path
        self._kinds = kinds
        self._found = Results()
        self._handle = -1

    def __enter__(self) -> Journal:
        if self.path is None:
            return self
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise InputError(
                f"cannot write to {self.path}: {error.strerror}; name another file by --out"
            ) from None
        try:
            self._lock()
            with naming(self.path):
                self._found = read_results(read_data_file(self.path)[0], self._kinds)
            end_last_line(self.path)
        except BaseException:
            os.close(self._handle)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle >= 0:
            os.close(self._handle)

    def read(self) -> Results:
        """Return all lines."""
        return self._found

    def append(self, entry: RunLine | TrialLine) -> None:
        """Write a line and wait until it is on disk; raise `InputError`, as on a full disk."""
        self._found = replace(self._found, entries=(*self._found.entries, entry))
        if self._handle < 0:
            return
        line = to_json(entry).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._handle, line) :]
            os.fsync(self._handle)
        except OSError as error:
            raise InputError(
                f"cannot write to {self.path}: {error.strerror}; the file keeps its content, and"
                " the same command continues"
            ) from None

    def _lock(self) -> None:
        """Lock the file while it is open; does nothing on systems without such locks (Windows)."""
        try:
            import fcntl
        except ImportError:
            return
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another process writes to {self.path}; wait for it, or name another file by --out"
            ) from None
