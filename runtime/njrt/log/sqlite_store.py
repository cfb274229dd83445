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
import zlib
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
_PUTS_PER_SWEEP = 64
"""Texts that are put between two checks of the total size."""

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

    It holds at most `max_bytes` of texts that may be evicted. The oldest of these are deleted
    first, and one larger than a quarter of `max_bytes` is not stored. `busy_seconds` is how long to
    wait for another process.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        max_bytes: int = 256 * 1024 * 1024,
        busy_seconds: float = 20.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Describe a store; nothing is opened."""
        self.path = Path(path).absolute()
        self.name = str(self.path)
        self.now = now
        self._max_bytes, self._busy_seconds = max_bytes, busy_seconds
        self._connection: sqlite3.Connection | None = None
        self._puts = 0
        with _lock:
            _stores.add(self)

    def get(self, key: str) -> str | None:
        with self._use() as connection:
            query = "SELECT text, checksum FROM kept WHERE key = ?"
            row = connection.execute(query, (key,)).fetchone()
            return None if row is None else _check_text(key, *row)

    def put(self, key: str, text: str) -> None:
        with self._use() as connection:
            if len(text.encode()) > self._max_bytes // 4:
                return
            query = "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?, 1)"
            connection.execute(query, self._make_row(key, text))
            if self._puts % _PUTS_PER_SWEEP == 0:
                self._evict(connection)
            self._puts += 1

    def swap(self, key: str, old: str | None, new: str | None) -> bool:
        with self._use() as connection, connection:  # commits, or rolls back after an error
            connection.execute("BEGIN IMMEDIATE")
            row = connection.execute("SELECT text FROM kept WHERE key = ?", (key,)).fetchone()
            if (None if row is None else row[0]) != old:
                return False
            if new is None:
                connection.execute("DELETE FROM kept WHERE key = ?", (key,))
            else:
                query = "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?, 0)"
                connection.execute(query, self._make_row(key, new))
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

    def _make_row(self, key: str, text: str) -> tuple[str, str, int, int, int]:
        return key, text, _compute_checksum(key, text), len(text.encode()), int(self.now())

    def _evict(self, connection: sqlite3.Connection) -> None:
        """Delete the oldest texts, down to nine tenths of the limit."""
        query = "SELECT coalesce(sum(size), 0) FROM kept WHERE evictable"
        if connection.execute(query).fetchone()[0] > self._max_bytes:
            connection.execute(
                "DELETE FROM kept WHERE key IN (SELECT key FROM (SELECT key, sum(size) "
                "OVER (ORDER BY used DESC, key) AS newer FROM kept WHERE evictable) "
                "WHERE newer > ?)",
                (self._max_bytes * 9 // 10,),
            )
            connection.execute("PRAGMA incremental_vacuum")

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
        super().__init__(name, max_bytes=2**62, now=now)
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


def _check_text(key: str, text: object, checksum: int) -> str:
    if type(text) is not str or _compute_checksum(key, text) != checksum:
        raise sqlite3.DatabaseError("a stored text does not have its checksum")
    return text


def _compute_checksum(key: str, text: str) -> int:
    return zlib.crc32(text.encode(), zlib.crc32(key.encode()))
