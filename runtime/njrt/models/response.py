"""Read a server's response, which may hold anything, and is limited while it is read.

    HTTP 200 {"error": {"code": 502}}               becomes HTTP 502, which the SDK retries
    parse_json(b'{"choices": [')                    MalformedReplyError: it is not JSON
    read_field({"choices": 1}, "choices", list)     MalformedReplyError: choices: it is missing...

The SDK has the connection, the key, the retries and the streams. Bodies are read up to a limit, and
not packed. Redirects are not followed, since the key would travel with them. Lone surrogates are
escaped; infinite numbers, NaN and values nested too deep are errors.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

from njrt.messages import CallAttempt

MAX_DEPTH = 100
"""Maximal nesting of lists and objects; models' replies have fewer than ten levels."""

MAX_TOKENS = 10**9
"""The largest number that is accepted as a token count."""

MAX_BODY_BYTES = 16 * 2**20
"""Maximal bytes of a response; a model's reply has less than a megabyte."""


class MalformedReplyError(ValueError):
    """A response does not have the format of its API; the message names the mistake.

    `attempts` has the call if the response says what it has used.
    """

    attempts: tuple[CallAttempt, ...] = ()


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; strings may have control characters."""
    try:
        value = json.loads(text, strict=False)
        json.dumps(value, allow_nan=False)  # refuses infinite numbers and NaN
        return escape_surrogates(value, MAX_DEPTH)
    except (ValueError, RecursionError):
        raise MalformedReplyError("it is not JSON, or nested too deep") from None


def read_field(value: Any, name: str, *types: type) -> Any:
    """Return a field of a JSON object, which has one of the types; None if it has none."""
    found = value.get(name) if isinstance(value, dict) else value
    if not isinstance(value, dict) or (found is not None and type(found) not in types):
        raise MalformedReplyError(f"{name}: it is missing, or not what the API says")
    return found


def read_token_count(usage: Any, *names: str) -> int:
    """Return the number of tokens at a path of names; 0 if there is none."""
    for name in names:
        usage = None if usage is None else read_field(usage, name, int, dict)
    if usage is not None and (type(usage) is not int or not 0 <= usage <= MAX_TOKENS):
        raise MalformedReplyError("usage: a number of tokens is none, or is out of range")
    return usage or 0


def escape_surrogates(value: Any, max_depth: float = math.inf) -> Any:
    r"""Return the JSON value with lone surrogates, which UTF-8 lacks, as text such as `\ud800`.

    Raises ValueError if lists and objects are nested deeper than `max_depth` levels.
    """
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if not isinstance(value, list | dict):
        return value
    if max_depth <= 0:
        raise ValueError("it is nested too deep")
    if isinstance(value, list):
        return [escape_surrogates(item, max_depth - 1) for item in value]
    return {
        escape_surrogates(key): escape_surrogates(item, max_depth - 1)
        for key, item in value.items()
    }


def make_client_class(base: Any, failure: type[Exception]) -> Any:
    """Return the subclass of an SDK's HTTP client that limits what is read.

    A response that is not read is an error that is also a `failure`, the base of the SDK's
    exceptions: such a one passes through the SDK without a retry.
    """
    http: Any = sys.modules[base.build_request.__module__.partition(".")[0]]  # httpx, httpx2

    class UnreadableError(MalformedReplyError, failure):  # type: ignore[misc,valid-type]
        pass

    class LimitedStream(http.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, stream: Any) -> None:
            self._stream, self._length = stream, 0
            self.aclose = stream.aclose

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for data in self._stream:
                self._length += len(data)
                if self._length > MAX_BODY_BYTES:
                    raise UnreadableError(f"it is longer than {MAX_BODY_BYTES:,} bytes")
                yield data

    class LimitedClient(base):  # type: ignore[misc]
        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            response = await super().send(request, stream=True, **options)
            response.stream = LimitedStream(response.stream)
            encoding = response.headers.get("content-encoding", "identity")
            try:
                if encoding.strip().lower() not in ("", "identity"):
                    raise UnreadableError(f"its encoding {encoding[:40]!r} was not asked for")
                if stream and response.is_success and is_event_stream(response.headers):
                    return response
                body = await response.aread()
            except BaseException:
                await response.aclose()
                raise
            if response.is_success and (status := find_error_status(body)):
                response.status_code = status
            return response

    return LimitedClient


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
