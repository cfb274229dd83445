"""Anthropic's Message Batches: the requests of a batch in one call, and a stream of results.

    {"custom_id": "...", "params": {...}}                                             a request
    {"custom_id": "...", "result": {"type": "succeeded", "message": {...}}}           a line of the results

A batch has no name of the client's. It is found again among the unknown ones of its size that were created since, by the
ids of the requests in its results, which are there when it has ended. Protocol and limits:
https://docs.anthropic.com/en/docs/build-with-claude/batch-processing
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from njc.batch.journal import BatchLimits, ReplyKind, SentBatch, StoredReply
from njc.batch.vendor import (
    CALL_SECONDS,
    CLOCK_SKEW_SECONDS,
    TRANSFER_SECONDS,
    BatchStatus,
    FoundBatch,
    IsOwn,
    write_download,
)
from njrt.message_json import format_json_line
from njrt.models.remote import RemoteModel

RETRIED_ERRORS = frozenset({"api_error", "overloaded_error", "rate_limit_error", "timeout_error"})
INVALID_ERRORS = frozenset({"invalid_request_error", "not_found_error"})
_MAX_PAGES = 100


@dataclass(frozen=True, slots=True)
class RequestsBody:
    """The body that creates a batch: the lines of a file in a JSON array, read while it is sent."""

    path: Path

    def read_pieces(self) -> Iterator[bytes]:
        """Yield the bytes of the body, a line of the file at a time."""
        before = b'{"requests": ['
        with self.path.open("rb") as file:
            for line in file:
                yield before + line
                before = b","
        yield b"]}"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.read_pieces():
            yield piece


class AnthropicBatches:
    """`VendorBatches` of Anthropic."""

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
        async def list_page(client: Any) -> Any:
            more = {"after_id": after} if after else {}
            call = client.messages.batches.with_raw_response.list
            return await model.call_server(call, limit=100, **more)

        undecided = False
        after = ""
        for _ in range(_MAX_PAGES):
            page = model.call_client(list_page, CALL_SECONDS)
            for listed in page["data"]:
                if (
                    datetime.fromisoformat(listed["created_at"]).timestamp()
                    < batch.at - CLOCK_SKEW_SECONDS
                ):
                    return FoundBatch(None) if undecided else None
                if (
                    listed["id"] in known
                    or sum(listed["request_counts"].values()) != batch.requests
                ):
                    continue
                if listed["processing_status"] != "ended":
                    undecided = True
                elif listed.get("results_url") and self._has_own(model, listed["id"], is_own):
                    return FoundBatch(str(listed["id"]))
            if not page["data"] or not page.get("has_more"):
                break
            after = str(page["data"][-1]["id"])
        return FoundBatch(None) if undecided else None

    def _has_own(self, model: RemoteModel, vendor_id: str, is_own: IsOwn) -> bool:
        """Return whether the first result of a batch is that of a request of the batch that is looked for."""

        async def read_first(client: Any) -> str:
            async with client.messages.batches.with_streaming_response.results(
                vendor_id
            ) as response:
                async for line in response.http_response.aiter_lines():
                    if line.strip():
                        return str(json.loads(line)["custom_id"])
            return ""

        return is_own(model.call_client(read_first, TRANSFER_SECONDS))

    def check(self, model: RemoteModel, vendor_id: str) -> BatchStatus:
        async def retrieve(client: Any) -> Any:
            call = client.messages.batches.with_raw_response.retrieve
            return await model.call_server(call, message_batch_id=vendor_id)

        found = model.call_client(retrieve, CALL_SECONDS)
        counts = dict(found.get("request_counts") or {})
        done = sum(counts.values()) - counts.get("processing", 0)
        if found["processing_status"] != "ended":
            return BatchStatus("running", done)
        is_cancelled = bool(found.get("cancel_initiated_at"))
        return BatchStatus(
            "cancelled" if is_cancelled else "ended",
            done,
            files=(vendor_id,),
            answered=counts.get("succeeded", 0),
        )

    def download(self, model: RemoteModel, file: str, path: Path) -> None:
        async def fetch(client: Any) -> None:
            async with client.messages.batches.with_streaming_response.results(file) as response:
                await write_download(response.http_response.aiter_bytes(), path)

        model.call_client(fetch, TRANSFER_SECONDS)

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
