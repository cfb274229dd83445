"""The proxy outside the sandbox: it connects only to the given endpoints.

CONNECT api.openai.com:443 HTTP/1.1              a tunnel, with TLS between program and server
POST http://127.0.0.1:8000/v1/... HTTP/1.1       forwarded as  POST /v1/... HTTP/1.1, one per connection
CONNECT elsewhere.example:443 HTTP/1.1           403, with the reason
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from njc.sandbox.forwarder import relay, serve_clients
from njrt.records import record

_MAX_HEAD_BYTES = 65536
_TIMEOUT_SECONDS = 30.0
"""Seconds to wait for a request's head, and for a server to accept a connection."""


@record
class Endpoint:
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@record
class ProxyRequest:
    """The head of a client's request: its endpoint, the bytes to send first, and whether it is a tunnel."""

    endpoint: Endpoint
    first: bytes
    is_tunnel: bool = False


def parse_proxy_request(head: bytes, rest: bytes) -> ProxyRequest | None:
    """Parse a request's head and the bytes after it; None if it is not a request to a proxy."""
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
    # One request per connection, so that every head is checked here.
    kept = [field for field in fields if not field.lower().startswith((b"connection:", b"proxy-"))]
    lines = [f"{method} {path} {version}".encode(), *kept, b"Connection: close", b"", b""]
    return ProxyRequest(Endpoint(host, port or 80), b"\r\n".join(lines) + rest)


@contextmanager
def serve_proxy(path: Path, allowed: Set[Endpoint]) -> Iterator[Path]:
    """Serve on a Unix socket at `path` while the `with` block runs; yields the path."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o666)  # the sandbox may run as another user; only we can access the folder
        listener.listen(128)
        arguments = listener, lambda client: _handle_client(client, allowed)
        threading.Thread(target=serve_clients, args=arguments, daemon=True).start()
        yield path


def _handle_client(client: socket.socket, allowed: Set[Endpoint]) -> None:
    try:
        client.settimeout(_TIMEOUT_SECONDS)
        request = _read_proxy_request(client)
        if request is None:
            return _send_refusal(
                client, 400, "this proxy accepts only CONNECT and plain http:// requests"
            )
        if request.endpoint not in allowed:
            known = ", ".join(map(str, allowed)) or "nothing"
            return _send_refusal(
                client, 403, f"the sandbox allows connections to {known}, not to {request.endpoint}"
            )
        try:
            server = socket.create_connection(
                (request.endpoint.host, request.endpoint.port), _TIMEOUT_SECONDS
            )
        except OSError as error:
            return _send_refusal(client, 502, f"{request.endpoint} cannot be reached: {error}")
        if request.is_tunnel:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        server.sendall(request.first)
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


def _send_refusal(client: socket.socket, status: int, reason: str) -> None:
    body = f"{reason}\n".encode()
    head = (
        f"HTTP/1.1 {status} Refused\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    )
    with client:
        client.sendall(f"{head}Connection: close\r\n\r\n".encode() + body)
