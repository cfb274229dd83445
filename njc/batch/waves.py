"""Run a batch through a vendor's Batch API, wave by wave.

    each row that can continue:   its call, with the replies so far       ──>  a result, or requests
    requests without a reply:     in batches within the vendor's limits   ──>  the vendor
    batches that have ended:      their lines                             ──>  replies

A row's wave is the number of times that its requests were sent. Requests are journaled before they are sent; after a
crash, a batch without a known id is looked up at the vendor, and created only if it is missing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from njc.batch.estimate import ASSUMED_OUTPUT_TOKENS, price_requests
from njc.batch.journal import BatchLimits, RequestJournal, SentBatch, StoredReply
from njc.batch.rows import BatchRow, read_rows
from njc.batch.store import RESUME, BatchStore
from njc.batch.suspension import RowReplies, choose_replaying_model, pass_row, read_usage
from njc.batch.vendor import (
    AnthropicBatches,
    BatchStatus,
    OpenAIBatches,
    VendorBatches,
    reading_responses,
)
from njc.project.units import explaining_failure, format_path
from njc.target import InvalidRowError, TargetFunction
from njrt.errors import (
    ConfigurationError,
    CostLimitError,
    ModelError,
    ModelNotFoundError,
    RejectedRequestError,
    ServerError,
)
from njrt.message_json import parse_json_lines
from njrt.models.choose import choose_model
from njrt.models.remote import RemoteModel
from njrt.options import make_options
from njrt.private_files import open_private
from njrt.production.budgets.ledger import format_usd
from njrt.records import record

MAX_ATTEMPTS = 8
"""After this many batches with the same request, its row gets an error."""

MAX_IDLE_PASSES = 3
"""How many successive passes may change a row's requests."""

MAX_OUTAGES = 10
"""How many successive vendor API calls may fail for a batch before the command stops."""

MAX_BACK_OFF = 16
"""The maximum factor for the time between requests while the vendor's API fails."""

Sleep = Callable[[float], None]


@record
class WaveProgress:
    """A batch's progress: rows with results, and the current wave's requests."""

    wave: int
    rows_done: int
    requests_done: int
    requests: int
    usd: float


ReportWave = Callable[[WaveProgress], None]


