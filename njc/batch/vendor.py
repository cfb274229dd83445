"""The Batch APIs of OpenAI and Anthropic, behind one interface for the waves.

    new ──submit──> running ──> ended: all lines are there      failed: refused as a whole      cancelled: by a person

A request that creates a batch is never repeated blindly: if its response was lost, `find` looks for the batch.
Protocols and limits: https://platform.openai.com/docs/guides/batch,
https://docs.anthropic.com/en/docs/build-with-claude/batch-processing
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

from njc.batch.journal import BatchLimits, ReplyKind, SentBatch, StoredReply
from njrt.errors import ServerError
from njrt.message_json import format_json_line
from njrt.models.remote import REJECTED_FIELD_STATUSES, RemoteModel
from njrt.models.streaming import take_lines
from njrt.records import record

CALL_SECONDS = 120.0

TRANSFER_SECONDS = 1800.0

CLOCK_SKEW_SECONDS = 86_400.0
"""The maximum difference between this machine's clock and the vendor's, including a wrong time zone."""

_MAX_PAGES = 100
"""How many pages of the list of batches to search."""
RETRIED_STATUSES = frozenset({408, 409, 425, 429})
"""The HTTP statuses below 500 after which a request is sent again."""


@record
class BatchStatus:
    """A batch's status at a vendor.

    `done` counts finished requests, `answered` those with answers in the results; `files` contains the result files'
    ids. `is_too_large` marks a failed batch that needs more tokens than the vendor queues.
    """

    state: Literal["running", "ended", "failed", "cancelled"]
    done: int = 0
    message: str = ""
    files: tuple[str, ...] = ()
    is_too_large: bool = False
    answered: int = 0


@record
class FoundBatch:
    """A batch that may be the unconfirmed one; it has no id while that is undecided."""

    vendor_id: str | None


IsOwn = Callable[[str], bool]
"""Returns whether a request with this id was sent in the unconfirmed batch."""


async def write_download(pieces: AsyncIterable[bytes], path: Path) -> None:
    """Write a download to `path`; raises ServerError if the connection breaks, and OSError."""
    iterator = aiter(pieces)
    with path.open("wb") as file:
        while True:
            try:
                piece = await anext(iterator)
            except StopAsyncIteration:
                return
            except Exception as error:  # from the connection, whose library the SDK chooses
                raise ServerError(
                    f"the download of the results broke off ({type(error).__name__}); the same command continues"
                ) from None
            file.write(piece)


@contextmanager
def reading_responses() -> Iterator[None]:
    """Raise ServerError for a response that does not come from the vendor's API, for example a proxy's."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ServerError(
            f"the response of the Batch API cannot be read ({type(error).__name__}: {error})"
        ) from None


def call_vendor(
    model: RemoteModel,
    method: str,
    seconds: float = CALL_SECONDS,
    once: bool = False,
    **arguments: Any,
) -> Any:
    """Call a method of the SDK's client and return the response; with `once`, the SDK does not retry."""

    async def call(client: Any) -> Any:
        client = client.with_options(max_retries=0) if once else client
        return await model.call_server(attrgetter(method)(client), **arguments)

    return model.call_client(call, seconds)


class VendorBatches(ABC):
    """A vendor's Batch API; its methods raise `ModelError`s."""

    limits: BatchLimits
    cursor: str
    """The parameter for the previous page's last batch."""
    download_method: str
    """The SDK client's method that returns a file of results."""

    @abstractmethod
    def write_line(self, name: str, body: str) -> str:
        """Return a request's line in a batch's file."""

    @abstractmethod
    def submit(self, model: RemoteModel, batch: SentBatch, path: Path) -> str:
        """Send a batch's file and create the batch; return its id. The SDK does not retry this."""

    @abstractmethod
    def find(
        self, model: RemoteModel, batch: SentBatch, known: frozenset[str], is_own: IsOwn
    ) -> FoundBatch | None:
        """Return the batch if it was created; the ids in `known` belong to other batches."""

    @abstractmethod
    def check(self, model: RemoteModel, vendor_id: str) -> BatchStatus:
        """Return a batch's status."""

    def download(self, model: RemoteModel, file: str, path: Path) -> None:
        """Write the lines of a result file to `path`."""

        async def fetch(client: Any) -> None:
            async with attrgetter(self.download_method)(client)(file) as response:
                await write_download(response.http_response.aiter_bytes(), path)

        model.call_client(fetch, TRANSFER_SECONDS)

    @abstractmethod
    def read_line(self, line: Mapping[str, Any]) -> tuple[str, StoredReply | None]:
        """Return a request's id and its reply; None means to send the request again.

        Raises LookupError, TypeError, ValueError or AttributeError if the line is not a result.
        """

    def _list_batches(self, model: RemoteModel, batches: str, since: float) -> Iterator[Any]:
        """Yield the batches on all pages with a batch created since then, the newest first.

        `batches` is their place in the client.
        """
        place: dict[str, Any] = {}
        for _ in range(_MAX_PAGES):
            page = call_vendor(model, f"{batches}.with_raw_response.list", limit=100, **place)
            yield from page["data"]
            is_last = not (page["data"] and page.get("has_more"))
            if is_last or _is_before(page["data"][-1], since):
                return
            place = {self.cursor: str(page["data"][-1]["id"])}


