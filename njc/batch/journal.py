"""The requests of the rows of a batch, and the vendor's batches that they were sent in.

    put_waiting(row, requests, ...)     a row waits for replies          plan_batches(...)      new batches of all requests
    set_batch_state(1, "submitting")    journaled before it is sent      end_batch(1, replies)  the replies of its rows

A request is `free` (no schema), `strict` (the vendor enforces its schema) or `plain` (the vendor refused its schema).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from typing import Literal

from njc.batch.rows import BatchRow, RowUsage
from njc.batch.store import USAGE_COLUMNS, BatchStore
from njrt.records import astuple, field, record

RequestForm = Literal["free", "strict", "plain"]

ReplyKind = Literal["answer", "counted", "rejected", "invalid", "plain", "server"]
"""An answer, also one that budgets have `counted`; or why it is missing: the request was rejected, perhaps because of a
field (`invalid`) or of its schema, so that it is sent again without one (`plain`); or the vendor did not answer."""

_READY = """requests JOIN waiting USING (row) JOIN present USING (row, digest)
WHERE batch IS NULL AND requests.row < ?"""
"""The requests that can be sent: of rows that are present with the same text."""


@record
class StoredReply:
    """A vendor's answer to a request: the response's JSON, or the problem."""

    body: str | None
    problem: str | None = None
    kind: ReplyKind = "answer"
    form: RequestForm = "free"
    usage: RowUsage = field(default_factory=RowUsage)
    """The answer's usage; 0 if the answer is read from the journal, which has already counted it."""


@record
class WaitingRequest:
    """A row's request without a reply; `model` is the model's name, with the URL of a server not the vendor's."""

    key: str
    number: int
    model: str
    body: str
    form: RequestForm = "free"


@record
class SentBatch:
    """A vendor's batch: `new`, `submitting` (journaled), `submitted` (the vendor's id is known) or `ended`."""

    number: int
    key: str
    model: str
    wave: int
    requests: int
    state: str
    vendor_id: str | None
    at: float


@record
class BatchLimits:
    """A batch's limits: requests, bytes, and a request's bytes beyond its body."""

    requests: int
    bytes: int
    overhead: int


