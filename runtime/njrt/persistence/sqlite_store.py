"""A store in one SQLite file, shared by the processes of one machine, which only its user may read.

    store = SqliteStore(Path("~/.local/state/njc/store.sqlite3").expanduser())

A process may be killed at any moment; a power failure may lose the last writes. Damage raises `DamagedStoreError`.

A process must not close a file while it has a connection to it: on POSIX that removes its locks. A forked child
inherits SQLite's list of locks, but not the locks. So the file is created without being opened (`create_private`),
and all connections are closed before a fork. (https://www.sqlite.org/howtocorrupt.html, sections 2.2 and 2.7.)
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

from njrt.context import free_in_child
from njrt.errors import DamagedStoreError, StoreError
from njrt.private_files import check_private, create_private, lock_folder
from njrt.stores import StoreSize

SCHEMA_VERSION = 2
_CREATE_TABLES = (
    """
CREATE TABLE IF NOT EXISTS kept(
    key TEXT PRIMARY KEY, text TEXT NOT NULL, checksum INTEGER NOT NULL, size INTEGER NOT NULL, used INTEGER NOT NULL,
    evictable INTEGER NOT NULL DEFAULT 1
) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS kept_used ON kept(used)",
    """
CREATE TABLE IF NOT EXISTS lines(
    log TEXT, number INTEGER, text TEXT NOT NULL, checksum INTEGER NOT NULL, size INTEGER NOT NULL,
    PRIMARY KEY(log, number)
) WITHOUT ROWID""",
)
_UPGRADE_FROM_1 = "ALTER TABLE kept ADD COLUMN evictable INTEGER NOT NULL DEFAULT 1"
_BUSY_SECONDS = 20.0  # seconds to wait for other processes' transactions
_PUTS_PER_SWEEP = 64  # puts between two checks of the total size
_USED_UPDATE_SECONDS = 3600  # a use is stored at most once an hour, so that a hit seldom writes


class _Connection(sqlite3.Connection):
    """One thread's connection; the thread holds `lock` while using it (state: whether a fork has closed it)."""

    lock: threading.RLock
    is_closed = False


class _OpenConnections:
    """The connections of this process, which are closed before it forks (state)."""

    def __init__(self) -> None:
        self.opening = threading.RLock()
        self._connections: weakref.WeakSet[_Connection] = weakref.WeakSet()
        self._held: list[_Connection] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._close, after_in_parent=self._release, after_in_child=self._release
            )

    def add(self, connection: _Connection) -> None:
        self._connections.add(connection)

    def _close(self) -> None:
        """Wait until no thread uses or opens a connection, and close them all."""
        self.opening.acquire()
        self._held = list(self._connections)
        for connection in self._held:
            connection.lock.acquire()
            connection.is_closed = True
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def _release(self) -> None:
        for connection in self._held:
            connection.lock.release()
        self._held = []
        self._connections.clear()
        self.opening.release()


_open_connections = _OpenConnections()


