"""The sandbox's only way out: 127.0.0.1:3128 in there, a Unix socket, and the proxy outside.

    python -m njc.sandbox.forwarder SOCKET python -m njc run prog.njpy

starts the program, and passes bytes between the port and the socket as long as it runs. It decides nothing:
what may be reached is decided outside. Only the standard library is used, and little of it.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable

PORT = 3128
_CHUNK_SIZE = 65536


def main() -> None:
    """Listen, leave the rest of that to another process, and become the program."""
    path, *program = sys.argv[1:]
    listener = socket.create_server(("127.0.0.1", PORT), backlog=128)
    if os.fork() == 0:
        if os.fork() == 0:  # a grandchild: the program never meets a child that it has not started
            forward_connections(listener, lambda: connect_unix_socket(path))
        os._exit(0)
    os.wait()
    listener.close()
    os.execvp(program[0], program)


def forward_connections(listener: socket.socket, connect: Callable[[], socket.socket]) -> None:
    """Join each connection with one that `connect` opens, for ever."""
    while True:
        client, _ = listener.accept()
        threading.Thread(target=_connect_and_relay, args=(client, connect), daemon=True).start()


def connect_unix_socket(path: str) -> socket.socket:
    """Connect to a Unix socket."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return connection


def _connect_and_relay(client: socket.socket, connect: Callable[[], socket.socket]) -> None:
    try:
        server = connect()
    except OSError:
        client.close()
        return
    relay(client, server)


def relay(one: socket.socket, other: socket.socket) -> None:
    """Pass bytes both ways until both sides have ended, and close both."""
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
        # One side is gone: let the other one's waiting end as well.
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


if __name__ == "__main__":
    main()