class RequestJournal:
    """The requests and vendor batches in a batch's store; `count` is the number of rows to call."""

    def __init__(self, store: BatchStore, count: int | None = None) -> None:
        self._store = store
        self._connection, self._execute = store.connection, store.execute
        self._count = (1 << 62) if count is None else count

    # --- rows that wait for replies

    def is_waiting(self, row: BatchRow) -> bool:
        """Return whether a request of the row has no reply; forget requests for an earlier text."""
        found = self._store.read_one("SELECT digest FROM waiting WHERE row = ?", row.index)
        if found is not None and found[0] != row.digest:
            with self._connection:
                self._store.forget_requests(row.index)
        query = "SELECT 1 FROM requests WHERE row = ? LIMIT 1"
        return self._store.read_one(query, row.index) is not None

    def read_replies(self, row: int) -> dict[tuple[str, int], StoredReply]:
        query = "SELECT key, number, body, problem, kind, form FROM replies WHERE row = ?"
        found = self._execute(query, row)
        return {
            (key, number): StoredReply(body, problem, kind or "answer", form)
            for key, number, body, problem, kind, form in found
        }

    def read_passes(self, row: int) -> tuple[int, float, RowUsage]:
        """Return how many successive passes of a row changed its requests, its seconds, and its usage."""
        query = "SELECT idle, seconds, calls, input, output, usd FROM waiting WHERE row = ?"
        idle, seconds, *used = self._store.read_one(query, row) or (0, 0.0, 0, 0, 0, 0.0)
        return int(idle), float(seconds), RowUsage(*used)

    def put_waiting(
        self, row: BatchRow, requests: Iterable[WaitingRequest], idle: int, seconds: float
    ) -> None:
        """Store the requests that a row waits for, and that budgets have counted its answers."""
        run = self._store.get_fact("run")
        self._store.forget_counts()
        with self._connection:
            query = (
                "INSERT INTO waiting VALUES (?, ?, ?, ?, 0, 0, 0, 0, 0) ON CONFLICT (row) DO UPDATE SET digest = "
                "excluded.digest, idle = excluded.idle, seconds = excluded.seconds"
            )
            self._execute(query, row.index, row.digest, idle, seconds)
            query = "UPDATE replies SET kind = 'counted' WHERE row = ? AND body NOT NULL"
            self._execute(query, row.index)
            for request in requests:
                query = "SELECT coalesce(max(rowid), 0) + 1 FROM requests"
                number = self._store.read_number(query)
                place = (row.index, request.key, request.number)
                self._execute("DELETE FROM replies WHERE (row, key, number) = (?, ?, ?)", *place)
                columns = "id, row, key, number, model, body, size, form"
                query = f"INSERT INTO requests({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
                name = f"{run}-{row.index}-{number}-{secrets.token_hex(3)}"
                size = len(request.body.encode())
                self._execute(query, name, *place, request.model, request.body, size, request.form)

    # --- the vendor's batches

    def plan_batches(self, limits: BatchLimits, at: float) -> None:
        """Put all requests that can be sent into batches within the limits.

        A row's wave is the number of times that its requests were put into batches; a batch's wave is the highest
        wave of its rows.
        """
        with self._connection:
            ready = f"SELECT requests.row FROM {_READY}"
            query = f"UPDATE waiting SET wave = wave + 1 WHERE row IN ({ready})"
            self._execute(query, self._count)
            number = count = size = 0
            model: str | None = None
            for name, wanted, body_size in self._iterate_unsent():
                line = body_size + limits.overhead
                is_full = count >= limits.requests or size + line > limits.bytes
                if model != wanted or is_full:
                    model, count, size = wanted, 0, 0
                    query = "SELECT coalesce(max(number), 0) + 1 FROM batches"
                    number = self._store.read_number(query)
                    key = f"njc-{self._store.get_fact('run')}-{number}"
                    query = "INSERT INTO batches VALUES (?, ?, ?, 0, 0, 'new', NULL, ?)"
                    self._execute(query, number, key, model, at)
                count, size = count + 1, size + line
                self._execute("UPDATE requests SET batch = ? WHERE id = ?", number, name)
            self._execute(
                "UPDATE batches SET (requests, wave) = (SELECT count(*), max(waiting.wave) FROM requests "
                "JOIN waiting USING (row) WHERE batch = batches.number) WHERE state = 'new'"
            )

    def _iterate_unsent(self) -> Iterator[tuple[str, str, int]]:
        """Yield the requests without a batch, by model; each gets a batch before the next piece is read."""
        query = f"SELECT id, model, size FROM {_READY} ORDER BY model, requests.row LIMIT 1000"
        while piece := self._execute(query, self._count).fetchall():
            yield from piece

    def list_open_batches(self) -> list[SentBatch]:
        query = "SELECT * FROM batches WHERE state != 'ended' ORDER BY number"
        return [SentBatch(*found) for found in self._execute(query)]

    def list_known_ids(self) -> frozenset[str]:
        query = "SELECT vendor_id FROM batches WHERE vendor_id IS NOT NULL"
        return frozenset(found for (found,) in self._execute(query))

    def has_request(self, batch: SentBatch, name: str) -> bool:
        query = "SELECT 1 FROM requests WHERE id = ? AND batch = ?"
        return self._store.read_one(query, name, batch.number) is not None

    def count_batches(self) -> tuple[int, int, int]:
        """Return the numbers of batches, waves and requests sent so far."""
        query = "SELECT count(*), coalesce(max(wave), 0), coalesce(sum(requests), 0) FROM batches"
        found = self._store.read_one(f"{query} WHERE state != 'new'")
        batches, waves, requests = found or (0, 0, 0)
        return batches, waves, requests

    def set_batch_state(self, number: int, state: str, vendor_id: str | None, at: float) -> None:
        """Journal a batch's new state; it is on disk when this returns."""
        self._execute("PRAGMA synchronous = FULL")
        with self._connection:
            changes = "state = ?, vendor_id = coalesce(?, vendor_id), at = ?"
            query = f"UPDATE batches SET {changes} WHERE number = ?"
            self._execute(query, state, vendor_id, at, number)
            if state == "submitted":
                self._execute("UPDATE requests SET attempts = attempts + 1 WHERE batch = ?", number)
        self._execute("PRAGMA synchronous = NORMAL")

    def iterate_requests(self, number: int) -> Iterator[tuple[str, str]]:
        query = "SELECT id, body FROM requests WHERE batch = ? ORDER BY row, rowid"
        yield from self._execute(query, number)

    def end_batch(
        self, number: int, replies: Iterable[tuple[str, StoredReply | None]], at: float, most: int
    ) -> None:
        """Store a batch's replies and count their usage, in one transaction; None means to send the request again.

        Each answer to a request of this run is counted once, even if its row has changed or has a result. Unknown
        and repeated requests are ignored; an answer takes precedence over a problem. Requests without a reply are sent
        again, at most `most` times in total; then the problem becomes their reply.
        """
        problems: dict[str, StoredReply] = {}
        answered: set[str] = set()
        self._store.forget_counts()
        with self._connection:
            for name, reply in replies:
                if reply is not None and reply.body is None:
                    problems.setdefault(name, reply)
                elif reply is not None and name not in answered:
                    answered.add(name)
                    self._bill_reply(name, reply.usage)
                    self._put_reply(name, number, reply)
            for name, problem in problems.items():
                self._put_reply(name, number, problem)
            lost = StoredReply(
                None, f"the vendor did not answer the request in {most} batches", "server"
            )
            query = "SELECT id FROM requests WHERE batch = ? AND attempts >= ?"
            for (name,) in self._execute(query, number, most).fetchall():
                self._put_reply(name, number, lost)
            self._close_batch(number, at)

    def _bill_reply(self, name: str, used: RowUsage) -> None:
        """Count a reply's usage for the row that waits for it, otherwise for the batch."""
        sums = ", ".join(f"{column} = {column} + ?" for column in USAGE_COLUMNS)
        query = f"UPDATE waiting SET {sums} WHERE row = (SELECT row FROM requests WHERE id = ?)"
        changed = self._execute(query, *astuple(used), name)
        if not changed.rowcount and name.startswith(f"{self._store.get_fact('run')}-"):
            self._store.bank_usage(used)

    def release_batch(self, number: int, at: float) -> None:
        """Return a rejected batch's requests to the queue; this does not count as an attempt."""
        with self._connection:
            query = "UPDATE requests SET attempts = max(0, attempts - 1) WHERE batch = ?"
            self._execute(query, number)
            rows = "SELECT row FROM requests WHERE batch = ?"
            self._execute(f"UPDATE waiting SET wave = wave - 1 WHERE row IN ({rows})", number)
            self._close_batch(number, at)

    def _close_batch(self, number: int, at: float) -> None:
        self._execute("UPDATE requests SET batch = NULL WHERE batch = ?", number)
        self._execute("UPDATE batches SET state = 'ended', at = ? WHERE number = ?", at, number)

    def refuse_large_requests(self, limits: BatchLimits) -> bool:
        """Answer requests that do not fit into any batch with the problem; return whether there were any."""
        query = f"SELECT id, size FROM {_READY} AND size + ? > ?"
        values = (self._count, limits.overhead, limits.bytes)
        with self._connection:
            refused = self._execute(query, *values).fetchall()
            for name, size in refused:
                problem = f"the request has {size:,} bytes, and a batch may have {limits.bytes:,}"
                self._put_reply(name, None, StoredReply(None, problem, "rejected"))
        return bool(refused)

    def measure_unsent(self) -> dict[str, tuple[int, int]]:
        """Return the number of requests that can be sent, and their bytes, by model."""
        return self._measure(_READY, self._count)

    def measure_sent(self) -> dict[str, tuple[int, int]]:
        """Return the number of requests in batches that have not ended, and their bytes, by model."""
        return self._measure("requests WHERE batch IS NOT NULL")

    def _measure(self, requests: str, *values: object) -> dict[str, tuple[int, int]]:
        query = f"SELECT model, count(*), sum(size) FROM {requests} GROUP BY model"
        return {model: (count, size) for model, count, size in self._execute(query, *values)}

    def list_schemaless_models(self) -> frozenset[str]:
        """Return the models that rejected a schema and then answered the request without it."""
        query = "SELECT value FROM facts WHERE name LIKE 'schemaless %'"
        return frozenset(name for (name,) in self._execute(query))

    def _put_reply(self, name: str, batch: int | None, reply: StoredReply) -> None:
        """Store the reply to a batch's request, unless it already has one."""
        query = "SELECT row, key, number, model, form FROM requests WHERE id = ? AND batch IS ?"
        found = self._store.read_one(query, name, batch)
        if found is None:
            return
        *place, model, form = found
        kind = "plain" if reply.kind == "invalid" and form == "strict" else reply.kind
        if form == "plain" and reply.body is not None:
            self._execute("INSERT OR IGNORE INTO facts VALUES (?, ?)", f"schemaless {model}", model)
        query = "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?)"
        self._execute(query, *place, reply.body, reply.problem, kind, form)
        self._execute("DELETE FROM requests WHERE id = ?", name)