def _is_before(listed: Any, since: float) -> bool:
    """Return whether a batch was created before this time, allowing for differing clocks."""
    created = listed["created_at"]
    if isinstance(created, str):
        created = datetime.fromisoformat(created).timestamp()
    return bool(created < since - CLOCK_SKEW_SECONDS)


ENDPOINT = "/v1/chat/completions"
KEY_NAME = "njc_batch"


class OpenAIBatches(VendorBatches):
    """OpenAI, and servers with its API: a file of requests, a batch made from it, files of results and errors.

        {"custom_id": "...", "method": "POST", "url": "/v1/chat/completions", "body": {...}}       a line of the input
        {"custom_id": "...", "response": {"status_code": 200, "body": {...}}, "error": null}       a line of the output

    A batch's key is in its `metadata`, so that the batch can be found again.
    """

    cursor = "after"
    download_method = "files.with_streaming_response.content"
    limits = BatchLimits(requests=50_000, bytes=200_000_000, overhead=200)

    def write_line(self, name: str, body: str) -> str:
        head = format_json_line({"custom_id": name, "method": "POST", "url": ENDPOINT})
        return f'{head[:-1]}, "body": {body}}}'

    def submit(self, model: RemoteModel, batch: SentBatch, path: Path) -> str:
        with path.open("rb") as file:
            uploaded = call_vendor(
                model,
                "files.with_raw_response.create",
                TRANSFER_SECONDS,
                once=True,
                file=(f"{batch.key}.jsonl", file, "application/jsonl"),
                purpose="batch",
                timeout=TRANSFER_SECONDS,
            )
        created = call_vendor(
            model,
            "batches.with_raw_response.create",
            once=True,
            input_file_id=uploaded["id"],
            endpoint=ENDPOINT,
            completion_window="24h",
            metadata={KEY_NAME: batch.key},
            extra_headers={"Idempotency-Key": batch.key},
        )
        return str(created["id"])

    def find(
        self, model: RemoteModel, batch: SentBatch, known: frozenset[str], is_own: IsOwn
    ) -> FoundBatch | None:
        for listed in self._list_batches(model, "batches", batch.at):
            if (listed.get("metadata") or {}).get(KEY_NAME) == batch.key:
                return FoundBatch(str(listed["id"]))
        return None

    def check(self, model: RemoteModel, vendor_id: str) -> BatchStatus:
        found = call_vendor(model, "batches.with_raw_response.retrieve", batch_id=vendor_id)
        counts = found.get("request_counts") or {}
        answered = counts.get("completed", 0)
        done = answered + counts.get("failed", 0)
        names = ("output_file_id", "error_file_id")
        files = tuple(str(found[name]) for name in names if found.get(name))
        match found["status"]:
            case "completed" | "expired":
                return BatchStatus("ended", done, files=files, answered=answered)
            case "cancelled":
                return BatchStatus("cancelled", done, files=files, answered=answered)
            case "failed":
                problems = (found.get("errors") or {}).get("data") or []
                message = "; ".join(str(problem.get("message")) for problem in problems)
                is_too_large = "token_limit_exceeded" in [each.get("code") for each in problems]
                return BatchStatus("failed", done, message, files, is_too_large)
            case _:  # validating, in_progress, finalizing, cancelling
                return BatchStatus("running", done)

    def read_line(self, line: Mapping[str, Any]) -> tuple[str, StoredReply | None]:
        name, response = str(line["custom_id"]), line.get("response") or {}
        if line.get("error"):  # such as batch_expired: the request was never answered
            return name, None
        status, body = int(response["status_code"]), response.get("body")
        if status == 200:
            return name, StoredReply(json.dumps(body))
        if status >= 500 or status in RETRIED_STATUSES:
            return name, None
        problem = (body or {}).get("error") or {}
        kind: ReplyKind = "invalid" if status in REJECTED_FIELD_STATUSES else "rejected"
        return name, StoredReply(None, f"HTTP {status}: {problem.get('message')}", kind)


