"""Servers that speak the Batch APIs of OpenAI and Anthropic, strictly, and answer as badly as vendors may.

    faults = BatchFaults(failed=0.05, expired=0.02, missing=0.01, duplicated=0.1, polls=3)
    with OpenAIBatchServer(reply, faults) as server:          reply(body) is the text of the model's answer
        ...
    server.answered                                           how often each request was answered, by its body

Lines come in a random order; batches end out of order, after some questions; requests fail, expire, have no line or
two. What the vendor would refuse is refused with its status and error body.
"""

from __future__ import annotations

import email
import email.policy
import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from anthropic_server import AnthropicServer
from loopback import Seen
from openai_server import KEY, completion
from openai_server import complaints as find_complaints

ReplyText = Callable[[Mapping[str, Any]], str]


@dataclass(frozen=True)
class BatchFaults:
    """Shares of requests to which something happens, and how long batches take.

    `polls`: a batch ends after at most so many questions; `late`: numbers of batches that end after LATE_POLLS. `lost_creates`: numbers of creations whose response is lost
    though the batch was made; `refused_creates`: those answered with HTTP 503. `queue`: requests that may be queued in
    one batch, more of them fail it by `token_limit_exceeded`. `only_first`: faults only in batches up to this number.
    `contradicted`: answered requests that also have a line with an error; `garbage`: lines that are no results, after each
    line; `refuses_schemas`: requests with a schema are invalid; `broken_downloads`: downloads that break off in the middle,
    `empty_downloads`: that have 0 bytes, `cut_downloads`: that end within a line as if it were the last one;
    `broken_posts`: posts whose connection is closed before they are read; `refusal`: the status of `refused_creates`;
    `odd_checks`: questions about a batch that a proxy answers; `forgotten`: numbers of batches that are deleted once they
    have ended.
    """

    seed: int = 0
    failed: float = 0.0
    rejected: float = 0.0
    expired: float = 0.0
    missing: float = 0.0
    duplicated: float = 0.0
    contradicted: float = 0.0
    garbage: bool = False
    refuses_schemas: bool = False
    broken_downloads: int = 0
    empty_downloads: int = 0
    cut_downloads: int = 0
    broken_posts: int = 0
    refusal: int = 503
    odd_checks: int = 0
    forgotten: tuple[int, ...] = ()
    polls: int = 1
    late: tuple[int, ...] = ()
    lost_creates: tuple[int, ...] = ()
    refused_creates: tuple[int, ...] = ()
    queue: int | None = None
    only_first: int | None = None


@dataclass
class ServedBatch:
    """A batch on the server: the requests as they came, and its lines once it has ended."""

    id: str
    requests: list[Mapping[str, Any]]
    polls_left: int
    created_at: float
    metadata: Mapping[str, str] | None = None
    outcomes: list[tuple[Mapping[str, Any], str]] = field(default_factory=list)
    newest_at_end: int | None = None
    """The number of the newest batch when this one ended."""
    problem: str | None = None

    @property
    def number(self) -> int:
        return int(self.id.removeprefix("batch_"))

    @property
    def has_ended(self) -> bool:
        return self.polls_left <= 0


