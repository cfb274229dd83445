"""The HTTP client of a vendor's SDK, which counts what may be billed and limits what is read.

    no connection, HTTP 4xx or 5xx            not billed
    HTTP 200, a lost connection               may be billed: it is counted, and before the SDK sends
                                              another request the limits and budgets are checked
    HTTP 200 {"error": {"code": 502}}         becomes HTTP 502, which the SDK retries

The SDK has the connection, the key, the retries and the streams. Bodies are read up to a limit, and
not packed. Redirects are not followed, since the key would travel with them. Not counted: retries
by PydanticAI's providers.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from njrt.errors import ModelError, NaturalError
from njrt.messages import CallAttempt, Reply, Request, Usage, add_usage
from njrt.models.response import MalformedReplyError, parse_json

MAX_BODY_BYTES = 16 * 2**20
"""Maximal bytes of a response; a model's reply has less than a megabyte."""

UNSENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError"})
"""Names of httpx exceptions that are raised before a request is sent."""

NOTHING = Usage(usd=0.0)


class Bill:
    """The calls of one exchange that the server may have billed (state: those so far)."""

    def __init__(self, model: str, request: Request) -> None:
        self._model = model
        self._before_call = request.before_call
        self._ended: list[CallAttempt] = []
        self._began: float | None = None
        self._refusal: NaturalError | None = None

    async def open_call(self) -> None:
        """Count a call that is about to be sent; raise a LimitError if no other may be made."""
        if self._began is not None:
            self.end_call("ServerError")
            try:
                if self._before_call is not None:
                    # This may write to a store, which must not block the event loop.
                    await asyncio.to_thread(self._before_call, NOTHING)
            except NaturalError as error:
                self._refusal = error
        if self._refusal is not None:  # older SDKs retry after any exception
            raise self._refusal
        self._began = time.monotonic()

    def cancel_call(self) -> None:
        """Drop the last call, which was not billed."""
        self._began = None

    def end_call(self, outcome: str, used: Usage = NOTHING) -> None:
        """Count the last call, with what it is known to have used."""
        now = time.monotonic()
        seconds = round(now - (self._began or now), 6)
        self._ended.append(CallAttempt(self._model, outcome, used, seconds))
        self._began = None

    def finish(self, reply: Reply) -> Reply:
        """Return the reply with all its calls, if there were several."""
        if not self._ended:
            return reply
        self.end_call("used", reply.usage)
        used = add_usage(attempt.usage for attempt in self._ended)
        return replace(reply, usage=used, attempts=tuple(self._ended))

    def fail(self, error: NaturalError) -> NaturalError:
        """Return the error with its calls, if there were several or one with known usage."""
        has_calls = bool(self._ended)
        if self._began is not None and isinstance(error, ModelError):
            self.end_call(type(error).__name__)
        if has_calls:
            error.attempts = tuple(self._ended)
        return error


current_bill: ContextVar[Bill | None] = ContextVar("njrt.models.bill", default=None)
"""The bill of the exchange that runs here."""


def make_client_class(base: Any, failure: type[Exception]) -> Any:
    """Return the subclass of an SDK's HTTP client that counts and limits.

    What ends a call is the cause of a `failure`, the base of the SDK's exceptions: one that is no
    more than that passes through the SDK without a retry.
    """
    http: Any = sys.modules[base.build_request.__module__.partition(".")[0]]  # httpx, httpx2

    class LimitedStream(http.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, stream: Any) -> None:
            self._stream, self._length = stream, 0

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for data in self._stream:
                self._length += len(data)
                if self._length > MAX_BODY_BYTES:
                    raise MalformedReplyError(f"it is longer than {MAX_BODY_BYTES:,} bytes")
                yield data

        async def aclose(self) -> None:
            await self._stream.aclose()

    class BilledClient(base):  # type: ignore[misc]
        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            bill = current_bill.get() if request.method == "POST" else None
            try:
                if bill is not None:
                    await bill.open_call()
                response = await super().send(request, stream=True, **options)
                response.stream = LimitedStream(response.stream)
                response = await prepare_response(response, stream)
            except (NaturalError, MalformedReplyError) as error:
                raise failure(str(error)) from error
            except Exception as error:
                if bill is not None and not was_sent(error):
                    bill.cancel_call()
                raise
            if bill is not None and not response.is_success:
                bill.cancel_call()
            return response

    return BilledClient


async def prepare_response(response: Any, is_streamed: bool) -> Any:
    """Return an event stream as it is, and any other response with its body and true status."""
    try:
        encoding = response.headers.get("content-encoding", "identity")
        if encoding.strip().lower() not in ("", "identity"):
            raise MalformedReplyError(f"its encoding {encoding[:40]!r} was not asked for")
        if is_streamed and response.is_success and is_event_stream(response.headers):
            return response
        body = await response.aread()
    except Exception:
        await response.aclose()
        if response.is_success:
            raise
        return type(response)(response.status_code, request=response.request)
    if response.is_success and (status := find_error_status(body)):
        response.status_code = status
    return response


def is_event_stream(headers: Mapping[str, str]) -> bool:
    """Return whether a response with these headers is a stream of server-sent events."""
    return "event-stream" in headers.get("content-type", "").lower()


def find_error_status(body: bytes) -> int | None:
    """Return the status of an error that came in place of a reply; 502 if it has no code."""
    with suppress(MalformedReplyError):
        match parse_json(body):
            case {"choices": [_, *_]} | {"content": [_, *_]} | {"usage": dict()}:
                return None
            case {"error": error} if error:
                code = str(error.get("code")) if isinstance(error, dict) else ""
                return int(code) if re.fullmatch("[45][0-9][0-9]", code) else 502
    return None


def was_sent(failure: BaseException) -> bool:
    """Return whether a request may have reached its server, by an exception and its causes."""
    return not any(type(cause).__name__ in UNSENT for cause in list_causes(failure))


def list_causes(error: BaseException) -> list[BaseException]:
    """Return an exception and its chain of causes."""
    causes = [error]
    while (cause := causes[-1].__cause__) is not None and cause not in causes:
        causes.append(cause)
    return causes
