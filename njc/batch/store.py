"""The state of a batch in a folder beside its results: SQLite, one writer, safe to kill at any moment.

    with open_batch_store(Path("results.jsonl.batch")) as store:
        store.is_done(row)                  has this row, with this text, a result?
        store.put_outcome(row, outcome)     ... now it has
    store.export(Path("results.jsonl"))     all results, in the order of the rows

    results     one line a row                             replies     what a vendor has answered, by row and request
    requests    what waits to be sent or answered          batches     what was sent: journaled before it is sent

A result belongs to the number and the text of its row: a changed row is called again. Only the user may read the files;
they hold prompts and replies.
"""

from __future__ import annotations

import math
import os
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from njc.batch.rows import BatchRow, RowOutcome, RowUsage
from njrt.errors import ConfigurationError
from njrt.private_files import open_private

STORE_VERSION = 1
_CREATE_TABLES = """
CREATE TABLE IF NOT EXISTS facts(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS results(
    row INTEGER PRIMARY KEY, digest TEXT NOT NULL, line TEXT NOT NULL, failed INTEGER NOT NULL, at INTEGER NOT NULL,
    calls INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, usd REAL NOT NULL);
CREATE TABLE IF NOT EXISTS waiting(
    row INTEGER PRIMARY KEY, digest TEXT NOT NULL, idle INTEGER NOT NULL, seconds REAL NOT NULL,
    calls INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, usd REAL NOT NULL);
CREATE TABLE IF NOT EXISTS replies(
    row INTEGER NOT NULL, key TEXT NOT NULL, number INTEGER NOT NULL, body TEXT, problem TEXT, kind TEXT,
    PRIMARY KEY (row, key, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS requests(
    id TEXT PRIMARY KEY, row INTEGER NOT NULL, key TEXT NOT NULL, number INTEGER NOT NULL, model TEXT NOT NULL,
    body TEXT NOT NULL, size INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, batch INTEGER,
    UNIQUE (row, key, number));
CREATE INDEX IF NOT EXISTS requests_row ON requests(row);
CREATE INDEX IF NOT EXISTS requests_batch ON requests(batch, model, row);
CREATE TABLE IF NOT EXISTS batches(
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, model TEXT NOT NULL, wave INTEGER NOT NULL,
    requests INTEGER NOT NULL, state TEXT NOT NULL, vendor_id TEXT, at REAL NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A vendor's answer to one request: the JSON of the response, or the problem and its kind."""

    body: str | None
    problem: str | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class WaitingRequest:
    """A request of a row that has no reply yet; `model` is the name of its model, with the URL of an own server."""

    key: str
    number: int
    model: str
    body: str


@dataclass(frozen=True, slots=True)
class SentBatch:
    """A batch of a vendor: `new`, `submitting` (journaled), `submitted` (the vendor's id is known) or `ended`."""

    number: int
    key: str
    model: str
    wave: int
    requests: int
    state: str
    vendor_id: str | None
    at: float


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """How many rows are done, how many of them failed, and what everything has used."""

    done: int
    failed: int
    usage: RowUsage


