"""A batch's state in a folder beside its results: SQLite, one writer, safe to kill at any moment.

    with open_batch_store(Path("results.jsonl.batch")) as store:
        store.match_rows(read_rows(rows))   the current rows
        store.put_outcome(row, outcome)     one result for each row
        store.export(Path("results.jsonl")) all results of these rows, in row order

A result belongs to its row's number and text: a changed row is called again. Only the user may read the files, which
contain prompts and replies.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from njc.batch.rows import BatchRow, RowOutcome, RowUsage
from njc.project.config import Project, describe_result_options, find_project
from njc.project.units import explaining_failure, format_path
from njc.target import TargetFunction
from njrt.errors import ConfigurationError
from njrt.models.response import escape_surrogates
from njrt.private_files import create_private, replacing
from njrt.records import astuple, record

STORE_VERSION = 3
STATE_NAME = "state.sqlite3"
RESUME = "; fix this and run the same command again"
_CREATE_TABLES = """
CREATE TABLE IF NOT EXISTS facts(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS results(
    row INTEGER PRIMARY KEY, digest TEXT NOT NULL, line TEXT NOT NULL, failed INTEGER NOT NULL, at INTEGER NOT NULL,
    calls INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, usd REAL NOT NULL);
CREATE TABLE IF NOT EXISTS waiting(
    row INTEGER PRIMARY KEY, digest TEXT NOT NULL, idle INTEGER NOT NULL, seconds REAL NOT NULL,
    calls INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, usd REAL NOT NULL,
    wave INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS replies(
    row INTEGER NOT NULL, key TEXT NOT NULL, number INTEGER NOT NULL, body TEXT, problem TEXT, kind TEXT,
    form TEXT NOT NULL DEFAULT 'strict', PRIMARY KEY (row, key, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS requests(
    id TEXT PRIMARY KEY, row INTEGER NOT NULL, key TEXT NOT NULL, number INTEGER NOT NULL, model TEXT NOT NULL,
    body TEXT NOT NULL, size INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, batch INTEGER,
    form TEXT NOT NULL DEFAULT 'strict', UNIQUE (row, key, number));
CREATE INDEX IF NOT EXISTS requests_row ON requests(row);
CREATE INDEX IF NOT EXISTS requests_batch ON requests(batch, model, row);
CREATE TABLE IF NOT EXISTS batches(
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, model TEXT NOT NULL, wave INTEGER NOT NULL,
    requests INTEGER NOT NULL, state TEXT NOT NULL, vendor_id TEXT, at REAL NOT NULL);
CREATE TEMP TABLE present(row INTEGER PRIMARY KEY, digest TEXT NOT NULL);
"""
_FROM_VERSION_1 = """
ALTER TABLE replies ADD COLUMN form TEXT NOT NULL DEFAULT 'strict';
ALTER TABLE requests ADD COLUMN form TEXT NOT NULL DEFAULT 'strict';
"""
_FROM_VERSION_2 = """
ALTER TABLE waiting ADD COLUMN wave INTEGER NOT NULL DEFAULT 0;
UPDATE waiting SET wave = (SELECT coalesce(max(wave), 0) FROM batches);
"""
USAGE_COLUMNS = ("calls", "input", "output", "usd")


@record
class BatchCounts:
    """The numbers of done and failed rows, and the total usage."""

    done: int
    failed: int
    usage: RowUsage


class BatchStore:
    """An open store (state: a connection that holds the file lock, and the cached counts)."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self.connection = connection
        self._counts: BatchCounts | None = None

    # --- rows

    def match_rows(self, rows: Iterable[BatchRow]) -> None:
        """Record the number and text of each current row: other rows' results do not count."""
        self._counts = None
        with self.connection as connection:
            connection.execute("DELETE FROM present")
            connection.executemany(
                "INSERT INTO present VALUES (?, ?)", ((row.index, row.digest) for row in rows)
            )

    def count_rows(self) -> int:
        return self.read_number("SELECT count(*) FROM present")

    def count_changed_rows(self) -> int:
        """Return the number of rows with another text than at their call."""
        return self.read_number(
            "SELECT count(*) FROM present JOIN (SELECT row, digest FROM results UNION SELECT row, digest FROM waiting) "
            "AS known USING (row) WHERE known.digest != present.digest"
        )

    def count_known_rows(self) -> int:
        """Return the number of rows with a result, or with some replies towards one."""
        query = "SELECT count(*) FROM (SELECT row FROM results UNION SELECT row FROM waiting)"
        return self.read_number(query)

    # --- results

    def is_done(self, row: BatchRow) -> bool:
        """Return whether the row has a result; a result for an earlier text does not count."""
        found = self.read_one("SELECT digest FROM results WHERE row = ?", row.index)
        return found is not None and found[0] == row.digest

    def put_outcome(
        self, row: BatchRow, outcome: RowOutcome, *, used_replies: bool = False
    ) -> None:
        """Store a row's result and forget its requests; with `used_replies`, its usage includes theirs."""
        used, counts, present = outcome.usage, self._counts, (row.index, row.digest)
        with self.connection:
            had_result = self.read_one("SELECT 1 FROM results WHERE row = ?", row.index) is not None
            if had_result:
                self.bank_usage(self._sum_usage("results", "row = ?", row.index))
            query = "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
            result = (outcome.line, outcome.failed, time.time_ns(), *astuple(used))
            self.execute(query, *present, *result)
            self.execute("INSERT OR REPLACE INTO present VALUES (?, ?)", *present)
            had_requests = self.forget_requests(row.index, is_banked=not used_replies)
        if counts is None or had_result or had_requests:
            self._counts = None
        else:
            self._counts = BatchCounts(
                counts.done + 1, counts.failed + outcome.failed, counts.usage + used
            )

    def retry_failed(self) -> int:
        """Forget failed rows' results, but not their cost; return their number."""
        self._counts = None
        with self.connection as connection:
            self.bank_usage(self._sum_usage("results", "failed"))
            return connection.execute("DELETE FROM results WHERE failed").rowcount

    def add_usage(self, usage: RowUsage) -> None:
        """Count the usage of a call without a result."""
        self._counts = None
        with self.connection:
            self.bank_usage(usage)

    def read_counts(self) -> BatchCounts:
        if self._counts is None:
            query = "SELECT count(*), coalesce(sum(failed), 0) FROM results JOIN present USING (row, digest)"
            done, failed = self.read_one(query) or (0, 0)
            usages = (self._sum_usage(table, "1") for table in ("results", "waiting"))
            self._counts = BatchCounts(done, failed, sum(usages, self._read_banked_usage()))
        return self._counts

    def measure_rows(self) -> tuple[float, float] | None:
        """Return the mean cost of the rows that were done, and half its 95 % interval; None without any."""
        query = "SELECT count(*), sum(usd), sum(usd * usd) FROM results WHERE calls > 0"
        count, total, squares = self.read_one(query) or (0, 0.0, 0.0)
        if not count:
            return None
        mean = total / count
        variance = max(0.0, squares - count * mean * mean) / (count - 1) if count > 1 else math.inf
        return mean, 1.96 * math.sqrt(variance / count)

    def iterate_failed(self) -> Iterator[str]:
        return self._read_lines("WHERE failed ORDER BY row")

    def export(self, path: Path, in_order: bool = True) -> None:
        """Replace the file of results, in the order of the rows or of their ends."""
        with (
            explaining_failure(f"write {format_path(path)}", RESUME),
            replacing(path, "x", encoding="utf-8", newline="\n") as file,
        ):
            for line in self._read_lines(f"ORDER BY {'row' if in_order else 'at'}"):
                file.write(line + "\n")

    def _read_lines(self, clauses: str) -> Iterator[str]:
        """Yield the current rows' results."""
        query = f"SELECT line FROM results JOIN present USING (row, digest) {clauses}"
        return (line for (line,) in self.execute(query))

    def forget_requests(self, row: int, *, is_banked: bool = True) -> bool:
        """Forget a row's requests, but keep their cost if `is_banked`; return whether there were any."""
        found = self.read_one("SELECT 1 FROM waiting WHERE row = ?", row) is not None
        if found and is_banked:
            self.bank_usage(self._sum_usage("waiting", "row = ?", row))
        for table in ("waiting", "replies", "requests"):
            self.execute(f"DELETE FROM {table} WHERE row = ?", row)
        return found

    def forget_counts(self) -> None:
        """Drop the cached counts: the usage of waiting rows has changed."""
        self._counts = None

    # --- usage of calls without a result, or with a replaced result

    def bank_usage(self, used: RowUsage) -> None:
        """Count usage that belongs to no row; must be called inside a transaction."""
        total = self._read_banked_usage() + used
        for name in USAGE_COLUMNS:
            self._put_fact(name, str(getattr(total, name)))

    def _read_banked_usage(self) -> RowUsage:
        calls, read, written, usd = (float(self.get_fact(name) or 0) for name in USAGE_COLUMNS)
        return RowUsage(int(calls), int(read), int(written), usd)

    def _sum_usage(self, table: str, condition: str, *values: object) -> RowUsage:
        sums = ", ".join(f"coalesce(sum({name}), 0)" for name in USAGE_COLUMNS)
        found = self.read_one(f"SELECT {sums} FROM {table} WHERE {condition}", *values)
        return RowUsage(*(found or (0, 0, 0, 0.0)))

    # --- facts

    def get_fact(self, name: str) -> str | None:
        found = self.read_one("SELECT value FROM facts WHERE name = ?", name)
        return None if found is None else str(found[0])

    def put_fact(self, name: str, value: str) -> None:
        with self.connection:
            self._put_fact(name, value)

    def _put_fact(self, name: str, value: str) -> None:
        self.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", name, value)

    def read_number(self, query: str, *values: object) -> int:
        (number,) = self.read_one(query, *values) or (0,)
        return int(number)

    def read_one(self, query: str, *values: object) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self.execute(query, *values).fetchone()
        return found

    def execute(self, query: str, *values: object) -> sqlite3.Cursor:
        """Run a query; lone surrogates in its values, which SQLite cannot store, are escaped."""
        return self.connection.execute(query, escape_surrogates([*values]))


@contextmanager
def open_batch_store(folder: Path) -> Iterator[BatchStore]:
    """Open or create a batch's locked state; raises ConfigurationError, also inside the `with`."""
    path = folder / STATE_NAME
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        create_private(path)
        connection = sqlite3.connect(path, timeout=0.2)
    except (OSError, sqlite3.Error) as error:
        raise ConfigurationError(f"cannot open {format_path(path)}: {error}") from None
    with closing(connection):
        try:
            _lock(connection, folder)
            yield _prepare(connection, folder)
        except sqlite3.OperationalError as error:
            raise ConfigurationError(f"cannot use {format_path(path)}: {error}{RESUME}") from None
        except sqlite3.DatabaseError as error:
            if type(error) is not sqlite3.DatabaseError:
                raise
            raise ConfigurationError(
                f"{format_path(path)} is damaged ({error}); --fresh starts again"
            ) from None


def _lock(connection: sqlite3.Connection, folder: Path) -> None:
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise
        raise ConfigurationError(
            f"another process works on {format_path(folder)}; wait for its end, or write to another file"
        ) from None


def _prepare(connection: sqlite3.Connection, folder: Path) -> BatchStore:
    connection.execute("PRAGMA synchronous = NORMAL")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in range(STORE_VERSION + 1):
        raise ConfigurationError(
            f"{format_path(folder)} is of another version of njc; --fresh starts again"
        )
    migration = _FROM_VERSION_1 if version == 1 else ""
    migration += _FROM_VERSION_2 if version in (1, 2) else ""
    connection.executescript(
        f"SAVEPOINT upgrade;{migration}{_CREATE_TABLES}PRAGMA user_version = {STORE_VERSION};RELEASE upgrade;"
    )
    store = BatchStore(folder, connection)
    if store.get_fact("run") is None:
        store.put_fact("run", secrets.token_hex(4))
    return store


def discard_batch(folder: Path) -> int:
    """Remove a batch's state; return the number of batches on which a vendor still works.

    Other files in the folder stay. Raises ConfigurationError if another process works on the batch.
    """
    path, sent = folder / STATE_NAME, 0
    if path.exists():
        with (
            suppress(sqlite3.DatabaseError),
            closing(sqlite3.connect(path, timeout=0.2)) as connection,
        ):
            _lock(connection, folder)
            query = "SELECT count(*) FROM batches WHERE state IN ('submitting', 'submitted')"
            (sent,) = connection.execute(query).fetchone()
    with explaining_failure(f"remove {format_path(folder)}"):
        for pattern in (f"{STATE_NAME}*", "batch-*.jsonl"):
            for file in folder.glob(pattern):
                file.unlink()
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    return int(sent)


SETTINGS = ("NJC_MODEL", "NJC_REPLACE_MODEL", "NJC_BASE_URL", "NJC_PROTOCOL", "NJC_TEMPERATURE")
"""The environment variables that errors name; all others are compared together."""


def note_program(
    store: BatchStore, target: TargetFunction, environ: Mapping[str, str], *, is_retried: bool
) -> None:
    """Record in the store which function and program the results come from.

    Raises ConfigurationError if there are results from another function or, unless `is_retried`, from another version
    of the program or other settings.
    """
    function, before = escape_surrogates(target.name), store.get_fact("target")
    if before not in (None, function):
        raise ConfigurationError(
            f"{store.folder.name} has results of `{before}`; write to another file, or discard them with --fresh"
        )
    named = {*SETTINGS, "NJC_MODE"}  # the mode matters only when a program is built
    others = {name: value for name, value in environ.items() if name not in named}
    project = find_project(target.program, environ)
    facts = {
        **{name: environ.get(name, "") for name in SETTINGS},
        "an option of the environment": describe_result_options(Project(), others),
        "an option of the project": describe_result_options(project, {}),
    }
    if target.program.is_file():  # not inside an archive
        digest = hashlib.sha256(target.program.read_bytes()).hexdigest()
        facts = {target.program.name: digest, **facts}
    facts = escape_surrogates(facts)
    noted = {name: store.get_fact(f"program {name}") for name in facts}
    changed = [name for name in facts if noted[name] not in (None, facts[name])]
    if changed and not is_retried and (known := store.count_known_rows()):
        raise ConfigurationError(
            f"{' and '.join(changed)} changed after {known:,} rows had been called; --retry keeps their results and "
            "continues with the changes, --fresh starts again"
        )
    store.put_fact("target", function)
    for name, value in facts.items():
        store.put_fact(f"program {name}", value)
