"""The cache: the same question is asked once; nothing wrong is served; nothing that fails reaches the program."""

from __future__ import annotations

import logging
import os
import random
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import njrt
from njrt.log.cache import Cache, ReplyStore, make_request_key, open_cache_file
from njrt.messages import ModelMessage, Reply, Request, Tool, ToolCall, Usage, UserMessage
from njrt.models.model import LayeredModel
from njrt.models.openai import OpenAI
from njrt.models.retry_and_fallback import FallbackModel
from njrt.stores import Store
from njrt.testing import Said, Scripted
from openai_server import OpenAIServer, says
from processes import run_python

RUN = Tool("run", "Run Python.", {"type": "object"})
REQUEST = Request("system", (UserMessage("A"),), (RUN,))


def asked(
    store: Store, *script: Said, request: Request = REQUEST, times: int = 2, **cache: Any
) -> list[Reply]:
    """What a model says to the same request, asked several times through the cache."""
    model = LayeredModel(Scripted(script), (Cache(ReplyStore(store), "m/1", **cache),))
    return [model.ask(request) for _ in range(times)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_cache_file(tmp_path / ".njc_cache")


def test_the_same_question_is_asked_once(store: Store) -> None:
    said = ModelMessage("ß", (ToolCall("c1", "run", {"code": "x = 1\ny = 2", "done": True}, "{}"),))
    first, second = asked(store, Reply(said, "end", Usage(10, 2, 1, 0.5), "m-1"))
    assert (first.source, second.source) == ("model", "cache")
    assert second.message.text == "ß"
    assert second.message.calls[0].arguments == said.calls[0].arguments
    assert (second.usage, second.model) == (first.usage, "m-1")


KEPT_APART: dict[str, dict[str, Any]] = {
    "system": {"system": "another"},
    "messages": {"messages": (UserMessage("B"),)},
    "tools": {"tools": ()},
    "a tool's description": {"tools": (replace(RUN, description="Else."),)},
    "temperature": {"temperature": 0.0},
    "reply tokens": {"max_reply_tokens": 7},
    "schema": {"schema": {"type": "object"}},
}
THE_SAME: dict[str, dict[str, Any]] = {
    "place": {"place": "moved.njpy:9"},
    "turn": {"turn": 3},
    "timeout": {"timeout": 1.0},
}


@pytest.mark.parametrize("change", KEPT_APART.values(), ids=KEPT_APART.keys())
def test_what_the_model_sees_is_in_the_key(change: dict[str, Any]) -> None:
    assert make_request_key(replace(REQUEST, **change), "m") != make_request_key(REQUEST, "m")
    assert make_request_key(REQUEST, "m") != make_request_key(REQUEST, "n")
    assert make_request_key(REQUEST, "m", 1) != make_request_key(REQUEST, "m", 2)


def script(name: str, text: str = "yes") -> Scripted:
    return Scripted(lambda _: text, name=name, protocol="text")


MODELS_KEPT_APART: dict[str, Callable[[str, str], tuple[Any, Any]]] = {
    "names": lambda a, b: (script("a"), script("b")),
    "servers": lambda a, b: (OpenAI("gpt-4.1", base_url=a), OpenAI("gpt-4.1", base_url=b)),
    "servers inside": lambda a, b: (
        FallbackModel((OpenAI("gpt-4.1", base_url=a), script("a"))),
        FallbackModel((OpenAI("gpt-4.1", base_url=b), script("a"))),
    ),
}


@pytest.mark.parametrize("is_recorded", [False, True], ids=["plain", "recorded"])
@pytest.mark.parametrize("name", MODELS_KEPT_APART)
def test_models_share_no_entry(tmp_path: Path, name: str, is_recorded: bool) -> None:
    cache, says_once = tmp_path / "cache", [says("1")]
    with OpenAIServer(says_once, vendor=False) as a, OpenAIServer(says_once, vendor=False) as b:
        for number, model in enumerate(MODELS_KEPT_APART[name](a.base_url, b.base_url)):
            recording = f"all:{tmp_path}/{number}.jsonl" if is_recorded else None
            for _ in range(2):
                with njrt.using(model=model, cache=cache, record=recording):
                    assert njrt.llm("?")
    assert open_cache_file(cache).measure("").entries == 2


@pytest.mark.parametrize("change", THE_SAME.values(), ids=THE_SAME.keys())
def test_who_asks_and_for_how_long_is_not(change: dict[str, Any]) -> None:
    assert make_request_key(replace(REQUEST, **change), "m") == make_request_key(REQUEST, "m")


def test_the_key_is_the_same_in_every_process() -> None:
    program = (
        "from njrt.log.cache import make_request_key; from njrt.messages import *;"
        "print(make_request_key(Request('system', (UserMessage('A'),), (Tool('run', 'Run Python.', {'type': 'object'}),)), 'm'))"
    )
    said = run_python("-c", program, check=True)
    assert said.stdout.strip() == make_request_key(REQUEST, "m")


def test_sampled_replies_are_kept_by_their_number_only(store: Store) -> None:
    sampled = replace(REQUEST, temperature=0.7)
    assert [r.message.text for r in asked(store, "1", "2", request=sampled)] == ["1", "2"]
    assert [r.message.text for r in asked(store, "3", request=sampled, repeat=1)] == ["3", "3"]
    assert [r.message.text for r in asked(store, "4", request=sampled, repeat=2)] == ["4", "4"]
    assert store.measure("").entries == 2


@pytest.mark.parametrize(
    "reply",
    [
        Reply(ModelMessage("half"), "length"),
        Reply(ModelMessage("no"), "refusal"),
        Reply(ModelMessage(" ")),
    ],
)
def test_replies_that_are_no_answers_are_not_kept(store: Store, reply: Reply) -> None:
    assert [r.message.text for r in asked(store, reply, "yes")] == [reply.message.text, "yes"]


def test_an_error_is_not_kept(store: Store) -> None:
    model = LayeredModel(Scripted([RuntimeError("down"), "yes"]), (Cache(ReplyStore(store), "m"),))
    with pytest.raises(RuntimeError):
        model.ask(REQUEST)
    assert model.ask(REQUEST).message.text == "yes"


def test_an_entry_of_another_version_is_asked_anew(store: Store) -> None:
    store.put(make_request_key(REQUEST, "m/1"), '{"reply": "in another form"}')
    assert [r.source for r in asked(store, "yes")] == ["script", "cache"]


def test_old_replies_are_deleted_by_new_ones(tmp_path: Path) -> None:
    now = 0.0
    store = open_cache_file(tmp_path, now=lambda: now)
    assert store.swap("budget", None, "stays")
    for day in (0, 1, 31):
        now = day * 24 * 3600.0
        store.put(f"day {day}", "x")
    assert store.list_keys("") == ["budget", "day 1", "day 31"]


# --- trouble with the file


def corrupt(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    size = path.stat().st_size
    noise = random.Random(7).randbytes(size - 100)
    path.write_bytes(path.read_bytes()[:100] + noise)


def text(path: Path) -> None:
    path.write_bytes(b"this is not a database" * 1000)


def truncate(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    os.truncate(path, path.stat().st_size // 2)


def old_schema(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.executescript("CREATE TABLE kept(old TEXT); PRAGMA user_version = 77;")
    connection.close()


@pytest.mark.parametrize("harm", [corrupt, text, truncate, old_schema])
def test_a_damaged_file_serves_nothing_wrong_and_stays(
    tmp_path: Path, harm: Any, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_cache_file(tmp_path)
    right = {f"key {number}": f"text {number}" * 200 for number in range(50)}
    for key, value in right.items():
        store.put(key, value)
    store.close()
    harm(store.path)
    before = store.path.read_bytes()
    again = ReplyStore(open_cache_file(tmp_path))
    assert not [key for key, value in right.items() if again.get(key) not in (None, value)]
    assert store.path.read_bytes() == before
    assert "cannot be used" in caplog.text


def test_a_folder_that_cannot_be_used_costs_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    store = open_cache_file(tmp_path / "file" / "cache")
    with caplog.at_level(logging.WARNING, "njrt"):
        assert [reply.source for reply in asked(store, "1", "2")] == ["script", "script"]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "continuing without it" in caplog.text


FULL = """
import resource, signal, sys
from njrt.errors import StoreError
from njrt.log.cache import open_cache_file
store = open_cache_file(sys.argv[1])
store.put("before", "x")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
for number in range(200):
    try:
        store.put(f"key {number}", str(number) * 5000)
    except StoreError as error:
        full = error
assert "full" in str(full) or "I/O" in str(full), full
for number in range(200):
    assert store.get(f"key {number}") in (None, str(number) * 5000)
assert store.get("before") == "x"
"""


def test_a_full_disk_is_survived(tmp_path: Path) -> None:
    assert resource.RLIMIT_FSIZE is not None
    subprocess.run([sys.executable, "-c", FULL, tmp_path], check=True)
    store = open_cache_file(tmp_path)
    assert store.get("before") == "x"
    store.put("after", "y")
    assert store.get("after") == "y"
