"""A debugger's channel to the program that it controls: JSON messages over a local socket.

channel = connect(address, key)            the program connects; both sides check the key
channel.send({"hello": "program"})
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Client, Connection
from typing import Any

from njrt.errors import ConfigurationError

Json = Mapping[str, Any]


class ChannelClosedError(Exception):
    """The other side has ended."""


class RunControlError(ConfigurationError):
    """The request is impossible now; the message gives the reason."""


_CLOSED = (EOFError, OSError, ValueError, TypeError)
"""Raised by a connection that the other side, or another thread on this side, has closed."""


class ControlChannel:
    """One end of the connection; several threads may send.

    When the other side has ended, `when_closed` is called and ChannelClosedError is raised.
    """

    def __init__(
        self, connection: Connection[bytes, bytes], when_closed: Callable[[], object] = bool
    ) -> None:
        self._connection = connection
        self._when_closed = when_closed
        self._lock = threading.Lock()

    def send(self, message: Json) -> None:
        data = json.dumps(message).encode()
        try:
            with self._lock:
                self._connection.send_bytes(data)
        except _CLOSED:
            raise self._make_error() from None

    def receive(self) -> dict[str, Any]:
        try:
            message: dict[str, Any] = json.loads(self._connection.recv_bytes())
        except _CLOSED:
            raise self._make_error() from None
        return message

    def has_message(self) -> bool:
        """Return whether `receive` would return or raise without waiting."""
        try:
            return self._connection.poll(0)
        except _CLOSED:
            raise self._make_error() from None

    def _make_error(self) -> ChannelClosedError:
        self._when_closed()
        return ChannelClosedError("the other side has ended")

    def fileno(self) -> int:
        return self._connection.fileno()

    def close(self) -> None:
        """Close this end; later calls, from other threads too, do nothing."""
        with self._lock, suppress(OSError):
            self._connection.close()


def connect(address: str, key: bytes, when_closed: Callable[[], object] = bool) -> ControlChannel:
    """Connect to the debugger that listens at an address."""
    return ControlChannel(Client(address, authkey=key), when_closed)
