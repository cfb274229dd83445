"""A store in one SQLite file, shared by the processes of one machine, which only its user may read.

    store = SqliteStore(Path("~/.local/state/njc/store.sqlite3").expanduser())

A process may be killed at any moment; a power failure may lose the last writes. A damaged file
stays as it is, and raises `DamagedStoreError`.

A process has one connection to a file, and closes it before it forks: a forked child inherits
SQLite's list of locks, but not the locks. The file is created without being opened, because closing
it would remove its locks. (https://www.sqlite.org/howtocorrupt.html, sections 2.2 and 2.7.)
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from njrt.data.private_files import check_private, create_private, lock_folder
from njrt.errors import DamagedStoreError, StoreError
from njrt.stores import StoreSize

SCHEMA_VERSION = 2
_CREATE_TABLES = f"""
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS kept(
    key TEXT PRIMARY KEY, text TEXT NOT NULL, checksum INTEGER NOT NULL, size INTEGER NOT NULL,
    used INTEGER NOT NULL, evictable INTEGER NOT NULL DEFAULT 1
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS kept_used ON kept(used);
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""
_EVICTED_SECONDS = 30 * 24 * 3600
"""How long a text that may be evicted is kept."""
_PUT = "INSERT OR REPLACE INTO kept VALUES (?, ?, 0, ?, ?, ?)"  # older versions had a checksum

_lock = threading.RLock()
"""Held while a connection is used, so that no other thread forks meanwhile."""
_stores: weakref.WeakSet[SqliteStore] = weakref.WeakSet()


def _prepare_fork() -> None:
    _lock.acquire()
    for store in _stores:
        store.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_prepare_fork, after_in_parent=_lock.release, after_in_child=_lock.release
    )


class SqliteStore:
    """A `Store` in the file `path` (state: its connection, while it is open).

    Texts that may be evicted and are older than 30 days are deleted by the next `put`.
    `busy_seconds` is how long to wait for another process.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        busy_seconds: float = 20.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Describe a store; nothing is opened."""
        self.path = Path(path).absolute()
        self.name = str(self.path)
        self.now = now
        self._busy_seconds = busy_seconds
        self._connection: sqlite3.Connection | None = None
        with _lock:
            _stores.add(self)

    def get(self, key: str) -> str | None:
        with self._use() as connection:
            return _find_text(connection, key)

    def put(self, key: str, text: str) -> None:
        with self._use() as connection:
            oldest = self.now() - _EVICTED_SECONDS
            connection.execute("DELETE FROM kept WHERE evictable AND used < ?", (oldest,))
            connection.execute(_PUT, (*self._make_row(key, text), 1))

    def swap(self, key: str, old: str | None, new: str | None) -> bool:
        with self._use() as connection, connection:  # commits, or rolls back after an error
            connection.execute("BEGIN IMMEDIATE")
            if _find_text(connection, key) != old:
                return False
            if new is None:
                connection.execute("DELETE FROM kept WHERE key = ?", (key,))
            else:
                connection.execute(_PUT, (*self._make_row(key, new), 0))
            return True

    def list_keys(self, prefix: str) -> Sequence[str]:
        query = "SELECT key FROM kept WHERE substr(key, 1, ?) = ? ORDER BY key"
        with self._use() as connection:
            return [key for (key,) in connection.execute(query, (len(prefix), prefix))]

    def measure(self, prefix: str) -> StoreSize:
        query = "SELECT count(*), coalesce(sum(size), 0) FROM kept WHERE substr(key, 1, ?) = ?"
        with self._use() as connection:
            return StoreSize(*connection.execute(query, (len(prefix), prefix)).fetchone())

    def clear(self, prefix: str) -> int:
        query = "DELETE FROM kept WHERE substr(key, 1, ?) = ?"
        with self._use() as connection:
            deleted = connection.execute(query, (len(prefix), prefix)).rowcount
            connection.execute("PRAGMA incremental_vacuum")
        return deleted

    def close(self) -> None:
        """Close the connection; it is reopened when needed."""
        with _lock, contextlib.suppress(sqlite3.Error):
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _make_row(self, key: str, text: str) -> tuple[str, str, int, int]:
        return key, text, len(text.encode()), int(self.now())

    @contextlib.contextmanager
    def _use(self) -> Iterator[sqlite3.Connection]:
        """Hold the connection, which no fork then closes; its failures become `StoreError`s."""
        with _lock:
            try:
                if self._connection is None:
                    self._connection = self._connect()
                yield self._connection
            except (OSError, sqlite3.Error, UnicodeError) as error:
                self.close()
                # SQLite reports damage with this class itself; its subclasses are other errors.
                kind = DamagedStoreError if type(error) is sqlite3.DatabaseError else StoreError
                raise kind(f"the store {self.name} cannot be used ({error})") from error

    def _connect(self) -> sqlite3.Connection:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for suffix in ("", "-wal", "-shm"):
            check_private(self.path.with_name(self.path.name + suffix))
        create_private(self.path)  # SQLite creates its other files with the same mode
        connection = _open(str(self.path), self._busy_seconds)
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == 0:
                with lock_folder(self.path.parent):  # another process may do the same
                    connection.executescript(_CREATE_TABLES)
            elif version != SCHEMA_VERSION:
                raise sqlite3.DatabaseError(f"it has schema {version}, not {SCHEMA_VERSION}")
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection


class MemoryStore(SqliteStore):
    """A `Store` that no other process sees; nothing is evicted. Its URL is `memory:`."""

    def __init__(self, now: Callable[[], float] = time.time, name: str = "memory:") -> None:
        """Make an empty store."""
        super().__init__(name, now=now)
        self.name = name

    def _connect(self) -> sqlite3.Connection:
        connection = _open(":memory:", 0)
        connection.executescript(_CREATE_TABLES)
        return connection

    def close(self) -> None:
        """Do nothing; the texts stay."""


def _open(place: str, busy_seconds: float) -> sqlite3.Connection:
    return sqlite3.connect(
        place, timeout=busy_seconds, isolation_level=None, check_same_thread=False
    )


def _find_text(connection: sqlite3.Connection, key: str) -> str | None:
    row = connection.execute("SELECT text FROM kept WHERE key = ?", (key,)).fetchone()
    return None if row is None else row[0]
