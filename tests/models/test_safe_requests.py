"""What a server or the environment may not do to a request: fill the memory, read the key, be another than is set."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from dataclasses import replace
from importlib import import_module

import pytest

from conversations import PLAIN
from loopback import Endless, Loopback, Raw
from njrt.errors import AuthenticationError, ServerError
from njrt.models.http_client import MAX_BODY_BYTES
from vendors import VENDORS, Vendor

both_vendors = pytest.mark.parametrize("vendor", VENDORS.values(), ids=VENDORS)
MEGABYTES = 512


def pack_zeros() -> bytes:
    """So many megabytes, packed: a block of deflate that is repeated, without the checksum at the end."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return gzip.compress(b"")[:10] + block * MEGABYTES


@both_vendors
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("form", ["gzip bomb", "endless"])
def test_a_body_is_limited_while_it_is_read_and_unpacked(
    vendor: Vendor, kind: str, form: str
) -> None:
    bomb = Raw(pack_zeros(), kind, headers={"content-encoding": "gzip"})
    endless = Endless(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n\r\n".encode(), bytes(2**20))
    is_streamed = kind == "text/event-stream"
    request = replace(PLAIN, on_text=(lambda text: None) if is_streamed else None)
    with Loopback([bomb if form == "gzip bomb" else endless]) as server:
        model = vendor.connect(server)
        import_module(model.sdk)  # takes memory too
        tracemalloc.start()
        try:
            with pytest.raises(ServerError, match=f"longer than {MAX_BODY_BYTES:,} bytes"):
                model.ask(request)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 8 * MAX_BODY_BYTES


def deflate_raw(text: bytes) -> bytes:
    return zlib.compress(text)[2:-4]


@both_vendors
@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("", bytes), ("gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", deflate_raw)],
)
def test_replies_are_unpacked(vendor: Vendor, encoding: str, pack) -> None:
    body = pack(json.dumps(vendor.say("Yes.").body).encode())
    with vendor.server([Raw(body, headers={"content-encoding": encoding})]) as server:
        assert vendor.connect(server).ask(PLAIN).message.text == "Yes."
        assert server.seen[0].headers["accept-encoding"] == "gzip, deflate"


@both_vendors
@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("br", "encoding 'br' was not asked for"),
        ("x-gzip", "encoding 'x-gzip' was not asked for"),
        ("gzip", "cannot be unpacked"),
    ],
)
def test_what_cannot_be_unpacked_is_an_error(vendor: Vendor, encoding: str, words: str) -> None:
    nonsense = Raw(b"\xff\xff nonsense", headers={"content-encoding": encoding})
    with vendor.server([nonsense]) as server, pytest.raises(ServerError, match=words):
        vendor.connect(server).ask(PLAIN)


@both_vendors
def test_a_key_is_not_sent_through_a_proxy_without_encryption(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with vendor.server([vendor.say("Yes.")]) as server:
        words = r"through the proxy http://proxy\.example .* NO_PROXY=127\.0\.0\.1"
        with pytest.raises(AuthenticationError, match=words):
            vendor.connect(server, allow_http=True).ask(PLAIN)
        assert server.seen == []
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert vendor.connect(server).ask(PLAIN).message.text == "Yes."


@both_vendors
def test_the_object_of_a_vendor_is_asked_at_the_url_of_the_environment(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = f"{vendor.name.upper()}_BASE_URL"
    with vendor.server([vendor.say("Yes.")]) as server:
        monkeypatch.setenv(variable, server.url + vendor.path)
        assert vendor.make(vendor.model, key=vendor.key).ask(PLAIN).message.text == "Yes."
        assert len(server.seen) == 1
    monkeypatch.delenv(variable)
    assert vendor.make(vendor.model, key=vendor.key).server.url.startswith("https://api.")