@dataclass(slots=True)
class Waves:
    """A batch's waves (state: the store, the models that rows have asked, the reduced limits).

    With `resends`, the requests of a batch that the vendor no longer knows are sent again.
    """

    target: TargetFunction
    rows: Path
    count: int | None
    store: BatchStore
    vendor: str
    api: VendorBatches
    report: ReportWave
    poll_seconds: float
    max_usd: float | None = None
    resends: bool = False
    sleep: Sleep = time.sleep
    models: dict[str, RemoteModel] = field(default_factory=dict)
    journal: RequestJournal = field(init=False)
    limits: BatchLimits = field(init=False)
    max_open: int | None = None
    outages: dict[int, int] = field(default_factory=dict)
    unfound: dict[int, float] = field(default_factory=dict)
    """When batches that may have been created were first missing, by `time.monotonic`, because clocks jump."""

    def __post_init__(self) -> None:
        self.journal = RequestJournal(self.store, self.count)
        self.limits = self.api.limits

    def run(self) -> None:
        """Run waves until every row has a result.

        Raises CostLimitError once all batches have ended, instead of sending requests that would cost more than
        `max_usd`, and ModelErrors that affect every row; the batch can be continued after both.
        """
        for file in self.store.folder.glob("batch-*.jsonl"):  # from a process that was killed
            file.unlink()
        self._check_vendor()
        while True:
            schemaless = self.journal.list_schemaless_models()
            for row in read_rows(self.rows, self.count):
                if not self.store.is_done(row) and not self.journal.is_waiting(row):
                    replies = RowReplies(self.journal.read_replies(row.index), schemaless)
                    self._advance_row(row, replies)
            if self.journal.refuse_large_requests(self.api.limits):
                continue
            self._plan_batches()
            if not (batches := self.journal.list_open_batches()):
                return
            while not self._advance_batches(batches):
                batches = self.journal.list_open_batches()

    def _check_vendor(self) -> None:
        """Raise ConfigurationError if rows wait for replies from another vendor."""
        sent = {batch.model for batch in self.journal.list_open_batches()}
        for name in sorted(sent | self.journal.measure_unsent().keys()):
            if (other := self._get_model(name).sdk) != self.vendor:
                raise ConfigurationError(
                    f"rows wait for replies of {name}; continue with --vendor-batch {other}, or start again with --fresh"
                )

    # --- rows

    def _advance_row(self, row: BatchRow, replies: RowReplies) -> None:
        """Make a row's call with the replies so far; store its result or its requests."""
        idle, seconds, used = self.journal.read_passes(row.index)
        began = time.monotonic()

        def measure() -> float:
            return seconds + time.monotonic() - began

        try:
            result = self._pass_row(row, replies)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            outcome = row.make_failure(error, used, measure())
        else:
            outcome = row.make_result(result, used, measure())
        if not replies.is_suspended:
            if outcome.stop is not None:
                raise outcome.stop
            self.store.put_outcome(row, outcome, used_replies=True)
            return
        idle = idle + 1 if replies.has_unused else 0
        if idle >= MAX_IDLE_PASSES or not self._asks_again(row, replies):
            unlike = InvalidRowError(
                "the function asks something different each time that it is called for this row, so that replies of a "
                "batch never fit; take the time, random numbers and the order of sets out of its prompts"
            )
            failure = row.make_failure(unlike, used, measure())
            self.store.put_outcome(row, failure, used_replies=True)
            return
        self.journal.put_waiting(row, replies.missing, idle, measure())

    def _pass_row(self, row: BatchRow, replies: RowReplies) -> Any:
        wrap = partial(
            choose_replaying_model, replies=replies, vendor=self.vendor, models=self.models
        )
        return pass_row(self.target, row, replies, wrap)

    def _asks_again(self, row: BatchRow, replies: RowReplies) -> bool:
        """Return whether a second pass makes the same requests; checked before anything is paid for."""
        again = RowReplies(replies.stored, replies.schemaless, sends=False)
        with suppress(Exception):
            self._pass_row(row, again)
        return replies.is_repeated_by(again)

    # --- sending

    def _plan_batches(self) -> None:
        """Put sendable requests into batches; if they are too expensive, wait until open batches have ended."""
        unsent = self.journal.measure_unsent()
        if not unsent:
            return
        try:
            self._check_cost(unsent)
        except CostLimitError:
            if not self.journal.list_open_batches():
                raise
            return
        self.journal.plan_batches(self.limits, time.time())

    def _check_cost(self, unsent: Mapping[str, tuple[int, int]]) -> None:
        if self.max_usd is None:
            return
        used = self.store.read_counts().usage
        output = used.output / used.calls if used.calls else ASSUMED_OUTPUT_TOKENS
        wave = price_requests(unsent, output)
        sent = price_requests(self.journal.measure_sent(), output)
        if used.usd + sent + wave > self.max_usd:
            raise CostLimitError(
                f"${used.usd:.2f} is spent, and the next wave of requests would cost about {format_usd(wave)}: more than "
                f"--max-usd {self.max_usd:g}; nothing was sent. The same command with a higher limit continues"
            )

    def _advance_batches(self, batches: list[SentBatch]) -> bool:
        """Advance each open batch by one step, and wait if all are waiting; return whether one has ended."""
        progress: dict[int, int] = {}
        is_settled = True
        running = [batch for batch in batches if batch.state != "new"]
        waiting = [batch for batch in batches if batch.state == "new"]
        room = len(waiting) if self.max_open is None else max(0, self.max_open - len(running))
        for batch in (*running, *waiting[:room]):
            try:
                is_settled &= self._advance_batch(batch, progress)
                self.outages[batch.number] = 0
            except ServerError:
                self.outages[batch.number] = self.outages.get(batch.number, 0) + 1
                is_settled = False
                if self.outages[batch.number] >= MAX_OUTAGES:
                    raise
        self._report(batches, progress)
        still_open = {batch.number for batch in self.journal.list_open_batches()}
        if any(batch.number not in still_open for batch in batches):
            return True
        if not is_settled:
            worst = max(self.outages.values(), default=0)
            self.sleep(self.poll_seconds * min(2**worst, MAX_BACK_OFF))
        return False

    def _report(self, batches: list[SentBatch], progress: Mapping[int, int]) -> None:
        counts = self.store.read_counts()
        total = sum(batch.requests for batch in batches)
        wave = max(batch.wave for batch in batches)
        done = sum(progress.values())
        self.report(WaveProgress(wave, counts.done, done, total, counts.usage.usd))

    def _advance_batch(self, batch: SentBatch, progress: dict[int, int]) -> bool:
        """Advance a batch by one step; return whether the next step can follow immediately."""
        model = self._get_model(batch.model)
        match batch.state:
            case "new":
                path = self._write_batch(batch)
                self.journal.set_batch_state(batch.number, "submitting", None, time.time())
                self._submit(model, batch, path)
                return True
            case "submitting":
                return self._recover_batch(model, batch)
            case _:
                return self._check_batch(model, batch, progress)

    def _check_batch(self, model: RemoteModel, batch: SentBatch, progress: dict[int, int]) -> bool:
        assert batch.vendor_id is not None
        try:
            with reading_responses():
                status = self.api.check(model, batch.vendor_id)
            progress[batch.number] = status.done
            if status.state == "running":
                return False
            self._end_batch(model, batch, status)
        except ModelNotFoundError:
            if not self.resends:
                raise ModelError(
                    f"{model.server.url} does not know the batch {batch.vendor_id} with this key, or no longer has "
                    f"its results; --retry sends its {batch.requests:,} requests again"
                ) from None
            self.journal.release_batch(batch.number, time.time())
        progress[batch.number] = batch.requests
        return True

    def _recover_batch(self, model: RemoteModel, batch: SentBatch) -> bool:
        """Find an unconfirmed batch, or create it if it is missing."""
        known = self.journal.list_known_ids()
        with reading_responses():
            found = self.api.find(model, batch, known, partial(self.journal.has_request, batch))
        now = time.monotonic()
        if found is None and now - self.unfound.setdefault(batch.number, now) < self.poll_seconds:
            return False
        if found is None:
            self._submit(model, batch, self._write_batch(batch))
        elif found.vendor_id is None:
            return False
        else:
            self.journal.set_batch_state(batch.number, "submitted", found.vendor_id, time.time())
        return True

    def _submit(self, model: RemoteModel, batch: SentBatch, path: Path) -> None:
        try:
            with reading_responses():
                vendor_id = self.api.submit(model, batch, path)
        except ServerError:  # the batch may still have been created, and be listed soon
            self.journal.set_batch_state(batch.number, "submitting", None, time.time())
            self.unfound.pop(batch.number, None)
            raise
        self.journal.set_batch_state(batch.number, "submitted", vendor_id, time.time())

    def _write_batch(self, batch: SentBatch) -> Path:
        path = self.store.folder / f"batch-{batch.number}.jsonl"
        with explaining_failure(f"write {format_path(path)}", RESUME):
            handle = open_private(path, os.O_WRONLY | os.O_TRUNC)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                for name, body in self.journal.iterate_requests(batch.number):
                    file.write(self.api.write_line(name, body) + "\n")
        return path

    def _get_model(self, name: str) -> RemoteModel:
        if name not in self.models:
            plain, _, url = name.partition(" ")
            given = {"model": plain} | ({"base_url": url} if url else {})
            model = choose_model(make_options(given, "the batch"), os.environ)
            if not isinstance(model, RemoteModel):
                raise ConfigurationError(f"the batch was begun with {plain}, which cannot be asked")
            self.models[name] = model
        return self.models[name]

    # --- receiving

    def _end_batch(self, model: RemoteModel, batch: SentBatch, status: BatchStatus) -> None:
        if status.state == "failed" and not status.files:
            self._release_batch(batch, status)
            return
        paths = []
        for number, file in enumerate(status.files):
            path = self.store.folder / f"batch-{batch.number}-{number}.results.jsonl"
            with explaining_failure(f"write {format_path(path)}", RESUME):
                os.close(open_private(path, os.O_WRONLY | os.O_TRUNC))
                self.api.download(model, file, path)
            paths.append(path)
        replies = self._read_replies(model, paths, batch, 0 if self.resends else status.answered)
        self.journal.end_batch(batch.number, replies, time.time(), MAX_ATTEMPTS)
        for path in (*paths, self.store.folder / f"batch-{batch.number}.jsonl"):
            path.unlink(missing_ok=True)
        if status.state == "cancelled":
            raise ModelError(
                f"the batch {batch.vendor_id} was cancelled; the same command sends the unanswered requests again"
            )

    def _release_batch(self, batch: SentBatch, status: BatchStatus) -> None:
        """Send smaller batches after one was rejected as a whole, or raise RejectedRequestError."""
        self.journal.release_batch(batch.number, time.time())
        if not status.is_too_large or batch.requests <= 1:
            reason = status.message or "no reason was given"
            raise RejectedRequestError(f"the batch was refused: {reason}")
        fewer = max(1, min(self.limits.requests, batch.requests) // 2)
        self.limits = replace(self.limits, requests=fewer)
        self.max_open = 1

    def _read_replies(
        self, model: RemoteModel, paths: list[Path], batch: SentBatch, wanted: int
    ) -> Iterator[tuple[str, StoredReply | None]]:
        """Yield the result lines; afterwards, raise ServerError if fewer than `wanted` are answers."""
        answered = 0
        for path in paths:
            with path.open(encoding="utf-8", errors="replace") as file:
                for line in parse_json_lines(file):
                    try:
                        name, reply = self.api.read_line(line)
                    except (LookupError, TypeError, ValueError, AttributeError):
                        continue  # requests without a line are sent again
                    if reply is not None and reply.body is not None:
                        answered += 1
                        reply = replace(reply, usage=read_usage(model, reply.body))
                    yield name, reply
        if answered < wanted:
            raise ServerError(
                f"the results of the batch {batch.vendor_id} have {answered:,} answers, and should have {wanted:,}; "
                "--retry sends the missing requests again"
            )


def make_vendor(name: str) -> VendorBatches:
    """Return a vendor's Batch API: `openai` or `anthropic`."""
    return OpenAIBatches() if name == "openai" else AnthropicBatches()
