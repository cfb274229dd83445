"""`njc store cache` and `njc store clear`, on a cache that programs have filled."""

from __future__ import annotations

import sqlite3

import pytest
from workplace import Workplace

from njrt.log.cache import REPLIES_FILE, SHARED_PREFIX, ReplyStore, open_cache_file
from njrt.log.open_store import get_store


@pytest.fixture
def filled(here: Workplace, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    monkeypatch.setenv("XDG_CACHE_HOME", str(here.folder / ".cache"))
    store = open_cache_file(here.folder / ".cache" / "njc")
    for number in range(3):
        store.put(f"key {number}", "x" * 500_000)
    store.close()
    return here


def test_stats_and_clear(filled: Workplace) -> None:
    assert filled.njc("store", "cache").stdout == ".cache/njc: 3 replies, 1.5 MB\n"
    assert filled.njc("store", "clear").stderr == ".cache/njc: 3 replies deleted\n"
    assert filled.njc("store", "cache").stdout == ".cache/njc: 0 replies, 0.0 MB\n"


def test_looking_makes_nothing(here: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(here.folder / "none"))
    assert here.njc("store", "cache").stdout == "none/njc: 0 replies, 0.0 MB\n"
    here.njc("store", "clear")
    assert here.files() == []


def test_a_cache_that_cannot_be_emptied_is_an_error(filled: Workplace) -> None:
    writer = sqlite3.connect(filled.folder / ".cache" / "njc" / REPLIES_FILE, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    result = filled.njc("store", "clear", code=3)
    writer.execute("ROLLBACK")
    assert "cannot be used (database is locked)" in result.stderr


def test_a_command_is_needed(here: Workplace) -> None:
    here.njc("store", code=2)


def test_a_shared_store_is_counted_and_emptied(here: Workplace) -> None:
    url = f"sqlite:///{here.folder}/shared.sqlite3"
    ReplyStore(get_store(url, {}), SHARED_PREFIX).put("key", "x" * 100)
    get_store(url, {}).put("budget/a", "stays")
    assert (
        here.njc("store", "cache", "--store", url).stdout
        == f"{here.folder}/shared.sqlite3: 1 reply, 0.0 MB\n"
    )
    here.njc("store", "clear", "--store", url)
    assert get_store(url, {}).list_keys("") == ["budget/a"]


@pytest.mark.parametrize("command", ["cache", "clear"])
def test_a_store_that_cannot_be_used_is_an_error(here: Workplace, command: str) -> None:
    here.write({"mail.njpy": "x = 1\n"})
    result = here.njc("store", command, "--store", f"{here.folder}/mail.njpy", code=3)
    assert here.read("mail.njpy") == "x = 1\n"
    assert "cannot be used (file is not a database)" in result.stderr
