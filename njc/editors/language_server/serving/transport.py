r"""Reading the messages of a client: from bytes to the text of one message after the other.

    Content-Length: 46\r\n\r\n{"jsonrpc": "2.0", "id": 1, ...}        ->  b'{"jsonrpc": "2.0", "id": 1, ...}'

The base protocol of the Language Server Protocol 3.17. Names of header fields may be written in any case, as in HTTP.
Bytes that belong to no message are passed over, up to the next `Content-Length`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable
from typing import Protocol

MAX_MESSAGE_BYTES = 256 * 2**20
"""The size of a message that is read."""

_CONTENT_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,18})[ \t]*\r?\n", re.IGNORECASE)


class ByteReader(Protocol):
    """A stream of bytes."""

    def readline(self) -> Awaitable[bytes]:
        """Read to the end of a line, or of the stream."""

    def readexactly(self, n: int, /) -> Awaitable[bytes]:
        """Read so many bytes; fewer, or IncompleteReadError, at the end of the stream."""


async def read_messages(reader: ByteReader) -> AsyncIterator[bytes]:
    """Yield the body of each message until the stream ends."""
    length: int | None = None
    while True:
        try:
            line = await reader.readline()
        except ValueError:  # a line longer than the buffer of the stream
            continue
        if not line:
            return
        if found := _CONTENT_LENGTH.search(line):
            length = int(found[1])
        elif not line.strip() and length is not None:
            if length > MAX_MESSAGE_BYTES:
                length = None
                continue
            try:
                body = await reader.readexactly(length)
            except asyncio.IncompleteReadError:  # the client ended within a message
                return
            if len(body) < length:
                return
            yield body
            length = None
