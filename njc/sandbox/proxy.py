"""The proxy outside of a sandbox: it connects to the endpoints that it was given, and to nothing else.

CONNECT api.openai.com:443 HTTP/1.1              a tunnel: the TLS inside is the program's and the server's
POST http://127.0.0.1:8000/v1/... HTTP/1.1       passed on as    POST /v1/... HTTP/1.1, one a connection
CONNECT elsewhere.example:443 HTTP/1.1           403, and the message says why
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from njc.sandbox.forwarder import relay

_MAX_HEAD_BYTES = 65536
_TIMEOUT_SECONDS = 30.0
"""Seconds to wait for a request's head, and for a server to accept a connection."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """How a client begins: where it wants to go, what to pass on first, and whether as a tunnel."""

    endpoint: Endpoint
    first: bytes
    is_tunnel: bool = False


def parse_proxy_request(head: bytes, rest: bytes) -> ProxyRequest | None:
    """Read the head of a request and what came after it; None where it is none for a proxy."""
    line, *fields = head.split(b"\r\n")
    try:
        method, target, version = line.decode("ascii").split(" ")
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if method == "CONNECT":
        return ProxyRequest(Endpoint(host, port), rest, True) if host and port else None
    if parts.scheme != "http" or not host:
        return None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    # One request a connection: so the head of each is seen here.
    kept = [field for field in fields if not field.lower().startswith((b"connection:", b"proxy-"))]
    lines = [f"{method} {path} {version}".encode(), *kept, b"Connection: close", b"", b""]
    return ProxyRequest(Endpoint(host, port or 80), b"\r\n".join(lines) + rest)


@contextmanager
def serve_proxy(path: Path, allowed: Set[Endpoint]) -> Iterator[Path]:
    """Serve on a Unix socket at `path` inside of a `with`; give the path."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(128)
        threading.Thread(target=_accept_clients, args=(listener, allowed), daemon=True).start()
        yield path


def _accept_clients(listener: socket.socket, allowed: Set[Endpoint]) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_handle_client, args=(client, allowed), daemon=True).start()


def _handle_client(client: socket.socket, allowed: Set[Endpoint]) -> None:
    """Serve one connection: to its endpoint, or to a refusal."""
    try:
        client.settimeout(_TIMEOUT_SECONDS)
        opening = _read_proxy_request(client)
        if opening is None:
            return _send_refusal(
                client, 400, "this proxy takes CONNECT and plain http:// requests only"
            )
        if opening.endpoint not in allowed:
            known = ", ".join(map(str, allowed)) or "nothing"
            return _send_refusal(
                client, 403, f"the sandbox lets {known} be reached, not {opening.endpoint}"
            )
        try:
            server = socket.create_connection(
                (opening.endpoint.host, opening.endpoint.port), _TIMEOUT_SECONDS
            )
        except OSError as error:
            return _send_refusal(client, 502, f"{opening.endpoint} cannot be reached: {error}")
        if opening.is_tunnel:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        server.sendall(opening.first)
    except OSError:
        client.close()
        return None
    client.settimeout(None)
    server.settimeout(None)
    return relay(client, server)


def _read_proxy_request(client: socket.socket) -> ProxyRequest | None:
    data = b""
    while b"\r\n\r\n" not in data:
        received = client.recv(4096)
        data += received
        if not received or len(data) > _MAX_HEAD_BYTES:
            return None
    head, _, rest = data.partition(b"\r\n\r\n")
    return parse_proxy_request(head, rest)


def _send_refusal(client: socket.socket, status: int, why: str) -> None:
    body = f"{why}\n".encode()
    head = (
        f"HTTP/1.1 {status} Refused\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    )
    with client:
        client.sendall(f"{head}Connection: close\r\n\r\n".encode() + body)