class SqliteStore:
    """A `Store` in the file `path`, with at most `max_bytes` of evictable texts.

    The least recently used of these are deleted first, and a text larger than a quarter of `max_bytes` is not stored.
    Every thread has its own connection. `busy_seconds` is how long to wait for another process's transaction.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        max_bytes: int = 256 * 1024 * 1024,
        busy_seconds: float = _BUSY_SECONDS,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.path = Path(path).absolute()
        self.name = str(self.path)
        self.now = now
        self._max_bytes = max_bytes
        self._busy_seconds = busy_seconds
        self._here = threading.local()
        self._lock = free_in_child(threading.RLock())
        self._puts = 0

    def get(self, key: str) -> str | None:
        with self._borrow_connection() as connection:
            query = "SELECT text, checksum, used FROM kept WHERE key = ?"
            row = connection.execute(query, (key,)).fetchone()
            if row is None:
                return None
            text, checksum, used = row
            _check_text(key, text, checksum)
            now = int(self.now())
            if now - used > _USED_UPDATE_SECONDS:
                with contextlib.suppress(sqlite3.OperationalError):
                    connection.execute("UPDATE kept SET used = ? WHERE key = ?", (now, key))
            return str(text)

    def put(self, key: str, text: str) -> None:
        with self._borrow_connection() as connection:
            if len(text.encode()) > self._max_bytes // 4:
                return
            connection.execute(
                "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?, 1)", self._make_row(key, text)
            )
            with self._lock:
                self._puts += 1
                sweep = self._puts % _PUTS_PER_SWEEP == 1
            if sweep:
                self._sweep(connection)

    def swap(self, key: str, old: str | None, new: str | None) -> bool:
        if old is None and new is None:
            return self.get(key) is None
        with self._borrow_connection() as connection:
            if new is None:
                done = connection.execute("DELETE FROM kept WHERE key = ? AND text = ?", (key, old))
            elif old is None:
                query = "INSERT OR IGNORE INTO kept VALUES (?, ?, ?, ?, ?, 0)"
                done = connection.execute(query, self._make_row(key, new))
            else:
                done = connection.execute(
                    "UPDATE kept SET text = ?2, checksum = ?3, size = ?4, used = ?5, evictable = 0 "
                    "WHERE key = ?1 AND text = ?6",
                    (*self._make_row(key, new), old),
                )
            return done.rowcount == 1

    def append(self, key: str, line: str) -> int:
        with self._borrow_connection() as connection:
            (number,) = connection.execute(
                "INSERT INTO lines SELECT ?, coalesce(max(number), 0) + 1, ?, ?, ? FROM lines WHERE log = ? "
                "RETURNING number",
                (key, line, _compute_checksum(key, line), len(line.encode()), key),
            ).fetchone()
            return int(number)

    def read_log(self, key: str, after: int = 0) -> Sequence[str]:
        query = "SELECT text, checksum FROM lines WHERE log = ? AND number > ? ORDER BY number"
        with self._borrow_connection() as connection:
            rows = connection.execute(query, (key, after))
            return [_check_text(key, text, checksum) for text, checksum in rows]

    def list_keys(self, prefix: str) -> Sequence[str]:
        query = (
            "SELECT key FROM kept WHERE substr(key, 1, ?1) = ?2 "
            "UNION SELECT log FROM lines WHERE substr(log, 1, ?1) = ?2 ORDER BY 1"
        )
        with self._borrow_connection() as connection:
            return [key for (key,) in connection.execute(query, (len(prefix), prefix))]

    def measure(self, prefix: str) -> StoreSize:
        query = (
            "SELECT count(*), coalesce(sum(size), 0) FROM (SELECT size FROM kept WHERE substr(key, 1, ?1) = ?2 "
            "UNION ALL SELECT size FROM lines WHERE substr(log, 1, ?1) = ?2)"
        )
        with self._borrow_connection() as connection:
            return StoreSize(*connection.execute(query, (len(prefix), prefix)).fetchone())

    def clear(self, prefix: str) -> int:
        deleted = 0
        with self._borrow_connection() as connection:
            for table, column in (("kept", "key"), ("lines", "log")):
                query = f"DELETE FROM {table} WHERE substr({column}, 1, ?) = ?"
                deleted += connection.execute(query, (len(prefix), prefix)).rowcount
            connection.execute("PRAGMA incremental_vacuum")
        return deleted

    def close(self) -> None:
        """Close this thread's connection; it is reopened when needed."""
        connection, self._here.connection = getattr(self._here, "connection", None), None
        if connection is not None and self._here.process == os.getpid():
            with connection.lock:
                connection.close()

    def set_aside(self) -> None:
        """Rename a damaged file, so that the next use creates a new one."""
        with contextlib.suppress(sqlite3.Error):
            self.close()
        with contextlib.suppress(OSError), lock_folder(self.path.parent):
            if _get_file_identity(self.path) != self._here.identity:
                return  # another process has already renamed it; this file is a new one
            os.replace(self.path, self.path.with_name(self.path.name + ".bad"))
            for suffix in ("-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.path.with_name(self.path.name + suffix))

    def _make_row(self, key: str, text: str) -> tuple[str, str, int, int, int]:
        return key, text, _compute_checksum(key, text), len(text.encode()), int(self.now())

    def _sweep(self, connection: sqlite3.Connection) -> None:
        """Delete the least recently used texts, down to nine tenths of the limit."""
        query = "SELECT coalesce(sum(size), 0) FROM kept WHERE evictable"
        (size,) = connection.execute(query).fetchone()
        if size <= self._max_bytes:
            return
        connection.execute(
            "DELETE FROM kept WHERE key IN (SELECT key FROM (SELECT key, sum(size) OVER (ORDER BY used DESC, key) "
            "AS newer FROM kept WHERE evictable) WHERE newer > ?)",
            (self._max_bytes * 9 // 10,),
        )
        connection.execute("PRAGMA incremental_vacuum")

    # --- connections and their failures

    @contextlib.contextmanager
    def _borrow_connection(self) -> Iterator[sqlite3.Connection]:
        """Hold this thread's connection, which no fork then closes; its failures become `StoreError`s."""
        try:
            while True:
                connection = self._get_connection()
                with connection.lock:
                    if not connection.is_closed:
                        yield connection
                        return
        except (OSError, sqlite3.Error, UnicodeError) as error:
            is_same = _get_file_identity(self.path) == getattr(self._here, "identity", None)
            if isinstance(error, sqlite3.OperationalError) and not is_same:
                self.close()  # otherwise locked, read-only or disk full: the file itself is intact
            # SQLite reports damage with this class itself; its subclasses are other errors.
            kind = DamagedStoreError if type(error) is sqlite3.DatabaseError else StoreError
            raise kind(f"the store {self.path} cannot be used ({error})") from error

    def _get_connection(self) -> _Connection:
        here = self._here
        connection: _Connection | None = getattr(here, "connection", None)
        if connection is None or connection.is_closed or here.process != os.getpid():
            # A fork that ran no hooks: the connection must be neither used nor closed in the child.
            here.inherited = connection
            here.connection, here.process, here.identity = None, os.getpid(), None
            with _open_connections.opening:
                here.connection = connection = self._connect()
                _open_connections.add(connection)
        return connection

    def _connect(self) -> _Connection:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for suffix in ("", "-wal", "-shm"):
            check_private(self.path.with_name(self.path.name + suffix))
        create_private(self.path)  # SQLite creates its other files with the same mode
        connection = sqlite3.connect(
            self.path,
            timeout=self._busy_seconds,
            isolation_level=None,
            check_same_thread=False,  # a fork in another thread closes it
            factory=_Connection,
        )
        connection.lock = threading.RLock()
        self._here.identity = _get_file_identity(self.path)
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version not in (0, 1, SCHEMA_VERSION):
                raise sqlite3.DatabaseError(f"it has schema {version}, not {SCHEMA_VERSION}")
            if version != SCHEMA_VERSION:
                _create_tables(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection


def _get_file_identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode, to detect that another file has replaced this one."""
    with contextlib.suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


_LOCKED_WAITS = (0.01, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Seconds between attempts to change a new file's journal mode."""


def _create_tables(connection: sqlite3.Connection) -> None:
    """Create a new file's tables, or migrate an older file, in one transaction: other processes may do the same."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    for wait in (*_LOCKED_WAITS, None):
        # SQLite does not wait for another process that is changing the same new file's mode.
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError:
            if wait is None:
                raise
            time.sleep(wait)
    connection.execute("BEGIN IMMEDIATE")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 1:
        connection.execute(_UPGRADE_FROM_1)
    for statement in _CREATE_TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")


def _check_text(key: str, text: object, checksum: int) -> str:
    if type(text) is not str or _compute_checksum(key, text) != checksum:
        raise sqlite3.DatabaseError("a stored text does not have its checksum")
    return text


def _compute_checksum(key: str, text: str) -> int:
    return zlib.crc32(text.encode(), zlib.crc32(key.encode()))
