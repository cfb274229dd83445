"""The proxy of a sandbox: how it parses requests, and where it connects."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from loopback import Answer, Loopback
from njc.sandbox.bubblewrap import parse_endpoint
from njc.sandbox.proxy import Endpoint, ProxyRequest, parse_proxy_request, serve_proxy


@pytest.mark.parametrize(
    ("head", "parsed"),
    [
        (
            b"CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443",
            ProxyRequest(Endpoint("api.example", 443), b"rest", True),
        ),
        (
            b"POST http://API.example:8000/v1/x?y=1 HTTP/1.1\r\nConnection: keep-alive\r\nProxy-Connection: x\r\nA: b",
            ProxyRequest(
                Endpoint("api.example", 8000),
                b"POST /v1/x?y=1 HTTP/1.1\r\nA: b\r\nConnection: close\r\n\r\nrest",
            ),
        ),
        (
            b"GET http://api.example HTTP/1.1",
            ProxyRequest(
                Endpoint("api.example", 80), b"GET / HTTP/1.1\r\nConnection: close\r\n\r\nrest"
            ),
        ),
        (b"CONNECT [::1]:443 HTTP/1.1", ProxyRequest(Endpoint("::1", 443), b"rest", True)),
        (b"GET /path HTTP/1.1", None),
        (b"GET https://api.example/ HTTP/1.1", None),
        (b"CONNECT api.example HTTP/1.1", None),
        (b"CONNECT api.example:99999 HTTP/1.1", None),
        (b"\x16\x03\x01", None),
        (b"", None),
    ],
)
def test_parsing(head: bytes, parsed: ProxyRequest | None) -> None:
    assert parse_proxy_request(head, b"rest") == parsed


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("https://api.openai.com/v1", "api.openai.com:443"),
        ("http://127.0.0.1:8000/v1", "127.0.0.1:8000"),
        ("http://server", "server:80"),
    ],
)
def test_endpoints_of_urls(url: str, endpoint: str) -> None:
    assert str(parse_endpoint(url)) == endpoint


def ask_proxy(path: Path, *pieces: bytes) -> bytes:
    """Send `pieces` and return all that the proxy answers."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(30)
        client.connect(str(path))
        for piece in pieces:
            client.sendall(piece)
        received = b""
        while data := client.recv(4096):
            received += data
    return received


def test_requests_and_tunnels_reach_what_is_allowed_and_nothing_else(tmp_path: Path) -> None:
    with Loopback([Answer({"n": 1}), Answer({"n": 2})]) as server, Loopback() as other:
        allowed = frozenset({parse_endpoint(server.url)})
        address, elsewhere = (loopback.url.removeprefix("http://") for loopback in (server, other))
        with serve_proxy(tmp_path / "proxy", allowed) as path:
            plain = ask_proxy(path, b"GET http://%s/a HT" % address.encode(), b"TP/1.1\r\n\r\n")
            tunnel = ask_proxy(
                path,
                b"CONNECT %s HTTP/1.1\r\n\r\n" % address.encode(),
                b"GET /b HTTP/1.1\r\nConnection: close\r\n\r\n",
            )
            refused = ask_proxy(path, b"CONNECT %s HTTP/1.1\r\n\r\n" % elsewhere.encode())
            nonsense = ask_proxy(path, b"\r\n\r\n")
        assert [seen.path for seen in server.seen] == ["/a", "/b"]
        assert other.connections == 0
    assert plain.endswith(b'{"n": 1}')
    assert tunnel.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.")
    assert tunnel.endswith(b'{"n": 2}')
    assert refused.startswith(b"HTTP/1.1 403 ")
    assert refused.endswith(f"not to {elsewhere}\n".encode())
    assert nonsense.startswith(b"HTTP/1.1 400 ")


def test_an_endpoint_that_is_down_is_a_bad_gateway(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with serve_proxy(tmp_path / "proxy", frozenset({Endpoint("127.0.0.1", port)})) as path:
        answer = ask_proxy(path, b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % port)
    assert answer.startswith(b"HTTP/1.1 502 ")
