"""Read the body of a server's response, which may hold anything.

    parse_json(b'{"choices": [')                           MalformedReplyError: it is not JSON
    validate_reply({"choices": 1}, Completion)             MalformedReplyError: choices: Input should be a valid list
    DefaultAsyncHttpxClient(**SAFE_CLIENT)                 a client with replies of at most MAX_BODY_BYTES

Lone surrogates are escaped; infinite numbers, NaN, values nested too deep and bodies that are too long, also
once unpacked, are errors. Files, as of batches, are not limited.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, TypeVar

from njrt.messages import read_float

T = TypeVar("T")

MAX_DEPTH = 100
"""Maximal nesting of lists and objects; models' replies have fewer than ten levels."""

MAX_TOKENS = 10**9
"""The largest number that is accepted as a token count."""


class MalformedReplyError(ValueError):
    """A response does not have the format of its API; the message names the mistake."""


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text. Strings may have unescaped control characters, as small models write them."""
    try:
        value = json.loads(
            text, strict=False, parse_float=_parse_float, parse_constant=_parse_float
        )
    except (ValueError, RecursionError):
        raise MalformedReplyError("it is not JSON") from None
    if measure_depth(value) > MAX_DEPTH:
        raise MalformedReplyError(f"it is nested deeper than {MAX_DEPTH} levels")
    return escape_surrogates(value)


def validate_reply(value: Any, expected: type[T]) -> T:
    """Return the dataclass `expected` from JSON; raise MalformedReplyError with the field that does not fit."""
    from njrt.dataclass_json import InvalidJsonError, validate_value

    try:
        reply: T = validate_value(value, expected)
    except InvalidJsonError as error:
        raise MalformedReplyError(str(error)) from None
    return reply


def check_token_counts(*counts: int) -> None:
    """Raise MalformedReplyError if one of these cannot be a token count."""
    if not all(0 <= count <= MAX_TOKENS for count in counts):
        raise MalformedReplyError("usage: a number of tokens is out of range")


def escape_surrogates(value: Any) -> Any:
    r"""Return the JSON value with lone surrogates, which UTF-8 cannot encode, as text such as `\ud800`."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
        case list():
            return [escape_surrogates(item) for item in value]
        case dict():
            return {escape_surrogates(key): escape_surrogates(item) for key, item in value.items()}
        case _:
            return value


def measure_depth(value: Any) -> int:
    """Return the nesting depth of lists and dicts in a JSON value, without recursion."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, list | dict)]:
        depth += 1
        level = [
            inner for item in level for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return depth


def _parse_float(text: str) -> float:
    if not math.isfinite(number := read_float(text)):
        raise ValueError(f"{text} is not a number of JSON, or is too large")
    return number


# ── its bytes, while they are read and unpacked ──────────────────────────────────────────────────

MAX_BODY_BYTES = 16 * 2**20
"""Maximal bytes of an unpacked response; a model's reply has less than a megabyte."""

_STEP_BYTES = 2**16
"""Bytes that are unpacked in one step."""

is_body_limited: ContextVar[bool] = ContextVar("njrt.models.response", default=False)


async def limit_body(response: Any) -> None:
    """Make a response's body raise `MalformedReplyError` if it is too long (a client's hook)."""
    if not is_body_limited.get():
        return
    encoding = response.headers.get("content-encoding", "").strip().lower()
    unpack = _UNPACKERS.get(encoding, _unpack_nothing if response.is_error else None)
    if unpack is None:
        raise MalformedReplyError(f"its encoding {encoding[:40]!r} was not asked for")
    if encoding:
        del response.headers["content-encoding"]
    base = next(cls for cls in type(response.stream).__mro__ if cls.__name__ == "AsyncByteStream")
    response.stream = _make_stream_class(base)(response.stream, unpack())


SAFE_CLIENT: dict[str, Any] = {
    "follow_redirects": False,
    "headers": {"accept-encoding": "gzip, deflate"},
    "event_hooks": {"response": [limit_body]},
}
"""Arguments of an SDK's HTTP client."""


@lru_cache(maxsize=4)
def _make_stream_class(base: type) -> Callable[..., Any]:
    """Return the class of limited streams for an HTTP library, given its stream class."""

    def __init__(self: Any, stream: Any, unpack: Unpack) -> None:
        self.stream, self.unpack = stream, unpack

    async def __aiter__(self: Any) -> AsyncIterator[bytes]:
        length = 0
        async for packed in self.stream:
            for data in self.unpack(packed):
                length += len(data)
                if length > MAX_BODY_BYTES:
                    raise MalformedReplyError(f"it is longer than {MAX_BODY_BYTES:,} bytes")
                yield data

    async def aclose(self: Any) -> None:
        await self.stream.aclose()

    members = {"__init__": __init__, "__aiter__": __aiter__, "aclose": aclose}
    return type("LimitedStream", (base,), members)


Unpack = Callable[[bytes], Iterator[bytes]]


def _unpack_nothing() -> Unpack:
    return lambda data: iter((data,))


def _unpack_deflated() -> Unpack:
    """Unpack gzip, zlib or raw deflate, in small steps."""
    unpacker, has_begun = zlib.decompressobj(zlib.MAX_WBITS | 32), False

    def unpack(data: bytes) -> Iterator[bytes]:
        nonlocal unpacker, has_begun
        while data and not unpacker.eof:
            try:
                part = unpacker.decompress(data, _STEP_BYTES)
            except zlib.error:
                if has_begun:
                    raise MalformedReplyError("it cannot be unpacked") from None
                unpacker, has_begun = zlib.decompressobj(-zlib.MAX_WBITS), True
                continue
            has_begun, data = True, unpacker.unconsumed_tail
            yield part

    return unpack


_UNPACKERS: dict[str, Callable[[], Unpack]] = {
    "": _unpack_nothing,
    "identity": _unpack_nothing,
    **dict.fromkeys(("gzip", "x-gzip", "deflate"), _unpack_deflated),
}