RETRIED_ERRORS = frozenset({"api_error", "overloaded_error", "rate_limit_error", "timeout_error"})
INVALID_ERRORS = frozenset({"invalid_request_error", "not_found_error"})


@record
class RequestsBody:
    """The body that creates a batch: the lines of a file in a JSON array, read while it is sent."""

    path: Path

    def read_pieces(self) -> Iterator[bytes]:
        """Yield the body's bytes, one line of the file at a time."""
        before = b'{"requests": ['
        with self.path.open("rb") as file:
            for line in file:
                yield before + line
                before = b","
        yield b"]}"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.read_pieces():
            yield piece


class AnthropicBatches(VendorBatches):
    """Anthropic: a batch's requests in one call, and a stream of results.

        {"custom_id": "...", "params": {...}}                                             a request
        {"custom_id": "...", "result": {"type": "succeeded", "message": {...}}}           a line of the results

    The client cannot name a batch. Once it has ended, it is found among the unknown batches of its size that were
    created since, by the ids of the requests in its results.
    """

    cursor = "after_id"
    download_method = "messages.batches.with_streaming_response.results"
    limits = BatchLimits(requests=100_000, bytes=200_000_000, overhead=120)

    def write_line(self, name: str, body: str) -> str:
        return f'{format_json_line({"custom_id": name})[:-1]}, "params": {body}}}'

    def submit(self, model: RemoteModel, batch: SentBatch, path: Path) -> str:
        body = RequestsBody(path)
        headers = {
            "Content-Length": str(sum(map(len, body.read_pieces()))),
            "Idempotency-Key": batch.key,
        }

        async def create(client: Any) -> Any:
            return await model.call_sdk(
                client.with_options(max_retries=0).post,
                path="/v1/messages/batches",
                cast_to=object,
                content=body,
                options={"headers": headers, "timeout": TRANSFER_SECONDS},
            )

        return str(model.call_client(create, TRANSFER_SECONDS)["id"])

    def find(
        self, model: RemoteModel, batch: SentBatch, known: frozenset[str], is_own: IsOwn
    ) -> FoundBatch | None:
        undecided = False
        for listed in self._list_batches(model, "messages.batches", batch.at):
            if _is_before(listed, batch.at):
                break
            size = sum(listed["request_counts"].values())
            if listed["id"] in known or size != batch.requests:
                continue
            if listed["processing_status"] != "ended":
                undecided = True
            elif listed.get("results_url") and self._has_own(model, listed["id"], is_own):
                return FoundBatch(str(listed["id"]))
        return FoundBatch(None) if undecided else None

    def _has_own(self, model: RemoteModel, vendor_id: str, is_own: IsOwn) -> bool:
        """Return whether a batch's first result answers a request of the unconfirmed batch."""

        async def read_first(client: Any) -> str:
            async with attrgetter(self.download_method)(client)(vendor_id) as response:
                parts: list[bytes] = []
                async for chunk in response.http_response.aiter_bytes():
                    for line in filter(str.strip, take_lines(parts, chunk)):
                        return str(json.loads(line)["custom_id"])
            return ""

        return is_own(model.call_client(read_first, TRANSFER_SECONDS))

    def check(self, model: RemoteModel, vendor_id: str) -> BatchStatus:
        retrieve = "messages.batches.with_raw_response.retrieve"
        found = call_vendor(model, retrieve, message_batch_id=vendor_id)
        counts = dict(found.get("request_counts") or {})
        done = sum(counts.values()) - counts.get("processing", 0)
        if found["processing_status"] != "ended":
            return BatchStatus("running", done)
        return BatchStatus(
            "cancelled" if found.get("cancel_initiated_at") else "ended",
            done,
            files=(vendor_id,),
            answered=counts.get("succeeded", 0),
        )

    def read_line(self, line: Mapping[str, Any]) -> tuple[str, StoredReply | None]:
        name, result = str(line["custom_id"]), line["result"]
        match result["type"]:
            case "succeeded":
                return name, StoredReply(json.dumps(result["message"]))
            case "expired" | "canceled":
                return name, None
        error = result["error"].get("error") or result["error"]
        if error.get("type") in RETRIED_ERRORS:
            return name, None
        kind: ReplyKind = "invalid" if error.get("type") in INVALID_ERRORS else "rejected"
        return name, StoredReply(None, f"{error.get('type')}: {error.get('message')}", kind)
