"""A store in a Postgres database, shared by machines; requires the extra `postgres`.

    store = PostgresStore("postgresql://njc@db.example/prod")

The tables `njc_texts` and `njc_lines` are created in the first schema of the search path when they are first needed.
Each change is one transaction. Idle connections are shared by a process's threads and kept for its lifetime.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from njrt.errors import StoreError, require_packages
from njrt.stores import StoreSize, decode_text, encode_text

if TYPE_CHECKING:
    import psycopg

CONNECT_SECONDS = 5
STATEMENT_SECONDS = 20
"""Seconds to wait for a connection, and for one statement."""

_CREATE_TABLES = """
SELECT pg_advisory_xact_lock(hashtext('njc tables'));
CREATE TABLE IF NOT EXISTS njc_texts(
    key TEXT COLLATE "C" PRIMARY KEY, text BYTEA NOT NULL, evictable BOOLEAN NOT NULL,
    used TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE IF NOT EXISTS njc_lines(
    log TEXT COLLATE "C", number BIGINT, text BYTEA NOT NULL, PRIMARY KEY(log, number)
);
"""
_PUTS_PER_SWEEP = 64
_MAX_IDLE = 8  # idle connections that one process keeps open

T = TypeVar("T")


class PostgresStore:
    """A `Store` in the database that `url` names, as psycopg and libpq read it.

    Evictable texts take at most `max_bytes` together; the oldest are deleted first, and a text larger than a quarter
    of that is not stored.
    """

    def __init__(
        self, url: str, name: str | None = None, *, max_bytes: int = 1024 * 1024 * 1024
    ) -> None:
        require_packages("a store on Postgres", "njpy-runtime[postgres]", "psycopg")
        self.name = name or url
        self._url = url
        self._max_bytes = max_bytes
        self._lock = threading.RLock()
        self._idle: list[psycopg.Connection[Any]] = []
        self._process = os.getpid()
        self._puts = 0

    def get(self, key: str) -> str | None:
        rows = self._select("SELECT text FROM njc_texts WHERE key = %s", key)
        return decode_text(rows[0][0]) if rows else None

    def put(self, key: str, text: str) -> None:
        if len(encode_text(text)) > self._max_bytes // 4:
            return
        query = (
            "INSERT INTO njc_texts VALUES (%s, %s, TRUE) ON CONFLICT (key) DO UPDATE "
            "SET text = excluded.text, evictable = TRUE, used = clock_timestamp()"
        )
        self._run(
            lambda connection: connection.execute(query, (key, encode_text(text))), again=True
        )
        with self._lock:
            self._puts += 1
            sweep = self._puts % _PUTS_PER_SWEEP == 1
        if sweep:
            self._run(self._sweep, again=True)

    def swap(self, key: str, old: str | None, new: str | None) -> bool:
        if old is None and new is None:
            return self.get(key) is None
        if old is None:
            query = "INSERT INTO njc_texts VALUES (%s, %s, FALSE) ON CONFLICT (key) DO NOTHING"
            return self._change(query, key, encode_text(new or "")) == 1
        if new is None:
            query = "DELETE FROM njc_texts WHERE key = %s AND text = %s"
            return self._change(query, key, encode_text(old)) == 1
        query = (
            "UPDATE njc_texts SET text = %s, evictable = FALSE, used = clock_timestamp() "
            "WHERE key = %s AND text = %s"
        )
        return self._change(query, encode_text(new), key, encode_text(old)) == 1

    def append(self, key: str, line: str) -> int:
        def insert(connection: psycopg.Connection[Any]) -> int:
            with connection.transaction():
                # With the lock, lines are numbered in the order in which they become visible.
                connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (key,))
                row = connection.execute(
                    "INSERT INTO njc_lines SELECT %s, coalesce(max(number), 0) + 1, %s FROM njc_lines "
                    "WHERE log = %s RETURNING number",
                    (key, encode_text(line), key),
                ).fetchone()
            assert row is not None
            return int(row[0])

        return self._run(insert)

    def read_log(self, key: str, after: int = 0) -> Sequence[str]:
        query = "SELECT text FROM njc_lines WHERE log = %s AND number > %s ORDER BY number"
        return [decode_text(text) for (text,) in self._select(query, key, after)]

    def list_keys(self, prefix: str) -> Sequence[str]:
        query = (
            "SELECT key FROM njc_texts WHERE starts_with(key, %s) "
            'UNION SELECT log COLLATE "C" FROM njc_lines WHERE starts_with(log, %s) ORDER BY 1'
        )
        return [key for (key,) in self._select(query, prefix, prefix)]

    def measure(self, prefix: str) -> StoreSize:
        query = (
            "SELECT count(*), coalesce(sum(length(text)), 0)::bigint FROM "
            "(SELECT text FROM njc_texts WHERE starts_with(key, %s) "
            "UNION ALL SELECT text FROM njc_lines WHERE starts_with(log, %s)) AS stored"
        )
        return StoreSize(*self._select(query, prefix, prefix)[0])

    def clear(self, prefix: str) -> int:
        deleted = self._change("DELETE FROM njc_texts WHERE starts_with(key, %s)", prefix)
        return deleted + self._change("DELETE FROM njc_lines WHERE starts_with(log, %s)", prefix)

    def now(self) -> float:
        return float(self._select("SELECT extract(epoch FROM clock_timestamp())")[0][0])

    def close(self) -> None:
        """Close the idle connections; new ones are opened when needed."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            if self._process == os.getpid():
                connection.close()

    def _select(self, query: str, *arguments: Any) -> list[tuple[Any, ...]]:
        def fetch(connection: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
            return connection.execute(query.encode(), arguments).fetchall()

        return self._run(fetch, again=True)

    def _change(self, query: str, *arguments: Any) -> int:
        return self._run(lambda connection: connection.execute(query.encode(), arguments).rowcount)

    def _sweep(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute(
            "DELETE FROM njc_texts WHERE key IN (SELECT key FROM (SELECT key, sum(length(text)) "
            "OVER (ORDER BY used DESC, key) AS newer FROM njc_texts WHERE evictable) AS ages WHERE newer > %s) "
            "AND evictable",
            (self._max_bytes * 9 // 10,),
        )

    # --- connections and their failures

    def _run(self, query: Callable[[psycopg.Connection[Any]], T], again: bool = False) -> T:
        """Call `query` with a connection; with `again`, retry once after a failure, with a new connection."""
        import psycopg

        try:
            with self._borrow_connection() as connection:
                return query(connection)
        except (psycopg.Error, OSError) as error:
            if again:
                self.close()
                return self._run(query)
            reason = " ".join(str(error).split()) or type(error).__name__
            raise StoreError(f"the store {self.name} cannot be used ({reason})") from error

    @contextmanager
    def _borrow_connection(self) -> Iterator[psycopg.Connection[Any]]:
        connection = self._take_idle_connection() or self._connect()
        process = os.getpid()
        try:
            yield connection
        except BaseException:
            # The connection's state is unknown after an error or an interrupt.
            with suppress(Exception):
                connection.close()
            raise
        if process != os.getpid():
            return
        with self._lock:
            if len(self._idle) < _MAX_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _take_idle_connection(self) -> psycopg.Connection[Any] | None:
        """Return a connection that the server has not closed since its last use."""
        if self._process != os.getpid():
            # Connections must be neither used nor closed in a child of the process that opened them.
            self._inherited, self._idle = self._idle, []
            self._lock, self._process = threading.RLock(), os.getpid()
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            # A message between two queries announces that the server closes the connection.
            has_input = not connection.closed and select.select([connection.fileno()], [], [], 0)[0]
            if not connection.closed and not has_input:
                return connection
            connection.close()

    def _connect(self) -> psycopg.Connection[Any]:
        import psycopg

        limits: dict[str, Any] = {}
        if "connect_timeout" not in self._url:
            limits["connect_timeout"] = CONNECT_SECONDS
        connection = psycopg.connect(self._url, autocommit=True, **limits)
        try:
            connection.execute(f"SET statement_timeout = '{STATEMENT_SECONDS}s'".encode())
            found = connection.execute("SELECT to_regclass('njc_lines')").fetchone()
            if found is None or found[0] is None:
                with connection.transaction():
                    connection.execute(_CREATE_TABLES)
        except BaseException:
            connection.close()
            raise
        return connection
