"""What a server or the environment may not do to a request: fill the memory, read the key, be another than is set."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from importlib import import_module

import pytest

from conversations import PLAIN
from loopback import Endless, Loopback, Raw
from njrt.errors import ServerError
from njrt.models.response import MAX_BODY_BYTES
from vendors import VENDORS, Vendor

both_vendors = pytest.mark.parametrize("vendor", VENDORS.values(), ids=VENDORS)


@both_vendors
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_a_body_is_limited_while_it_is_read(vendor: Vendor, kind: str) -> None:
    endless = Endless(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n\r\n".encode(), bytes(2**20))
    is_streamed = kind == "text/event-stream"
    request = replace(PLAIN, on_text=(lambda text: None) if is_streamed else None)
    with Loopback([endless]) as server:
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


@both_vendors
@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "x-gzip", "identity", ""])
def test_only_plain_bodies_are_read(vendor: Vendor, encoding: str, is_streamed: bool) -> None:
    """A packed body may be of any size when it is unpacked, so none is asked for."""
    kind = "text/event-stream" if is_streamed and encoding not in ("identity", "") else ""
    body = Raw(json.dumps(vendor.say("Yes.").body), kind, headers={"content-encoding": encoding})
    with vendor.server([body]) as server:
        model = vendor.connect(server)
        request = replace(PLAIN, on_text=(lambda text: None) if is_streamed else None)
        if encoding in ("identity", ""):
            assert model.ask(request).message.text == "Yes."
        else:
            with pytest.raises(ServerError, match=f"encoding '{encoding}' was not asked for"):
                model.ask(request)
        assert server.seen[0].headers["accept-encoding"] == "identity"


@both_vendors
def test_plain_http_goes_through_no_proxy(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("http_proxy", "all_proxy"):
        monkeypatch.setenv(variable, "http://proxy.invalid:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with vendor.server([vendor.say("Yes.")]) as server:
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
