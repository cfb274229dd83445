"""Messages of the Debug Adapter Protocol on a stream of bytes.

    Content-Length: 46\\r\\n\\r\\n{"seq": 1, "type": "request", "command": ...}

    reader = MessageReader(sys.stdin.buffer)
    reader.read()            {"seq": 1, ...}; None at the end of the stream
    write_message(sys.stdout.buffer, {"seq": 2, "type": "event", ...})

The length counts bytes, the text is UTF-8 (https://microsoft.github.io/debug-adapter-protocol/overview#base-protocol).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, BinaryIO

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
MAX_HEADER_BYTES = 1024

_CONTENT_LENGTH = re.compile(rb"\s*content-length\s*:\s*(\d{1,12})\s*", re.IGNORECASE)


class MessageError(ValueError):
    """A message that cannot be read; the stream goes on behind it."""


class MessageReader:
    """Reads messages one by one (state: the position in the stream)."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def read(self) -> dict[str, Any] | None:
        """Return the next message; None at the end of the stream.

        Lines that are not a header are skipped.

        Raises:
            MessageError: the message is too long or not a JSON object.
        """
        length = self._read_header()
        if length is None:
            return None
        if length > MAX_MESSAGE_BYTES:
            self._skip(length)
            raise MessageError(f"a message of {length} bytes is too long")
        data = self._stream.read(length)
        if len(data) < length:
            return None
        try:
            message = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise MessageError(f"a message is not JSON: {error}") from None
        if not isinstance(message, dict):
            raise MessageError("a message is not a JSON object")
        return message

    def _read_header(self) -> int | None:
        """Return the length of the next message; None at the end of the stream."""
        length: int | None = None
        while line := self._stream.readline(MAX_HEADER_BYTES):
            if found := _CONTENT_LENGTH.fullmatch(line):
                length = int(found[1])
            elif not line.strip() and length is not None:
                return length
        return None

    def _skip(self, length: int) -> None:
        while length > 0 and (data := self._stream.read(min(length, 1 << 20))):
            length -= len(data)


def write_message(stream: BinaryIO, message: Mapping[str, Any]) -> None:
    """Write a message; characters that UTF-8 does not have are escaped."""
    data = json.dumps(message).encode("ascii")
    stream.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
    stream.flush()
