"""What a server or the environment may not do to a request: fill the memory, read the key, be another than is set."""

from __future__ import annotations

import gzip
import json
import threading
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module

import pytest

from njrt.errors import AuthenticationError, ServerError
from njrt.messages import Request, UserMessage
from njrt.models.anthropic import Anthropic
from njrt.models.http_client import MAX_BODY_BYTES
from njrt.models.openai import OpenAI

QUESTION = Request("s", (UserMessage("Is it?"),), timeout=20)
COMPLETION = {
    "choices": [{"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}]
}
MESSAGE = {"content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
MEGABYTES = 512


def pack_zeros() -> bytes:
    """So many megabytes, packed: a block of deflate that is repeated, without the checksum at the end."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return gzip.compress(b"")[:10] + block * MEGABYTES


@contextmanager
def serving(
    body: bytes, encoding: str = "", repeat: int = 1, kind: str = "application/json"
) -> Iterator[tuple[str, list[str]]]:
    """Yield a server that sends this body so many times, and what it was sent."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(f"{self.path} {self.headers}")
            self.rfile.read(int(self.headers.get("content-length") or 0))
            self.send_response(200)
            self.send_header("content-type", kind)
            if encoding:
                self.send_header("content-encoding", encoding)
            self.end_headers()
            try:
                for _ in range(repeat):
                    self.wfile.write(body)
            except OSError:
                return

        def log_message(self, format: str, *arguments: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("vendor", [OpenAI, Anthropic])
@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("form", ["gzip bomb", "endless"])
def test_a_body_is_limited_while_it_is_read_and_unpacked(
    vendor: type[OpenAI] | type[Anthropic], streams: bool, form: str
) -> None:
    request = Request(
        "s", QUESTION.messages, timeout=20, on_text=(lambda text: None) if streams else None
    )
    body, encoding, repeat = (
        (pack_zeros(), "gzip", 1) if form == "gzip bomb" else (bytes(2**20), "", MEGABYTES)
    )
    kind = "text/event-stream" if streams else "application/json"
    with serving(body, encoding, repeat, kind) as (url, _):
        model = vendor("gpt-4.1", vendor_url=url, key="sk-1", retries=0)
        import_module(model.sdk)  # takes memory too
        tracemalloc.start()
        try:
            with pytest.raises(ServerError, match=f"longer than {MAX_BODY_BYTES:,} bytes"):
                model.ask(request)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 8 * MAX_BODY_BYTES


PACKED = {"": bytes, "gzip": gzip.compress, "deflate": zlib.compress}


@pytest.mark.parametrize("encoding", [*PACKED, "raw deflate"])
def test_replies_are_unpacked(encoding: str) -> None:
    for vendor, reply in ((OpenAI, COMPLETION), (Anthropic, MESSAGE)):
        text = json.dumps(reply).encode()
        packed = zlib.compress(text)[2:-4] if encoding == "raw deflate" else PACKED[encoding](text)
        with serving(packed, encoding.removeprefix("raw ")) as (url, seen):
            model = vendor("gpt-4.1", vendor_url=url, key="sk-1", retries=0)
            assert model.ask(QUESTION).message.text == "Yes."
        assert "gzip, deflate\n" in seen[0]


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("br", "encoding 'br' was not asked for"),
        ("x-gzip", "encoding 'x-gzip' was not asked for"),
        ("gzip", "cannot be unpacked"),
    ],
)
def test_what_cannot_be_unpacked_is_an_error(encoding: str, words: str) -> None:
    with (
        serving(b"\xff\xff nonsense", encoding) as (url, _),
        pytest.raises(ServerError, match=words),
    ):
        OpenAI("gpt-4.1", vendor_url=url, key="sk-1", retries=0).ask(QUESTION)


@pytest.mark.parametrize("vendor", [OpenAI, Anthropic])
def test_a_key_is_not_sent_through_a_proxy_without_encryption(
    vendor: type[OpenAI] | type[Anthropic], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with serving(json.dumps(COMPLETION if vendor is OpenAI else MESSAGE).encode()) as (url, seen):
        model = vendor("gpt-4.1", vendor_url=url, key="sk-1", allow_http=True, retries=0)
        with pytest.raises(
            AuthenticationError,
            match=r"through the proxy http://proxy\.example .* NO_PROXY=127\.0\.0\.1",
        ):
            model.ask(QUESTION)
        assert seen == []
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        fresh = vendor("gpt-4.1", vendor_url=url, key="sk-1", retries=0)
        assert fresh.ask(QUESTION).message.text == "Yes."


@pytest.mark.parametrize(
    ("vendor", "variable", "reply"),
    [(OpenAI, "OPENAI_BASE_URL", COMPLETION), (Anthropic, "ANTHROPIC_BASE_URL", MESSAGE)],
)
def test_the_object_of_a_vendor_is_asked_at_the_url_of_the_environment(
    vendor: type[OpenAI] | type[Anthropic],
    variable: str,
    reply: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(json.dumps(reply).encode()) as (url, seen):
        monkeypatch.setenv(variable, url)
        assert vendor("gpt-4.1", key="sk-1").ask(QUESTION).message.text == "Yes."
    assert len(seen) == 1
    monkeypatch.delenv(variable)
    assert vendor("gpt-4.1", key="sk-1").server.url.startswith("https://api.")
