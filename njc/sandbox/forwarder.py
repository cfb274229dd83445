"""The sandbox's network: forwards 127.0.0.1:3128 to the Unix socket of the proxy outside.

    python -P -m njc.sandbox.forwarder SOCKET LIMITS python -m njc run prog.njpy

limits itself, starts the program and copies bytes between the port and the socket while it runs. The proxy decides which
hosts are reachable. This module starts with every sandbox, so it imports little.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from njc.sandbox.limits import apply_limits, parse_limits

PORT = 3128
_CHUNK_SIZE = 65536


def main() -> None:
    """Apply the limits, forward the port in another process, and replace this process with the program."""
    path, limits, *program = sys.argv[1:]
    apply_limits(parse_limits(limits))
    listener = socket.create_server(("127.0.0.1", PORT), backlog=128)
    if os.fork() == 0:
        if os.fork() == 0:  # a grandchild, so that the program has only children that it started
            serve_clients(listener, lambda client: connect_and_relay(client, path))
        os._exit(0)
    os.wait()
    listener.close()
    os.execvp(program[0], program)


def serve_clients(listener: socket.socket, serve: Callable[[socket.socket], object]) -> None:
    """Call `serve` with every accepted connection, each in a thread, until the listener is closed."""
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=serve, args=(client,), daemon=True).start()


def connect_and_relay(client: socket.socket, path: str) -> None:
    """Relay a connection to a Unix socket."""
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(path)
    except OSError:
        client.close()
        return
    relay(client, server)


def relay(one: socket.socket, other: socket.socket) -> None:
    """Copy bytes in both directions until both sides have ended, then close both."""
    with one, other:
        back = threading.Thread(target=_copy_bytes, args=(other, one), daemon=True)
        back.start()
        _copy_bytes(one, other)
        back.join()


def _copy_bytes(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(_CHUNK_SIZE):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        # One side is closed: stop the other side's waiting, too.
        for connection in (source, target):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    main()
