"""A bounded key-value store of texts in SQLite, shared by processes; it never raises.

    store = Store(find_cache_folder(os.environ))
    store.put("9f3c...", text)
    store.get("9f3c...") == text          in any process

If the file is locked, read-only, on a full disk, corrupted or of another version, `get` finds nothing and `put` does
nothing, with one warning in the log. A corrupted file is renamed and a new one created. Writes are transactions in
SQLite's write-ahead log, so a process may be killed at any moment. Every text is stored with its checksum. Only the
user may read the file; a file of another user is not used.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from njrt.observability.logs import warn
from njrt.persistence.folder_lock import lock_folder
from njrt.private_files import check_private, open_private

SCHEMA_VERSION = 1
_CREATE_TABLE = """
CREATE TABLE IF NOT EXISTS kept(
    key TEXT PRIMARY KEY, text TEXT NOT NULL, checksum INTEGER NOT NULL, size INTEGER NOT NULL, used INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS kept_used ON kept(used);
"""
_BUSY_SECONDS = 2.0  # seconds to wait for another process's transaction
_PUTS_PER_SWEEP = 64  # puts between two checks of the total size

_USED_UPDATE_SECONDS = 3600  # a use is stored at most once an hour: a hit seldom writes

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoreStats:
    """The contents of a store, and its use in this process. Sizes are in bytes of text."""

    entries: int
    size: int
    hits: int
    misses: int


class Store:
    """Texts by key in `folder/name`, at most `max_bytes`; the least recently used are deleted first.

    Safe to share between threads (every thread has its own connection) and across `fork`.
    """

    def __init__(
        self,
        folder: str | Path,
        name: str = "replies.sqlite3",
        *,
        max_bytes: int = 256 * 1024 * 1024,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._now = now
        self.path = Path(folder) / name
        self._max_bytes = max_bytes
        self._here = threading.local()
        self._lock = threading.Lock()
        self._hits = self._misses = self._puts = 0
        self._has_warned = False

    def get(self, key: str) -> str | None:
        """The text stored under `key`, or None."""
        text = self._run_safely(lambda connection: self._read(connection, key), None)
        with self._lock:
            self._hits += text is not None
            self._misses += text is None
        return text

    def put(self, key: str, text: str) -> None:
        """Store `text` under `key`."""
        self._run_safely(lambda connection: self._write(connection, key, text), None)

    def remove(self, key: str) -> None:
        """Delete the text under `key`."""
        self._run_safely(lambda connection: self._delete(connection, key), None)

    def read_stats(self) -> StoreStats:
        """Count the stored texts."""
        query = "SELECT count(*), coalesce(sum(size), 0) FROM kept"
        nothing: tuple[int, int] = (0, 0)
        entries, size = self._run_safely(
            lambda connection: connection.execute(query).fetchone(), nothing
        )
        return StoreStats(entries, size, self._hits, self._misses)

    def clear(self) -> int:
        """Delete everything; return the number of texts."""
        return self._run_safely(self._delete_all, 0)

    def close(self) -> None:
        """Close this thread's connection; it is opened again when needed."""
        connection, self._here.connection = getattr(self._here, "connection", None), None
        if connection is not None and self._here.process == os.getpid():
            connection.close()

    # --- queries

    def _read(self, connection: sqlite3.Connection, key: str) -> str | None:
        row = connection.execute(
            "SELECT text, checksum, used FROM kept WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return None
        text, checksum, used = row
        if type(text) is not str or _compute_checksum(key, text) != checksum:
            raise sqlite3.DatabaseError("a stored text does not have its checksum")
        now = int(self._now())
        if now - used > _USED_UPDATE_SECONDS:
            with contextlib.suppress(sqlite3.OperationalError):
                connection.execute("UPDATE kept SET used = ? WHERE key = ?", (now, key))
        return text

    def _write(self, connection: sqlite3.Connection, key: str, text: str) -> None:
        size = len(text.encode())
        if size > self._max_bytes // 4:
            return
        connection.execute(
            "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?)",
            (key, text, _compute_checksum(key, text), size, int(self._now())),
        )
        with self._lock:
            self._puts += 1
            sweep = self._puts % _PUTS_PER_SWEEP == 1
        if sweep:
            self._sweep(connection)

    def _sweep(self, connection: sqlite3.Connection) -> None:
        """Delete the least recently used texts, down to nine tenths of the limit."""
        (size,) = connection.execute("SELECT coalesce(sum(size), 0) FROM kept").fetchone()
        if size <= self._max_bytes:
            return
        connection.execute(
            "DELETE FROM kept WHERE key IN (SELECT key FROM (SELECT key, sum(size) OVER (ORDER BY used DESC, key) "
            "AS newer FROM kept) WHERE newer > ?)",
            (self._max_bytes * 9 // 10,),
        )
        connection.execute("PRAGMA incremental_vacuum")

    def _delete(self, connection: sqlite3.Connection, key: str) -> None:
        connection.execute("DELETE FROM kept WHERE key = ?", (key,))

    def _delete_all(self, connection: sqlite3.Connection) -> int:
        deleted = connection.execute("DELETE FROM kept").rowcount
        connection.execute("PRAGMA incremental_vacuum")
        return deleted

    # --- connections and their failures

    def _run_safely(self, query: Callable[[sqlite3.Connection], T], default: T) -> T:
        """Call `query` with the connection; return `default` if it fails."""
        try:
            return query(self._get_connection())
        except sqlite3.OperationalError as error:
            # Locked, read-only, disk full, no such folder: the file itself is intact, if it still exists.
            self._warn_once(error)
            if _get_file_identity(self.path) != getattr(self._here, "identity", None):
                self.close()
        except (OSError, sqlite3.Error, UnicodeError) as error:
            # SQLite reports damage by this class itself; its subclasses are other errors.
            is_damaged = type(error) is sqlite3.DatabaseError
            self._quarantine_file(error) if is_damaged else self._warn_once(error)
        return default

    def _get_connection(self) -> sqlite3.Connection:
        here = self._here
        if getattr(here, "connection", None) is None or here.process != os.getpid():
            # A connection must be neither used nor closed in a child of the process that opened it.
            here.inherited = getattr(here, "connection", None)
            here.connection, here.process, here.identity = None, os.getpid(), None
            here.connection = self._connect()
        connection: sqlite3.Connection = here.connection
        return connection

    def _connect(self) -> sqlite3.Connection:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for suffix in ("", "-wal", "-shm"):
            check_private(self.path.with_name(self.path.name + suffix))
        os.close(open_private(self.path, os.O_RDWR))  # SQLite gives its other files the same mode
        connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
        self._here.identity = _get_file_identity(self.path)
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version not in (0, SCHEMA_VERSION):
                raise sqlite3.DatabaseError(f"the cache has schema {version}, not {SCHEMA_VERSION}")
            if version == 0:
                _create_tables(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _quarantine_file(self, error: Exception) -> None:
        """Rename an unusable file, so that the next use creates a new one."""
        with contextlib.suppress(sqlite3.Error):
            self.close()
        self._warn_once(error)
        with contextlib.suppress(OSError), lock_folder(self.path.parent):
            if _get_file_identity(self.path) != self._here.identity:
                return  # another process has renamed it already; this file is a new one
            os.replace(self.path, self.path.with_name(self.path.name + ".bad"))
            for suffix in ("-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.path.with_name(self.path.name + suffix))

    def _warn_once(self, error: Exception) -> None:
        if not self._has_warned:
            self._has_warned = True
            warn("the cache %s cannot be used (%s); continuing without it", self.path, error)


def _get_file_identity(path: Path) -> tuple[int, int] | None:
    """Device and inode, to detect that another file has replaced this one."""
    with contextlib.suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


def _create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of a new file, in one transaction: another process may do the same."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(
        f"BEGIN IMMEDIATE;{_CREATE_TABLE}PRAGMA user_version = {SCHEMA_VERSION};COMMIT;"
    )


def _compute_checksum(key: str, text: str) -> int:
    return zlib.crc32(text.encode(), zlib.crc32(key.encode()))
