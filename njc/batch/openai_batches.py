"""OpenAI's Batch API: a file of requests, a batch of it, and files of results and errors.

    {"custom_id": "...", "method": "POST", "url": "/v1/chat/completions", "body": {...}}         a line of the input
    {"custom_id": "...", "response": {"status_code": 200, "body": {...}}, "error": null}         a line of the output

A batch carries its key in `metadata`, by which it is found again. Protocol and limits:
https://platform.openai.com/docs/guides/batch
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from njc.batch.journal import BatchLimits, ReplyKind, SentBatch, StoredReply
from njc.batch.vendor import (
    CALL_SECONDS,
    CLOCK_SKEW_SECONDS,
    RETRIED_STATUSES,
    TRANSFER_SECONDS,
    BatchStatus,
    FoundBatch,
    IsOwn,
    write_download,
)
from njrt.errors import RejectedRequestError
from njrt.message_json import format_json_line
from njrt.models.remote import REJECTED_FIELD_STATUSES, RemoteModel

ENDPOINT = "/v1/chat/completions"
KEY_NAME = "njc_batch"
_MAX_PAGES = 100


class OpenAIBatches:
    """`VendorBatches` of OpenAI, and of servers with its API."""

    limits = BatchLimits(requests=50_000, bytes=200_000_000, overhead=200)

    def write_line(self, name: str, body: str) -> str:
        head = format_json_line({"custom_id": name, "method": "POST", "url": ENDPOINT})
        return f'{head[:-1]}, "body": {body}}}'

    def submit(self, model: RemoteModel, batch: SentBatch, path: Path) -> str:
        async def upload(client: Any) -> Any:
            with path.open("rb") as file:
                return await model.call_server(
                    client.with_options(max_retries=0).files.with_raw_response.create,
                    file=(f"{batch.key}.jsonl", file, "application/jsonl"),
                    purpose="batch",
                    timeout=TRANSFER_SECONDS,
                )

        async def create(client: Any) -> Any:
            return await model.call_server(
                client.with_options(max_retries=0).batches.with_raw_response.create,
                input_file_id=uploaded["id"],
                endpoint=ENDPOINT,
                completion_window="24h",
                metadata={KEY_NAME: batch.key},
                extra_headers={"Idempotency-Key": batch.key},
            )

        uploaded = model.call_client(upload, TRANSFER_SECONDS)
        return str(model.call_client(create, CALL_SECONDS)["id"])

    def find(
        self, model: RemoteModel, batch: SentBatch, known: frozenset[str], is_own: IsOwn
    ) -> FoundBatch | None:
        async def list_page(client: Any) -> Any:
            more = {"after": after} if after else {}
            call = client.batches.with_raw_response.list
            return await model.call_server(call, limit=100, **more)

        after = ""
        for _ in range(_MAX_PAGES):
            page = model.call_client(list_page, CALL_SECONDS)
            found = page["data"]
            for listed in found:
                if (listed.get("metadata") or {}).get(KEY_NAME) == batch.key:
                    return FoundBatch(str(listed["id"]))
            oldest = min((listed["created_at"] for listed in found), default=0)
            if not found or not page.get("has_more") or oldest < batch.at - CLOCK_SKEW_SECONDS:
                return None
            after = str(found[-1]["id"])
        return None

    def check(self, model: RemoteModel, vendor_id: str) -> BatchStatus:
        async def retrieve(client: Any) -> Any:
            return await model.call_server(
                client.batches.with_raw_response.retrieve, batch_id=vendor_id
            )

        found = model.call_client(retrieve, CALL_SECONDS)
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
                is_too_large = any(
                    problem.get("code") == "token_limit_exceeded" for problem in problems
                )
                return BatchStatus("failed", done, message, files, is_too_large)
            case _:  # validating, in_progress, finalizing, cancelling
                return BatchStatus("running", done)

    def download(self, model: RemoteModel, file: str, path: Path) -> None:
        async def fetch(client: Any) -> None:
            async with client.files.with_streaming_response.content(file) as response:
                await write_download(response.iter_bytes(), path)

        model.call_client(fetch, TRANSFER_SECONDS)

    def read_line(self, line: Mapping[str, Any]) -> tuple[str, StoredReply | None]:
        name, response = str(line["custom_id"]), line.get("response") or {}
        if line.get("error"):  # such as batch_expired: it was never answered
            return name, None
        status, body = int(response["status_code"]), response.get("body")
        if status == 200:
            return name, StoredReply(json.dumps(body))
        if status >= 500 or status in RETRIED_STATUSES:
            return name, None
        problem = (body or {}).get("error") or {}
        kind: ReplyKind = "invalid" if status in REJECTED_FIELD_STATUSES else "rejected"
        return name, StoredReply(None, f"HTTP {status}: {problem.get('message')}", kind)


def explain_failed_batch(message: str) -> RejectedRequestError:
    """Return the error for a batch that was refused as a whole."""
    return RejectedRequestError(f"the batch was refused: {message or 'no reason was given'}")
