"""What both vendors' adapters do alike, against servers as strict as the vendors."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from conversations import CONVERSATIONS, PLAIN
from loopback import Drop, Hang, Raw, Status, Trickle
from njrt.errors import AuthenticationError, ModelNotFoundError, RejectedRequestError, ServerError
from vendors import VENDORS, Vendor
from waiting import HANG_SECONDS

pytestmark = pytest.mark.parametrize("vendor", VENDORS.values(), ids=VENDORS)

SLOW_DOWN = {"error": {"message": "slow down"}}


@pytest.mark.parametrize("request_", CONVERSATIONS.values(), ids=CONVERSATIONS)
def test_the_vendor_accepts_every_conversation(vendor: Vendor, request_):
    with vendor.server([vendor.say("fine")]) as server:
        assert vendor.connect(server).ask(request_).message.text == "fine"


def test_a_wrong_key_is_named_but_not_shown(vendor: Vendor):
    with vendor.server() as server, pytest.raises(AuthenticationError) as caught:
        vendor.connect(server, key="sk-secret").ask(PLAIN)
    assert f"{vendor.name.upper()}_API_KEY" in str(caught.value)
    assert "sk-secret" not in str(caught.value)


def test_no_key_at_all(vendor: Vendor, ask, monkeypatch, tmp_path):
    for name in (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_PROFILE",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    words = f"set {vendor.name.upper()}_API_KEY"
    with vendor.server() as server, pytest.raises(AuthenticationError, match=words):
        ask(vendor.connect(server, key=None), PLAIN)


def test_an_unknown_model(vendor: Vendor, ask):
    with (
        vendor.server() as server,
        pytest.raises(ModelNotFoundError, match=f"{vendor.name}/none-17"),
    ):
        ask(vendor.connect(server, "none-17"), PLAIN)


def test_retry_after_is_obeyed(vendor: Vendor, ask):
    script = [Status(429, retry_after=0.3, body=SLOW_DOWN), vendor.say("fine")]
    with vendor.server(script) as server:
        assert ask(vendor.connect(server, retries=3), PLAIN).message.text == "fine"
        first, second = server.seen
    assert second.at - first.at >= 0.3


@pytest.mark.parametrize("trouble", [Status(500), Status(529), Drop()], ids=str)
def test_a_passing_trouble_is_outlived(vendor: Vendor, ask, trouble):
    with vendor.server([trouble, vendor.say("fine")]) as server:
        assert ask(vendor.connect(server, retries=3), PLAIN).message.text == "fine"
    assert len(server.seen) == 2


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (Status(429, body=SLOW_DOWN), "429 - .*slow down"),
        (Status(500, body={"error": {"message": "the GPU is on fire"}}), "the GPU is on fire"),
        (Status(503, body={"detail": "loading"}), "503"),
        (Status(529), "529"),
        (Status(529, body={"type": "error", "error": {"message": "Overloaded"}}), "529 - .*Overl"),
        (Drop(), "Connection error"),
        (Raw("{not json"), "unreadable"),
        (Raw("<html>hello</html>", "text/html"), "unreadable"),
        (Raw('{"object": "something else"}'), "unreadable"),
        (Raw("[]"), "unreadable"),
        (Raw("null"), "unreadable"),
    ],
    ids=str,
)
def test_a_lasting_trouble_is_a_server_error(vendor: Vendor, trouble, words):
    with vendor.server([trouble]) as server, pytest.raises(ServerError, match=words) as caught:
        vendor.connect(server).ask(PLAIN)
    assert server.url + vendor.path in str(caught.value)
    assert caught.value.__suppress_context__
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_rejected_request(vendor: Vendor, status):
    body = {"error": {"message": "maximum context length is 8 tokens\n(you sent 9)"}}
    with (
        vendor.server([Status(status, body=body)]) as server,
        pytest.raises(RejectedRequestError, match=r"is 8 tokens(\\n| )\(you sent 9\)"),
    ):
        vendor.connect(server).ask(PLAIN)


@pytest.mark.parametrize("trouble", [Hang(), Trickle(), Status(429, 60, SLOW_DOWN)], ids=str)
def test_the_deadline_holds_over_everything(vendor: Vendor, ask, trouble):
    with vendor.server([trouble] * 9) as server:
        begun = time.monotonic()
        with pytest.raises(ServerError, match=r"within 0\.3 s"):
            ask(vendor.connect(server, retries=3), replace(PLAIN, timeout=0.3))
        assert time.monotonic() - begun < HANG_SECONDS
