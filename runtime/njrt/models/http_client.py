"""The HTTP client of a vendor's SDK, which limits what is read.

    HTTP 200 {"error": {"code": 502}}         becomes HTTP 502, which the SDK retries

The SDK has the connection, the key, the retries and the streams. Bodies are read up to a limit, and
not packed. Redirects are not followed, since the key would travel with them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

from njrt.models.response import MalformedReplyError, parse_json

MAX_BODY_BYTES = 16 * 2**20
"""Maximal bytes of a response; a model's reply has less than a megabyte."""


def make_client_class(base: Any, failure: type[Exception]) -> Any:
    """Return the subclass of an SDK's HTTP client that limits what is read.

    A response that is not read is the cause of a `failure`, the base of the SDK's exceptions: one
    that is no more than that passes through the SDK without a retry.
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

    class LimitedClient(base):  # type: ignore[misc]
        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            response = await super().send(request, stream=True, **options)
            response.stream = LimitedStream(response.stream)
            try:
                return await prepare_response(response, stream)
            except MalformedReplyError as error:
                raise failure(str(error)) from error

    return LimitedClient


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


def list_causes(error: BaseException) -> list[BaseException]:
    """Return an exception and its chain of causes."""
    causes = [error]
    while (cause := causes[-1].__cause__) is not None and cause not in causes:
        causes.append(cause)
    return causes
