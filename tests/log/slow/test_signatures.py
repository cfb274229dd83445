"""Signatures, as in docs/reference/storage.md: what others have written to a store is not believed, and that is said once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

import njrt
from njrt.errors import ConfigurationError, StoreError, WrongSignatureError
from njrt.log.budgets.ledger import Spending, find_accounts
from njrt.log.cache import SHARED_PREFIX, Cache, ReplyStore
from njrt.log.open_store import SignedStore, get_store, name_store, open_store
from njrt.log.sqlite_store import MemoryStore
from njrt.models.model import LayeredModel
from njrt.testing import ModelMessage, Reply, Request, Scripted, UserMessage

SECRET, OTHER = "a secret of the program", "a secret of another program"
REQUEST = Request("Answer.", (UserMessage("How many?"),))

FORGERIES: dict[str, Callable[[str], str]] = {
    "no signature": lambda signed: signed[67:],
    "another text": lambda signed: signed + " ",
    "another signature": lambda signed: signed[:2] + "0" * 64 + signed[66:],
    "cut off": lambda signed: signed[:40],
    "empty": lambda signed: "",
    "another version": lambda signed: "2" + signed[1:],
    "not ASCII": lambda signed: "1:" + "é" * 64 + signed[66:],
    "of another program": lambda signed: sign_with(OTHER, "key", signed[67:]),
    "of another key": lambda signed: sign_with(SECRET, "key2", signed[67:]),
}


def sign_with(secret: str, key: str, text: str) -> str:
    """What a program with this secret would store under a key."""
    store = MemoryStore()
    SignedStore(store, secret).put(key, text)
    signed = store.get(key)
    assert signed is not None
    return signed


@pytest.mark.parametrize("text", ["", "text", "a:b", "\ud800 ß\0"])
@pytest.mark.parametrize("kind", ["memory", "sqlite", "redis"])
def test_signed_texts_come_back(url: str, text: str) -> None:
    text = text if url.startswith("python") else text.replace("\ud800", "")
    store = open_store(url, SECRET)
    store.put("put", text)
    assert store.swap("swapped", None, text)
    assert store.swap("swapped", text, text + "!")
    assert (store.get("put"), store.get("swapped")) == (text, text + "!")
    store.clear("")


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_text_is_an_error(forge: Callable[[str], str]) -> None:
    inner = MemoryStore()
    store = SignedStore(inner, SECRET)
    store.put("key", "text")
    inner.put("key", forge(inner.get("key") or ""))
    with pytest.raises(WrongSignatureError, match="has no valid signature"):
        store.get("key")


def test_a_forged_reply_is_asked_anew_and_replaced(caplog: pytest.LogCaptureFixture) -> None:
    inner = MemoryStore()
    replies = ReplyStore(SignedStore(inner, SECRET), SHARED_PREFIX)
    model = LayeredModel(Scripted([Reply(ModelMessage("right"))] * 2), (Cache(replies, "m"),))
    model.ask(REQUEST)
    (key,) = inner.list_keys("")
    inner.put(key, (inner.get(key) or "").replace("right", "wrong"))
    with caplog.at_level(logging.WARNING, "njrt"):
        assert [model.ask(REQUEST).message.text for _ in range(3)] == ["right"] * 3
    assert ["no valid signature" in record.getMessage() for record in caplog.records] == [True]


def test_a_forged_budget_allows_nothing() -> None:
    inner = MemoryStore()
    budget = njrt.Budget(tokens=10**9, per="total")
    (account,) = find_accounts([budget], 0)
    inner.put(account.key, '{"usd": 0, "tokens": 0, "calls": 0}')
    with pytest.raises(WrongSignatureError):
        account.check(SignedStore(inner, SECRET), Spending())


@pytest.mark.parametrize("secret", ["x", "fifteen letters"])
def test_a_short_secret_is_refused(secret: str) -> None:
    with pytest.raises(ConfigurationError, match="at least 16 characters"):
        open_store("memory:", secret)


def test_the_secret_of_the_environment_signs(tmp_path: Path) -> None:
    path = f"{tmp_path}/s.sqlite3"
    get_store(path, {"NJC_STORE_SECRET": SECRET}).put("key", "text")
    assert (get_store(path, {}).get("key") or "").startswith("1:")
    with pytest.raises(WrongSignatureError):
        get_store(path, {"NJC_STORE_SECRET": OTHER}).get("key")


def test_a_store_of_the_program_without_a_secret_is_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    given = name_store(MemoryStore())
    with caplog.at_level(logging.WARNING, "njrt"):
        open_store(given)
        open_store(given, SECRET)
        open_store("memory:")
    assert ["is not signed" in record.getMessage() for record in caplog.records] == [True]


class DownStore(MemoryStore):
    """A server that cannot be reached; it counts who tries."""

    tries = 0

    def get(self, key: str) -> str | None:
        self.tries += 1
        raise StoreError("down")


def test_a_cache_whose_server_is_down_is_left_alone() -> None:
    store = DownStore()
    replies = ReplyStore(store, SHARED_PREFIX)
    assert [replies.get("key") for _ in range(5)] == [None] * 5
    assert store.tries == 1
