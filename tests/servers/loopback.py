"""A server on 127.0.0.1 that does to a client, in order, what its script says.

    with Loopback([Status(429, retry_after=1), Drop(), Answer({"ok": True})]) as server:
        ...                                       # a client talks to server.url
    assert [seen.path for seen in server.seen] == ["/", "/", "/"]

The servers of the vendors' wire formats (`openai_server`, `anthropic_server`) are of this kind: they look at
each request first, and refuse what the vendor would refuse, before the script has its turn.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self


@dataclass(frozen=True)
class Answer:
    """Answer with this JSON, so many seconds later."""

    body: Any
    after: float = 0.0


@dataclass(frozen=True)
class Status:
    """Answer with an error status; `body` is JSON."""

    status: int
    retry_after: float | None = None
    body: Any = None


@dataclass(frozen=True)
class Raw:
    """Answer with exactly this body, of the type `kind`."""

    body: str | bytes
    kind: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Garbage:
    """Send exactly these bytes in place of an HTTP response, and close the connection."""

    data: bytes


@dataclass(frozen=True)
class Drop(Garbage):
    """Close the connection without an answer."""

    data: bytes = b""


@dataclass(frozen=True)
class Hang:
    """Do not answer until the server is closed."""


@dataclass(frozen=True)
class Endless:
    """Send these bytes in place of an HTTP response, then `data` again and again until the client leaves."""

    head: bytes
    data: bytes
    pause: float = 0.0


@dataclass(frozen=True)
class Trickle(Endless):
    """Begin to answer, and send one blank every `pause` seconds until the client leaves."""

    head: bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n"
    data: bytes = b" "
    pause: float = 0.05


@dataclass(frozen=True)
class Stream:
    """Answer with server-sent events; then `end` the answer, cut it off, or `stall`."""

    events: Sequence[Any]
    then: Literal["end", "cut", "stall"] = "end"


Response = Answer | Status | Raw | Garbage | Hang | Endless | Stream


@dataclass(frozen=True)
class Seen:
    """One request as it came in, `at` so many seconds on the monotonic clock."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    at: float = field(default_factory=time.monotonic)


class Loopback:
    """The server; `seen` is every request, `connections` how many connections brought them.

    `abandoned` is set when a client has left in the middle of an answer that does not end.
    """

    port = 0
    """The port, for a server that is started again; 0 for any."""

    def __init__(self, script: Iterable[Response] = ()) -> None:
        self.script = list(script)
        self.seen: list[Seen] = []
        self.connections = 0
        self.closing = threading.Event()
        self.abandoned = threading.Event()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def find_refusal(self, seen: Seen) -> Response | None:
        """What the server has to say against the request; None where it is in order."""

    def answer_without_script(self, seen: Seen) -> Response | None:
        """Return the answer to requests that take nothing from the script."""

    def split_answer(self, body: Any) -> Sequence[Any] | None:
        """Return the events of an answer to a client that asked for a stream; None: this server does not stream."""

    def choose_response(self, seen: Seen) -> Response:
        with self._lock:
            self.seen.append(seen)
            if response := self.find_refusal(seen) or self.answer_without_script(seen):
                return response
            if self.script:
                return self.script.pop(0)
        return Status(500, body={"error": {"message": "the test's script has ended"}})

    def connected(self) -> None:
        with self._lock:
            self.connections += 1

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", self.port), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    """Connections that may wait; of the usual five, a busy machine resets some when twenty come at once."""


def _handler(loopback: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            loopback.connected()

        def do_GET(self) -> None:
            self._do(None)

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            self._do(json.loads(self.rfile.read(length)))

        def _do(self, body: Any) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            response = loopback.choose_response(Seen(self.command, self.path, headers, body))
            if isinstance(response, Answer) and isinstance(body, dict) and body.get("stream"):
                events = loopback.split_answer(response.body)
                response = Stream(events) if events else response
            match response:
                case Answer(answer, after):
                    loopback.closing.wait(after)
                    self._send(200, json.dumps(answer))
                case Status(status, retry_after, answer):
                    extra = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
                    self._send(status, json.dumps(answer), extra)
                case Raw(body, kind, status, headers):
                    self._send(status, body, {"content-type": kind} | dict(headers))
                case Garbage(data):
                    self.wfile.write(data)
                    self.close_connection = True
                case Hang():
                    loopback.closing.wait()
                    self.close_connection = True
                case Endless(head, data, pause):
                    self._repeat(head, data, pause)
                case Stream(events, then):
                    self._stream(events, then)

        def _send(
            self, status: int, body: str | bytes, extra: Mapping[str, str] | None = None
        ) -> None:
            data = body.encode() if isinstance(body, str) else body
            headers = {"content-type": "application/json", "content-length": str(len(data))}
            self.send_response(status)
            for name, value in (headers | dict(extra or {})).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, events: Sequence[Any], then: str) -> None:
            # A connection that closes unannounced could still be taken for the client's next request.
            self.close_connection = then != "end"
            self.send_response(200)
            self.send_header("content-type", "text/event-stream; charset=utf-8")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            try:
                for event in events:
                    is_named = isinstance(event, dict) and "type" in event
                    name = f"event: {event['type']}\n" if is_named else ""
                    text = event if isinstance(event, str) else json.dumps(event)
                    data = f": a comment\n{name}data: {text}\n\n".encode()
                    self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                if then == "stall":
                    loopback.closing.wait()
                elif then == "end":
                    self.wfile.write(b"0\r\n\r\n")
            except OSError:
                loopback.abandoned.set()

        def _repeat(self, head: bytes, data: bytes, pause: float) -> None:
            self.close_connection = True
            try:
                self.wfile.write(head)
                while not loopback.closing.wait(pause):
                    self.wfile.write(data)
            except OSError:
                loopback.abandoned.set()

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    return Handler
