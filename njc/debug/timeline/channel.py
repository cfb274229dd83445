"""A debugger's channel to the program that it controls: JSON messages over a pair of sockets.

channel = open_channel(os.environ)         in the program, which inherits one of them
channel.send({"ended": 0, "error": ""})
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from njrt.errors import ConfigurationError

Json = Mapping[str, Any]

CHANNEL_VARIABLE = "NJC_TIMELINE"
"""The variable with the file descriptor of the program's end."""


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
        return self._connection.poll(0)

    def _make_error(self) -> ChannelClosedError:
        self._when_closed()
        return ChannelClosedError("the other side has ended")

    def close(self) -> None:
        """End the connection, also for a thread that is reading it; later calls do nothing.

        The file descriptor is closed with the object: a thread that still reads it must not get
        one that was opened meanwhile.
        """
        with suppress(OSError), socket.socket(fileno=os.dup(self._connection.fileno())) as ours:
            ours.shutdown(socket.SHUT_RDWR)


def open_channel(
    environ: MutableMapping[str, str], when_closed: Callable[[], object]
) -> ControlChannel:
    """Return the program's end of the channel; children of the program do not inherit it."""
    handle = int(environ.pop(CHANNEL_VARIABLE))
    os.set_inheritable(handle, False)
    return ControlChannel(Connection(handle), when_closed)
