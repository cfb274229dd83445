# compiled by njc 0.3.0 from service/triage/admission.py (sha256 8ab43ab764bb67b9, abi 1)
# do not edit: change service/triage/admission.py and build again
"""The way of each request into the service and out of it.

    SIGTERM came          503 and `Connection: close`; requests that run are finished
    too many run          503
    takes too long        504, and its work is cancelled
    client leaves         its work is cancelled

`Gate` counts the running requests; `Admission` is an ASGI middleware. Health and metrics are not limited.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from triage.failures import NO_LENGTH, OVERLOADED, STOPPING, TOO_LARGE, TOO_SLOW, Failure
from triage.metrics import CLIENT_LEFT, ServiceMetrics

MAX_BODY_BYTES = 64 * 1024
OPEN_PATHS = ("/health/", "/metrics")


class Gate:
    """Counts the running requests, and lets no more in once it is closed."""

    def __init__(self) -> None:
        self.running = 0
        self.is_closed = False
        self._idle = asyncio.Event()
        self._idle.set()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Count a request."""
        self.running += 1
        self._idle.clear()
        try:
            yield
        finally:
            self.running -= 1
            if self.running == 0:
                self._idle.set()

    def close(self) -> None:
        """Let no more requests in; may be called from a signal handler."""
        self.is_closed = True

    async def wait_until_idle(self, seconds: float) -> None:
        """Wait until no request runs, or for so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._idle.wait()


class ClientLeftError(Exception):
    """The client closed the connection before its request was complete."""


@dataclass
class Exchange:
    """One request and its answer (state: `status`, None before the answer has started, and whether it is complete)."""

    send: Send
    gate: Gate
    status: int | None = None
    is_complete: bool = False

    async def send_message(self, message: Message) -> None:
        """Pass a message of the application on; while the service stops, close the connection with it."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self.gate.is_closed:
                message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
        await self.send(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self.is_complete = True

    async def send_failure(self, failure: Failure) -> None:
        """Answer with a failure, unless an answer has started."""
        if self.status is not None:
            return
        body = json.dumps({"error": failure.code, "message": failure.message}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        if failure.retry_after is not None:
            headers.append((b"retry-after", b"%d" % failure.retry_after))
        if failure in (NO_LENGTH, TOO_LARGE):  # the body has not been read
            headers.append((b"connection", b"close"))
        start = {"type": "http.response.start", "status": failure.status, "headers": headers}
        await self.send_message(start)
        await self.send_message({"type": "http.response.body", "body": body})


class Admission:
    """Admits requests, limits their time, cancels those whose clients leave, and counts them."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        gate: Gate,
        metrics: ServiceMetrics,
        max_running: int,
        seconds: float,
    ) -> None:
        self._app = app
        self._gate = gate
        self._metrics = metrics
        self._max_running = max_running
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or scope["path"].startswith(OPEN_PATHS):
            await self._app(scope, receive, send)
            return
        began = time.monotonic()
        exchange = Exchange(send, self._gate)
        try:
            if failure := self._find_refusal(scope):
                await exchange.send_failure(failure)
            else:
                with self._gate.entered():
                    self._metrics.running.set(self._gate.running)
                    await self._run(scope, receive, exchange)
        except ClientLeftError:
            exchange.status = CLIENT_LEFT
        finally:
            self._metrics.running.set(self._gate.running)
            self._metrics.requests.labels(str(exchange.status or 500)).inc()
            self._metrics.seconds.observe(time.monotonic() - began)

    def _find_refusal(self, scope: Scope) -> Failure | None:
        if self._gate.is_closed:
            return STOPPING
        if self._gate.running >= self._max_running:
            return OVERLOADED
        headers = dict(scope["headers"])
        if b"transfer-encoding" in headers:
            return NO_LENGTH
        if int(headers.get(b"content-length", b"0")) > MAX_BODY_BYTES:
            return TOO_LARGE
        return None

    async def _run(self, scope: Scope, receive: Receive, exchange: Exchange) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                body = await read_body(receive)
                work = self._app(scope, make_receive(body), exchange.send_message)
                await run_while_connected(work, receive, exchange)
        except TimeoutError:
            await exchange.send_failure(TOO_SLOW)
        except asyncio.CancelledError:  # by the server, as the time for stopping is over
            await exchange.send_failure(STOPPING)


async def run_while_connected(work: Awaitable[None], receive: Receive, exchange: Exchange) -> None:
    """Await `work`; cancel it and raise ClientLeftError if the client leaves before its answer is complete."""
    task = asyncio.ensure_future(work)
    left = asyncio.ensure_future(wait_until_client_leaves(receive))
    try:
        await asyncio.wait({task, left}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done() and not exchange.is_complete:
            raise ClientLeftError
        await task
    finally:
        task.cancel()
        left.cancel()
        await asyncio.gather(task, left, return_exceptions=True)


async def read_body(receive: Receive) -> bytes:
    """Read the whole body of a request."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeftError
        body += message.get("body", b"")
        if not message.get("more_body"):
            return bytes(body)


async def wait_until_client_leaves(receive: Receive) -> None:
    """Return as soon as the client has closed the connection, or has its whole answer."""
    while (await receive())["type"] != "http.disconnect":
        pass


def make_receive(body: bytes) -> Receive:
    """Make the `receive` of a request whose body has been read."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if messages:
            return messages.pop()
        never: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        return await never

    return receive


# njc lines 1=1 3:1 208=206 sha256 bb60cab541075c28
