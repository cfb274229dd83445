"""Stores of the program: an object, and `python:MODULE:NAME`; what lacks a method is refused, entries are signed."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import njrt
from njrt.errors import ConfigurationError, WrongSignatureError
from njrt.log.open_store import open_store
from njrt.log.sqlite_store import MemoryStore
from njrt.testing import Scripted
from processes import run_python

MODULE = '''\
from njrt.log.sqlite_store import MemoryStore

OPENED = []


class OwnStore(MemoryStore):
    """A store that is named."""


def open_store(name):
    OPENED.append(name)
    if name == "broken":
        raise AttributeError("'NoneType' object has no attribute 'connect'")
    return object() if name == "none" else OwnStore(name=name)
'''
SECRET = "a secret of the program"


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_stores.py").write_text(MODULE)
    (tmp_path / "no_opener.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_stores", raising=False)
    return tmp_path


def ask(**settings: Any) -> None:
    with njrt.using(model=Scripted(["3"]), **settings):
        assert njrt.llm("How many?") == "3"


def test_an_object_holds_budgets_and_cache() -> None:
    store = MemoryStore()
    ask(store=store, budget="tokens=90000 per=day", cache=True)
    assert {key.partition("/")[0] for key in store.list_keys("")} == {"budget", "reply"}


def test_an_object_counts_in_tasks_and_threads() -> None:
    store = MemoryStore()

    async def ask_twice() -> None:
        model = Scripted(["3"] * 4)
        with njrt.using(model=model, store=store, budget="tokens=90000 per=day"):
            await asyncio.gather(*(asyncio.to_thread(njrt.llm, "How many?") for _ in range(4)))

    asyncio.run(ask_twice())
    (key,) = store.list_keys("budget/")
    assert '"calls": 4' in (store.get(key) or "")


def test_two_objects_are_two_stores() -> None:
    first, second = MemoryStore(), MemoryStore()
    with njrt.using(store=first):
        ask(store=second, budget="tokens=90000 per=day")
        assert first.list_keys("") == []
        ask(budget="tokens=90000 per=total")
    assert [len(store.list_keys("budget/")) for store in (first, second)] == [1, 1]


def test_a_module_opens_a_store_by_name(modules: Path) -> None:
    for _ in range(2):
        ask(store="python:own_stores:main", budget="tokens=90000 per=day")
    assert sys.modules["own_stores"].OPENED == ["main"], "one store for a process"
    assert open_store("python:own_stores:redis://host:1/0").name == "redis://host:1/0"


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("python:none_such:x", "No module named 'none_such'; the module must have a function `open_store"),
        ("python:no_opener:x", "has no attribute 'open_store'; the module must have a function"),
        ("python::x", "Empty module name; the module must have a function"),
        ("python:own_stores:none", "object is not an njrt.stores.Store: it has no `clear`"),
    ],
)  # fmt: skip
def test_a_module_without_a_store_is_refused(modules: Path, url: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        open_store(url)


def test_an_error_of_the_program_is_its_own(modules: Path) -> None:
    with pytest.raises(AttributeError, match="'connect'"):
        open_store("python:own_stores:broken")


METHODS = (
    *("get", "put", "swap", "list_keys", "measure", "clear"),
    *("now", "close", "name"),
)


@pytest.mark.parametrize("method", METHODS)
def test_an_object_that_lacks_a_method_is_refused(method: str) -> None:
    whole = MemoryStore()
    lame = SimpleNamespace(**{name: getattr(whole, name) for name in METHODS if name != method})
    problem = f"SimpleNamespace is not an njrt.stores.Store: it has no `{method}`"
    with pytest.raises(ConfigurationError, match=problem):
        ask(store=lame)


def test_entries_are_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    monkeypatch.setenv("NJC_STORE_SECRET", SECRET)
    budget = "tokens=90000 per=day"
    ask(store=store, budget=budget)
    (key,) = store.list_keys("budget/")
    signed = store.get(key)
    assert signed is not None
    assert signed.startswith("1:")
    assert store.swap(key, signed, signed.replace('"calls": 1', '"calls": 0'))
    with pytest.raises(WrongSignatureError):
        ask(store=store, budget=budget)


def test_commands_use_the_store_of_a_module(modules: Path) -> None:
    environ = os.environ | {"NJC_STORE": "python:own_stores:main", "PYTHONPATH": str(modules)}
    for words, shown in (
        (["store", "usage"], "main: no budget has been used"),
        (["store", "cache"], "main: 0 replies"),
        (["doctor", "--offline"], "store       main"),
    ):
        done = run_python("-m", "njc", *words, cwd=modules, env=environ, timeout=60)
        assert shown in done.stdout + done.stderr, (words, done.stdout, done.stderr)