class BatchStore:
    """The open state (state: a connection that holds the lock on the file)."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self._connection = connection

    # --- results

    def is_done(self, row: BatchRow) -> bool:
        """Whether the row has a result; that of an earlier text of the row does not count."""
        found = self._one("SELECT digest FROM results WHERE row = ?", row.index)
        return found is not None and found[0] == row.digest

    def put_outcome(self, row: BatchRow, outcome: RowOutcome) -> None:
        """Keep the result of a row, and forget what it needed on the way."""
        used = outcome.usage
        with self._connection as connection:
            connection.execute(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    row.index,
                    row.digest,
                    outcome.line,
                    outcome.failed,
                    time.time_ns(),
                    used.calls,
                    used.input,
                    used.output,
                    used.usd,
                ),
            )
            self._forget(row.index)

    def retry_failed(self) -> int:
        """Forget the results of failed rows, but not what they have cost; return how many there were."""
        with self._connection as connection:
            spent = self.read_counts().usage
            count = connection.execute("DELETE FROM results WHERE failed").rowcount
            left = self.read_counts().usage
            for name in ("calls", "input", "output", "usd"):
                lost = getattr(spent, name) - getattr(left, name)
                self._put_fact(name, str(float(self.get_fact(name) or 0) + lost))
        return count

    def read_counts(self) -> BatchCounts:
        """Count what is done and what it has used."""
        done, failed = self._one("SELECT count(*), coalesce(sum(failed), 0) FROM results") or (0, 0)
        calls, read, written, usd = (float(self.get_fact(name) or 0) for name in _USAGE_COLUMNS)
        usage = RowUsage(int(calls), int(read), int(written), usd)
        for table in ("results", "waiting"):
            sums = ", ".join(f"coalesce(sum({name}), 0)" for name in _USAGE_COLUMNS)
            usage += RowUsage(*(self._one(f"SELECT {sums} FROM {table}") or (0, 0, 0, 0.0)))
        return BatchCounts(done, failed, usage)

    def measure_rows(self) -> tuple[float, float] | None:
        """The mean cost of the rows that were done, and half its 95 % interval; None without any."""
        found = self._one("SELECT count(*), sum(usd), sum(usd * usd) FROM results WHERE calls > 0")
        return compute_mean(*found) if found and found[0] else None

    def export(self, path: Path, count: int | None, in_order: bool = True) -> None:
        """Replace the file of results: those of the first `count` rows, by row or by the time of their end."""
        order = "row" if in_order else "at"
        query = f"SELECT line FROM results WHERE row < coalesce(?, row + 1) ORDER BY {order}"
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            with open(temporary, "w", encoding="utf-8", newline="\n") as file:
                for (line,) in self._connection.execute(query, (count,)):
                    file.write(line + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError as error:
            raise ConfigurationError(f"cannot write {path}: {error.strerror or error}") from None
        finally:
            temporary.unlink(missing_ok=True)

    # --- rows that wait for replies

    def is_waiting(self, row: BatchRow) -> bool:
        """Whether a request of the row has no reply yet; what belongs to an earlier text of the row is forgotten."""
        found = self._one("SELECT digest FROM waiting WHERE row = ?", row.index)
        if found is not None and found[0] != row.digest:
            with self._connection:
                self._forget(row.index)
        return self._one("SELECT 1 FROM requests WHERE row = ? LIMIT 1", row.index) is not None

    def read_replies(self, row: int) -> dict[tuple[str, int], StoredReply]:
        """The replies that a row has got so far."""
        query = "SELECT key, number, body, problem, kind FROM replies WHERE row = ?"
        found = self._connection.execute(query, (row,))
        return {(key, number): StoredReply(*rest) for key, number, *rest in found}

    def read_idle_passes(self, row: int) -> tuple[int, float]:
        """How often in succession a row did not ask for what it had asked before, and the seconds it has taken."""
        return self._one("SELECT idle, seconds FROM waiting WHERE row = ?", row) or (0, 0.0)

    def put_waiting(
        self,
        row: BatchRow,
        requests: Iterable[WaitingRequest],
        usage: RowUsage,
        idle: int,
        seconds: float,
    ) -> None:
        """A row waits for these requests; `usage` is that of the replies that it has got."""
        with self._connection as connection:
            connection.execute(
                "INSERT OR REPLACE INTO waiting VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    row.index,
                    row.digest,
                    idle,
                    seconds,
                    usage.calls,
                    usage.input,
                    usage.output,
                    usage.usd,
                ),
            )
            for request in requests:
                (number,) = self._one("SELECT coalesce(max(rowid), 0) + 1 FROM requests") or (1,)
                name = f"{self.get_fact('run')}-{row.index}-{number}-{secrets.token_hex(3)}"
                connection.execute(
                    "INSERT INTO requests(id, row, key, number, model, body, size) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (
                        name,
                        row.index,
                        request.key,
                        request.number,
                        request.model,
                        request.body,
                        len(request.body.encode()),
                    ),
                )

    # --- batches of a vendor

    def plan_batches(self, wave: int, limits: Mapping[str, int], overhead: int, at: float) -> int:
        """Put all requests that are not sent into batches within the limits; return how many there are."""
        made = 0
        with self._connection as connection:
            number = count = size = 0
            model: str | None = None
            for name, wanted, body_size in self._iterate_unsent():
                line = body_size + overhead
                is_full = count >= limits["requests"] or size + line > limits["bytes"]
                if model != wanted or is_full:
                    number, model, count, size = self._add_batch(wanted, wave, at), wanted, 0, 0
                    made += 1
                count, size = count + 1, size + line
                connection.execute("UPDATE requests SET batch = ? WHERE id = ?", (number, name))
            connection.execute(
                "UPDATE batches SET requests = (SELECT count(*) FROM requests WHERE batch = batches.number) "
                "WHERE state = 'new'"
            )
        return made

    def _iterate_unsent(self) -> Iterator[tuple[str, str, int]]:
        """The requests that have no batch, by model; each gets one before the next piece is read."""
        query = "SELECT id, model, size FROM requests WHERE batch IS NULL ORDER BY model, row LIMIT 1000"
        while piece := self._connection.execute(query).fetchall():
            yield from piece

    def _add_batch(self, model: str, wave: int, at: float) -> int:
        (number,) = self._one("SELECT coalesce(max(number), 0) + 1 FROM batches") or (1,)
        key = f"njc-{self.get_fact('run')}-{number}"
        self._connection.execute(
            "INSERT INTO batches VALUES (?, ?, ?, ?, 0, 'new', NULL, ?)",
            (number, key, model, wave, at),
        )
        return int(number)

    def list_open_batches(self) -> list[SentBatch]:
        """The batches that have not ended, in their order."""
        query = "SELECT * FROM batches WHERE state != 'ended' ORDER BY number"
        return [SentBatch(*found) for found in self._connection.execute(query)]

    def list_known_ids(self) -> frozenset[str]:
        """The vendor's ids of all batches of this run."""
        query = "SELECT vendor_id FROM batches WHERE vendor_id IS NOT NULL"
        return frozenset(found for (found,) in self._connection.execute(query))

    def count_batches(self) -> tuple[int, int, int]:
        """How many batches, waves, and requests in them, were sent so far."""
        query = "SELECT count(*), coalesce(max(wave), 0), coalesce(sum(requests), 0) FROM batches"
        return self._one(f"{query} WHERE state != 'new'") or (0, 0, 0)

    def set_batch_state(self, number: int, state: str, vendor_id: str | None, at: float) -> None:
        """Journal what becomes of a batch, on the disk before this returns."""
        self._connection.execute("PRAGMA synchronous = FULL")
        with self._connection as connection:
            connection.execute(
                "UPDATE batches SET state = ?, vendor_id = coalesce(?, vendor_id), at = ? WHERE number = ?",
                (state, vendor_id, at, number),
            )
            if state == "submitted":
                connection.execute(
                    "UPDATE requests SET attempts = attempts + 1 WHERE batch = ?", (number,)
                )
        self._connection.execute("PRAGMA synchronous = NORMAL")

    def iterate_requests(self, number: int) -> Iterator[tuple[str, str]]:
        """The ids and bodies of the requests of a batch."""
        query = "SELECT id, body FROM requests WHERE batch = ? ORDER BY row, rowid"
        yield from self._connection.execute(query, (number,))

    def end_batch(
        self, number: int, replies: Iterable[tuple[str, StoredReply | None]], at: float, most: int
    ) -> int:
        """Keep the replies of a batch, in one transaction; None stands for a request to be sent again.

        Lines for unknown requests, and further ones for the same, are ignored. What has no reply is sent again, at most
        `most` times in all; the problem is then its reply. Returns how many were kept.
        """
        kept = 0
        with self._connection as connection:
            for name, reply in replies:
                found = self._one(
                    "SELECT row, key, number FROM requests WHERE id = ? AND batch = ?", name, number
                )
                if found is not None and reply is not None:
                    self._put_reply(name, found, reply)
                    kept += 1
            query = "SELECT id, row, key, number FROM requests WHERE batch = ? AND attempts >= ?"
            lost = StoredReply(
                None, f"the vendor did not answer the request in {most} batches", "server"
            )
            for name, *found in connection.execute(query, (number, most)).fetchall():
                self._put_reply(name, found, lost)
            connection.execute("UPDATE requests SET batch = NULL WHERE batch = ?", (number,))
            connection.execute(
                "UPDATE batches SET state = 'ended', at = ? WHERE number = ?", (at, number)
            )
        return kept

    def release_batch(self, number: int, at: float) -> None:
        """A batch was refused as a whole: its requests wait again, and this was no attempt."""
        with self._connection as connection:
            connection.execute(
                "UPDATE requests SET batch = NULL, attempts = max(0, attempts - 1) WHERE batch = ?",
                (number,),
            )
            connection.execute(
                "UPDATE batches SET state = 'ended', at = ? WHERE number = ?", (at, number)
            )

    def refuse_large_requests(self, most: int, overhead: int) -> int:
        """Answer requests that fit into no batch with the problem."""
        query = (
            "SELECT id, row, key, number, size FROM requests WHERE batch IS NULL AND size + ? > ?"
        )
        with self._connection as connection:
            large = connection.execute(query, (overhead, most)).fetchall()
            for name, row, key, number, size in large:
                problem = f"the request has {size:,} bytes, and a batch may have {most:,}"
                self._put_reply(name, (row, key, number), StoredReply(None, problem, "rejected"))
        return len(large)

    def measure_unsent(self) -> dict[str, tuple[int, int]]:
        """The requests that are not sent, and their bytes, by model."""
        query = "SELECT model, count(*), sum(size) FROM requests WHERE batch IS NULL GROUP BY model"
        found = self._connection.execute(query)
        return {model: (count, size) for model, count, size in found}

    def _put_reply(self, name: str, place: Iterable[object], reply: StoredReply) -> None:
        self._connection.execute(
            "INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?, ?)",
            (*place, reply.body, reply.problem, reply.kind),
        )
        self._connection.execute("DELETE FROM requests WHERE id = ?", (name,))

    def _forget(self, row: int) -> None:
        for table in ("waiting", "replies", "requests"):
            self._connection.execute(f"DELETE FROM {table} WHERE row = ?", (row,))

    # --- facts

    def get_fact(self, name: str) -> str | None:
        """A fact about the whole batch."""
        found = self._one("SELECT value FROM facts WHERE name = ?", name)
        return None if found is None else str(found[0])

    def put_fact(self, name: str, value: str) -> None:
        """Keep a fact about the whole batch."""
        with self._connection:
            self._put_fact(name, value)

    def _put_fact(self, name: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def _one(self, query: str, *values: object) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self._connection.execute(query, values).fetchone()
        return found


def compute_mean(count: int, total: float, squares: float) -> tuple[float, float]:
    """The mean of a sum and half its 95 % interval, by the normal approximation; infinite for one value."""
    mean = total / count
    if count < 2:
        return mean, math.inf
    variance = max(0.0, squares - count * mean * mean) / (count - 1)
    return mean, 1.96 * math.sqrt(variance / count)


_USAGE_COLUMNS = ("calls", "input", "output", "usd")


@contextmanager
def open_batch_store(folder: Path) -> Iterator[BatchStore]:
    """Open the state of a batch, or begin one; only one process may have it open."""
    path = folder / "state.sqlite3"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        os.close(open_private(path, os.O_RDWR))
        connection = sqlite3.connect(path, timeout=0.2)
    except (OSError, sqlite3.Error) as error:
        raise ConfigurationError(f"cannot open {path}: {error}") from None
    try:
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version not in (0, STORE_VERSION):
                raise ConfigurationError(f"{path} is of another version of njc; remove {folder}")
            connection.executescript(f"{_CREATE_TABLES}PRAGMA user_version = {STORE_VERSION};")
            store = BatchStore(folder, connection)
            if store.get_fact("run") is None:
                store.put_fact("run", secrets.token_hex(4))
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise ConfigurationError(
                    f"another process works on {folder}; wait for its end, or write to another file"
                ) from None
            raise ConfigurationError(f"cannot use {path}: {error}") from None
        except sqlite3.DatabaseError as error:
            raise ConfigurationError(
                f"{path} is damaged ({error}); remove {folder} to begin again"
            ) from None
        yield store
    finally:
        connection.close()