class RefusedError(Exception):
    """What the server has to say against a request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class DroppedError(Exception):
    """The response is lost."""


LATE_POLLS = 40

GARBAGE = ("<html>", "[]", "{}", '{"custom_id": 7, "result": {"type": "odd"}, "response": []}')
"""Lines that are no results."""

ERRORS = {
    "failed": (500, "api_error"), "rejected": (413, "request_too_large"), "refused": (400, "invalid_request_error")
}  # fmt: skip
"""The HTTP status and the type of the error of requests that are not answered."""


def has_schema(body: Mapping[str, Any]) -> bool:
    """Return whether the server is to enforce a schema."""
    return "response_format" in body or "tool_choice" in body


class BatchServer:
    """What both vendors' servers have in common (state: files and batches)."""

    name_pattern = re.compile(r".{1,512}")
    max_requests = 0
    max_bytes = 0

    def __init__(self, reply: ReplyText, faults: BatchFaults = BatchFaults()) -> None:
        self.reply = reply
        self.faults = faults
        self.batches: dict[str, ServedBatch] = {}
        self.answered: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.creations = 0
        self.downloads = 0
        self.posts = 0
        self.checks = 0
        self.with_schema = 0
        self._random = random.Random(faults.seed)
        self.lock = threading.RLock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> BatchServer:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _make_handler(self))
        self._server.daemon_threads = True
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def handle(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Any:
        """Return the response: JSON, or the lines of a file."""
        raise NotImplementedError

    def get_body(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """What one request asks the model."""
        raise NotImplementedError

    def create(self, requests: list[Any], size: int, metadata: Any = None) -> ServedBatch:
        """Make a batch, unless this creation is to be refused or its response lost."""
        names = [request.get("custom_id") for request in requests]
        if not requests or len(requests) > self.max_requests or size > self.max_bytes:
            raise RefusedError(
                400, f"{len(requests)} requests, {size} bytes: outside of the limits"
            )
        if len(set(names)) != len(names):
            raise RefusedError(400, "duplicate custom_id")
        for name in names:
            if not isinstance(name, str) or not self.name_pattern.fullmatch(name):
                raise RefusedError(400, f"custom_id: {name!r}")
        self.creations += 1
        if self.creations in self.faults.refused_creates:
            raise RefusedError(self.faults.refusal, "overloaded")
        polls = self._random.randint(0, self.faults.polls)
        if self.creations in self.faults.late:
            polls = LATE_POLLS
        batch = ServedBatch(f"batch_{self.creations}", requests, polls, time.time(), metadata)
        if self.faults.queue is not None and len(requests) > self.faults.queue:
            batch.problem, batch.polls_left = "token_limit_exceeded", 0
        self.batches[batch.id] = batch
        for request in requests:
            self.asked[json.dumps(self.get_body(request), sort_keys=True)] += 1
        if batch.has_ended and not batch.problem:
            self._end(batch)
        if self.creations in self.faults.lost_creates:
            raise DroppedError
        return batch

    def poll(self, name: str) -> ServedBatch:
        """Return a batch, one question later."""
        batch = self.batches.get(name)
        if batch is None or (batch.has_ended and batch.number in self.faults.forgotten):
            raise RefusedError(404, f"no batch {name}")
        if not batch.has_ended:
            batch.polls_left -= 1
            if batch.has_ended:
                self._end(batch)
        return batch

    def _end(self, batch: ServedBatch) -> None:
        batch.newest_at_end = self.creations
        faults = self.faults
        if faults.only_first is not None and batch.number > faults.only_first:
            faults = BatchFaults()
        shares = {
            name: getattr(faults, name) for name in ("failed", "rejected", "expired", "missing")
        }
        for request in batch.requests:
            drawn = self._random.random()
            outcome = "answered"
            for name, share in shares.items():
                if 0 <= drawn < share:
                    outcome = name
                drawn -= share
            body = self.get_body(request)
            self.with_schema += has_schema(body)
            if faults.refuses_schemas and has_schema(body):
                outcome = "refused"
            batch.outcomes.append((request, outcome))
            if outcome == "answered":
                if self._random.random() < faults.contradicted:
                    batch.outcomes.append((request, self._random.choice(("failed", "rejected"))))
                self.answered[json.dumps(body, sort_keys=True)] += 1
                if self._random.random() < faults.duplicated:
                    batch.outcomes.append((request, outcome))
        self._random.shuffle(batch.outcomes)

    def list_batches(self, after: str | None, limit: int) -> tuple[list[ServedBatch], bool]:
        """Return the newest batches first, after a given one."""
        newest = list(reversed(self.batches.values()))
        names = [batch.id for batch in newest]
        rest = newest[names.index(after) + 1 :] if after else newest
        return [self.poll(batch.id) for batch in rest[:limit]], len(rest) > limit


class OpenAIBatchServer(BatchServer):
    max_requests = 50_000
    max_bytes = 200_000_000

    def __init__(self, reply: ReplyText, faults: BatchFaults = BatchFaults()) -> None:
        super().__init__(reply, faults)
        self.files: dict[str, bytes] = {}

    @property
    def environment(self) -> dict[str, str]:
        return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": self.url + "/v1"}

    def get_body(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        body: Mapping[str, Any] = request["body"]
        return body

    def handle(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Any:
        if headers.get("authorization") != f"Bearer {KEY}":
            raise RefusedError(401, "Incorrect API key provided")
        url = urlsplit(path)
        match method, url.path.removeprefix("/v1/").split("/"):
            case "POST", ["files"]:
                return self._upload(headers, body)
            case "GET", ["files", name, "content"]:
                if name.startswith("file-in"):
                    return self.files[name]
                _, kind, batch = name.split("-", 2)
                return self._write_lines(self.batches[batch], is_error=kind == "err")
            case "POST", ["batches"]:
                return self._create(json.loads(body))
            case "GET", ["batches"]:
                query = parse_qs(url.query)
                limit = min(100, int(query.get("limit", ["20"])[0]))
                found, has_more = self.list_batches(query.get("after", [None])[0], limit)
                listed = [self._describe(batch) for batch in found]
                return {"object": "list", "data": listed, "has_more": has_more}
            case "GET", ["batches", name]:
                return self._describe(self.poll(name))
        raise RefusedError(404, f"Invalid URL ({method} {path})")

    def _upload(self, headers: Mapping[str, str], body: bytes) -> Any:
        head = f"Content-Type: {headers['content-type']}\r\n\r\n".encode()
        message = email.message_from_bytes(head + body, policy=email.policy.HTTP)
        parts = {
            part.get_param("name", header="content-disposition"): part
            for part in message.iter_parts()
        }
        if parts.keys() != {"purpose", "file"} or parts["purpose"].get_content().strip() != "batch":
            raise RefusedError(400, f"fields: {sorted(map(str, parts))}")
        name = f"file-in{len(self.files)}"
        self.files[name] = parts["file"].get_payload(decode=True)
        return {"id": name, "object": "file", "purpose": "batch", "bytes": len(self.files[name])}

    def _create(self, body: Mapping[str, Any]) -> Any:
        if unknown := body.keys() - {"input_file_id", "endpoint", "completion_window", "metadata"}:
            raise RefusedError(400, f"unknown parameter: {unknown}")
        if body["endpoint"] != "/v1/chat/completions" or body["completion_window"] != "24h":
            raise RefusedError(400, "endpoint or completion_window")
        for name, value in (body.get("metadata") or {}).items():
            if len(name) > 64 or len(value) > 512:
                raise RefusedError(400, "metadata")
        data = self.files[body["input_file_id"]]
        requests = [json.loads(line) for line in data.splitlines()]
        for request in requests:
            if request.keys() != {"custom_id", "method", "url", "body"}:
                raise RefusedError(400, f"fields of a line: {sorted(request)}")
            if request["method"] != "POST" or request["url"] != body["endpoint"]:
                raise RefusedError(400, "method or url of a line")
            if complaint := next(find_complaints(request["body"], True), None):
                raise RefusedError(400, complaint)
        if len({request["body"]["model"] for request in requests}) > 1:
            raise RefusedError(400, "a batch is for one model")
        return self._describe(self.create(requests, len(data), body.get("metadata")))

    def _describe(self, batch: ServedBatch) -> Any:
        described: dict[str, Any] = {
            "id": batch.id, "object": "batch", "endpoint": "/v1/chat/completions", "errors": None,
            "completion_window": "24h", "created_at": int(batch.created_at), "metadata": batch.metadata,
            "request_counts": {"total": len(batch.requests), "completed": 0, "failed": 0},
            "output_file_id": None, "error_file_id": None, "status": "in_progress",
            "input_file_id": "file-in0",
        }  # fmt: skip
        if batch.problem:
            problems = [{"code": batch.problem, "message": "Enqueued token limit reached"}]
            return described | {"status": "failed", "errors": {"object": "list", "data": problems}}
        if not batch.has_ended:
            return described
        kinds = {outcome for _, outcome in batch.outcomes}
        answered = {r["custom_id"] for r, outcome in batch.outcomes if outcome == "answered"}
        described["request_counts"]["completed"] = len(answered)
        described["status"] = "expired" if "expired" in kinds else "completed"
        described["output_file_id"] = f"file-out-{batch.id}" if "answered" in kinds else None
        if kinds & {*ERRORS, "expired"}:
            described["error_file_id"] = f"file-err-{batch.id}"
        return described

    def _write_lines(self, batch: ServedBatch, is_error: bool) -> Iterator[Mapping[str, Any]]:
        for request, outcome in batch.outcomes:
            line: dict[str, Any] = {"id": "batch_req_1", "custom_id": request["custom_id"]}
            if outcome == "answered" and not is_error:
                message = {"role": "assistant", "content": self.reply(request["body"])}
                body = completion(message).body
                response = {"status_code": 200, "request_id": "req_1", "body": body}
                yield line | {"response": response, "error": None}
            elif outcome in ERRORS and is_error:
                status, _ = ERRORS[outcome]
                body = {"error": {"message": f"it {outcome}", "type": "server_error"}}
                response = {"status_code": status, "request_id": "req_1", "body": body}
                yield line | {"response": response, "error": None}
            elif outcome == "expired" and is_error:
                problem = {"code": "batch_expired", "message": "This request could not be executed"}
                yield line | {"response": None, "error": problem}


class AnthropicBatchServer(BatchServer):
    name_pattern = re.compile(r"[a-zA-Z0-9_-]{1,64}")
    max_requests = 100_000
    max_bytes = 256_000_000
    key = "sk-ant-loopback-0123456789abcdef"

    def __init__(self, reply: ReplyText, faults: BatchFaults = BatchFaults()) -> None:
        super().__init__(reply, faults)
        self._messages = AnthropicServer([])

    @property
    def environment(self) -> dict[str, str]:
        return {"ANTHROPIC_API_KEY": self.key, "ANTHROPIC_BASE_URL": self.url}

    def get_body(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        body: Mapping[str, Any] = request["params"]
        return body

    def handle(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Any:
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if (headers.get("x-api-key") or bearer) != self.key:
            raise RefusedError(401, "invalid x-api-key")
        url = urlsplit(path)
        match method, url.path.removeprefix("/v1/messages/").split("/"):
            case "POST", ["batches"]:
                requests = json.loads(body)
                if requests.keys() != {"requests"}:
                    raise RefusedError(400, f"fields: {sorted(requests)}")
                for request in requests["requests"]:
                    self._check(request, headers)
                return self._describe(self.create(requests["requests"], len(body)))
            case "GET", ["batches"]:
                query = parse_qs(url.query)
                limit = min(1000, int(query.get("limit", ["20"])[0]))
                found, has_more = self.list_batches(query.get("after_id", [None])[0], limit)
                listed = [self._describe(batch) for batch in found]
                return {"data": listed, "has_more": has_more}
            case "GET", ["batches", name]:
                return self._describe(self.poll(name))
            case "GET", ["batches", name, "results"]:
                if not self.batches[name].has_ended:
                    raise RefusedError(404, "no results yet")
                return self._write_lines(self.batches[name])
        raise RefusedError(404, f"{method} {path}")

    def _check(self, request: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        if request.keys() != {"custom_id", "params"}:
            raise RefusedError(400, f"fields of a request: {sorted(request)}")
        sent = {**headers, "x-api-key": self._messages.key}
        seen = Seen("POST", "/v1/messages", sent, request["params"])
        if refusal := self._messages.find_refusal(seen):
            raise RefusedError(400, json.dumps(refusal.body))

    def _describe(self, batch: ServedBatch) -> Any:
        kinds = Counter(
            outcome for _, outcome in {id(r): (r, o) for r, o in batch.outcomes}.values()
        )
        counts = {
            "processing": 0 if batch.has_ended else len(batch.requests),
            "succeeded": kinds["answered"],
            "errored": sum(kinds[outcome] for outcome in ERRORS),
            "canceled": 0,
            "expired": kinds["expired"] + kinds["missing"],
        }
        created = datetime.fromtimestamp(batch.created_at, UTC).isoformat().replace("+00:00", "Z")
        return {
            "id": batch.id, "type": "message_batch", "request_counts": counts, "created_at": created,
            "processing_status": "ended" if batch.has_ended else "in_progress", "expires_at": created,
            "cancel_initiated_at": None, "ended_at": created if batch.has_ended else None,
            "archived_at": None,
            "results_url": f"{self.url}/v1/messages/batches/{batch.id}/results" if batch.has_ended else None,
        }  # fmt: skip

    def _write_lines(self, batch: ServedBatch) -> Iterator[Mapping[str, Any]]:
        for request, outcome in batch.outcomes:
            match outcome:
                case "answered":
                    message = self._make_message(request["params"])
                    result: Mapping[str, Any] = {"type": "succeeded", "message": message}
                case "failed" | "rejected" | "refused":
                    _, kind = ERRORS[outcome]
                    error = {"type": kind, "message": f"it {outcome}"}
                    result = {"type": "errored", "error": {"type": "error", "error": error}}
                case "expired":
                    result = {"type": "expired"}
                case _:
                    continue
            yield {"custom_id": request["custom_id"], "result": result}

    def _make_message(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        text = self.reply(body)
        content: Mapping[str, Any] = {"type": "text", "text": text}
        if body.get("tool_choice", {}).get("name") == "reply":
            content = {
                "type": "tool_use",
                "id": "toolu_1",
                "name": "reply",
                "input": json.loads(text),
            }
        usage = {"input_tokens": 400, "output_tokens": 20, "cache_read_input_tokens": 600, "cache_creation_input_tokens": 0}  # fmt: skip
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"],
            "content": [content], "stop_reason": "end_turn", "stop_sequence": None, "usage": usage,
        }  # fmt: skip


def _make_handler(server: BatchServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._do(b"")

        def do_POST(self) -> None:
            server.posts += 1
            if server.posts <= server.faults.broken_posts:
                self.close_connection = True
                return
            if self.headers.get("transfer-encoding") == "chunked":
                pieces = []
                while size := int(self.rfile.readline(), 16):
                    pieces.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                self._do(b"".join(pieces))
            else:
                self._do(self.rfile.read(int(self.headers.get("content-length") or 0)))

        def _do(self, body: bytes) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                with server.lock:
                    answer = server.handle(self.command, self.path, headers, body)
                    is_check = self.command == "GET" and re.search(r"/batches/\w+$", self.path)
                    server.checks += bool(is_check)
                if is_check and server.checks <= server.faults.odd_checks:
                    self._send(200, b'{"error": "try later"}')
                    return
            except DroppedError:
                self.close_connection = True
                return
            except RefusedError as refused:
                error = {"type": "invalid_request_error", "message": str(refused)}
                self._send(refused.status, json.dumps({"type": "error", "error": error}).encode())
                return
            if isinstance(answer, bytes):
                self._send(200, answer)
            elif isinstance(answer, dict):
                self._send(200, json.dumps(answer).encode())
            else:
                self._stream(answer)

        def _send(self, status: int, data: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, lines: Iterator[Any]) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/octet-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            server.downloads += 1
            texts = [json.dumps(line) for line in lines]
            if server.faults.garbage:
                texts = [text for line in texts for text in (line, *GARBAGE)]
            is_broken = server.downloads <= server.faults.broken_downloads
            if server.downloads <= server.faults.empty_downloads:
                texts = []
            if server.downloads <= server.faults.cut_downloads:
                texts = [*texts[: len(texts) // 2], texts[-1][:40]]
            for text in texts[: len(texts) // 2] if is_broken else texts:
                data = text.encode() + b"\n"
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            if is_broken:
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    return Handler
