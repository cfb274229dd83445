"""One table of behaviour for every store: a file, the memory, and a program's own on a server."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from starting import let_go, run_together, start_ready

from njrt.errors import ConfigurationError, DamagedStoreError, StoreError
from njrt.log.open_store import hide_password, make_store_url, open_store
from njrt.log.sqlite_store import MemoryStore, SqliteStore
from njrt.stores import Store, make_store_key, split_store_key, update
from waiting import HANG_SECONDS, run_threads, wait_until

KINDS = ("memory", "sqlite", "redis")
SHARED = KINDS[1:]

every_store = pytest.mark.parametrize("kind", KINDS)
every_shared_store = pytest.mark.parametrize("kind", SHARED)
every_server = pytest.mark.parametrize("kind", ["redis"])

EXAMPLES = Path(__file__).parents[3] / "examples"
TEXTS = (
    "",
    "a",
    "ß\n\t\r\n",
    "\0 nul \0",
    "😀" * 1000,
    "'; DROP TABLE njc_texts; --",
    "%s {} \\",
    "x" * 300_000,
)


def add_line(store: Store, line: str, key: str = "log") -> None:
    update(store, key, lambda text: f"{text or ''}{line}\n")


def read_lines(store: Store, key: str = "log") -> list[str]:
    return (store.get(key) or "").splitlines()


# --- what each method does


@every_store
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_texts_come_back_as_they_were(store: Store, text: str) -> None:
    store.put("put", text)
    assert store.swap("swapped", None, text)
    assert [store.get("put"), store.get("swapped")] == [text] * 2
    assert store.measure("").size == 2 * len(text.encode())


CALLS: list[tuple[list[tuple[Any, ...]], list[Any]]] = [
    ([("get", "k")], [None]),
    ([("put", "k", "a"), ("put", "k", "b"), ("get", "k")], [None, None, "b"]),
    ([("swap", "k", None, "a"), ("get", "k")], [True, "a"]),
    ([("swap", "k", "a", "b"), ("get", "k")], [False, None]),
    ([("put", "k", "a"), ("swap", "k", None, "b"), ("get", "k")], [None, False, "a"]),
    ([("put", "k", "a"), ("swap", "k", "b", "c"), ("get", "k")], [None, False, "a"]),
    ([("put", "k", "a"), ("swap", "k", "a", "b"), ("get", "k")], [None, True, "b"]),
    ([("put", "k", "a"), ("swap", "k", "a", None), ("get", "k")], [None, True, None]),
    ([("put", "k", "a"), ("swap", "k", "b", None), ("get", "k")], [None, False, "a"]),
    ([("swap", "k", None, None), ("put", "k", ""), ("swap", "k", None, None)], [True, None, False]),
    ([("put", "k", ""), ("swap", "k", "", "a"), ("get", "k")], [None, True, "a"]),
    ([("swap", "k", "a", "a"), ("put", "k", "a"), ("swap", "k", "a", "a")], [False, None, True]),
    (
        [("put", "b/2", ""), ("swap", "b/1", None, ""), ("put", "c", ""), ("list_keys", "b/")],
        [None, True, None, ["b/1", "b/2"]],
    ),
    (
        [("put", "a", ""), ("put", "B", ""), ("put", "a/%20", ""), ("list_keys", "")],
        [None, None, None, ["B", "a", "a/%20"]],
    ),
    (
        [("put", "a*b", ""), ("put", "axb", ""), ("list_keys", "a*"), ("clear", "a*")],
        [None, None, ["a*b"], 1],
    ),
    (
        [("put", "a_b", ""), ("put", "axb", ""), ("list_keys", "a_"), ("clear", "a_")],
        [None, None, ["a_b"], 1],
    ),
    ([("put", "a[b", ""), ("put", "a\\b", ""), ("list_keys", "a[")], [None, None, ["a[b"]]),
    (
        [("put", "a", "1"), ("swap", "a2", None, "1"), ("clear", "a"), ("list_keys", "")],
        [None, True, 2, []],
    ),
    ([("clear", ""), ("list_keys", "")], [0, []]),
]


@every_store
@pytest.mark.parametrize("number", range(len(CALLS)))
def test_what_the_calls_return(store: Store, number: int) -> None:
    calls, expected = CALLS[number]
    assert [getattr(store, name)(*arguments) for name, *arguments in calls] == expected


@every_store
def test_the_clock_is_the_time(store: Store) -> None:
    assert abs(store.now() - time.time()) < 60


@every_store
def test_a_closed_store_opens_again(store: Store) -> None:
    store.put("k", "a")
    store.close()
    store.close()
    assert store.get("k") == "a"


class StoreMachine(RuleBasedStateMachine):
    """Random calls on a store do what they do on a dict."""

    opened: Store = MemoryStore()
    keys = st.sampled_from(["a", "a/b", "b", "%41", "a%"])
    texts = st.none() | st.sampled_from(["", "1", "2", "ß\0"])

    def __init__(self) -> None:
        super().__init__()
        self.opened.clear("")
        self.model = MemoryStore()

    @rule(key=keys, text=st.sampled_from(["", "1", "2"]))
    def put(self, key: str, text: str) -> None:
        self.opened.put(key, text)
        self.model.put(key, text)

    @rule(key=keys, old=texts, new=texts)
    def swap(self, key: str, old: str | None, new: str | None) -> None:
        assert self.opened.swap(key, old, new) == self.model.swap(key, old, new)

    @rule(prefix=st.sampled_from(["a", "a/", "b", "zz"]))
    def clear(self, prefix: str) -> None:
        assert self.opened.clear(prefix) == self.model.clear(prefix)

    @invariant()
    def is_equal(self) -> None:
        assert self.opened.list_keys("") == self.model.list_keys("")
        for key in self.model.list_keys(""):
            assert self.opened.get(key) == self.model.get(key)


@every_server
def test_any_calls_do_what_they_do_in_memory(store: Store) -> None:
    machine = type("Machine", (StoreMachine,), {"opened": store})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=6, stateful_step_count=15, deadline=None)
    )


# --- keys and URLs


@given(st.lists(st.text(max_size=10), min_size=1, max_size=4))
def test_keys_give_their_parts_again(parts: list[str]) -> None:
    key = make_store_key(*parts)
    assert split_store_key(key) == tuple(parts)
    assert key.isascii()
    assert " " not in key


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("python:stores:redis://:secret@host:1/0", "python:stores:redis://@host:1/0"),
        ("python:stores:pg://me:s@e/cret@host/db?password=x", "python:stores:pg://me@host/db"),
        ("python:stores:main", "python:stores:main"),
        ("sqlite:////tmp/a.sqlite3", "sqlite:////tmp/a.sqlite3"),
    ],
)
def test_messages_show_no_password(url: str, shown: str) -> None:
    assert hide_password(url) == shown


@pytest.mark.parametrize(
    "url",
    [
        "mysql://host/db",
        "sqlite://host/db",
        "sqlite:///",
        "redis://:secret@host/0",
        "rediss://host/0",
        "valkey://host/0",
        "postgresql://me:secret@host/db",
    ],
)
def test_a_wrong_url_is_refused_with_the_right_ones(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"python:MODULE:NAME .*redis_store\.py") as caught:
        open_store(url)
    assert "secret" not in str(caught.value)


def test_a_path_is_the_url_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "with blank%41.sqlite3"
    open_store(str(path)).put("k", "a")
    assert path.exists()
    assert open_store(make_store_url(str(path))).get("k") == "a"


@pytest.mark.parametrize(
    "url", ["python:redis_store:redis://127.0.0.1:1/0", "/proc/none/store.sqlite3"]
)
def test_a_store_that_is_not_there_says_so(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "redis" in url:
        pytest.importorskip("redis")
        monkeypatch.syspath_prepend(EXAMPLES)
    store = open_store(url)
    calls = [
        lambda: store.get("k"),
        lambda: store.put("k", "a"),
        lambda: store.swap("k", None, "a"),
        lambda: store.list_keys(""),
    ]
    for call in calls:
        with pytest.raises(StoreError, match="cannot be used"):
            call()


# --- a file


def test_a_damaged_file_is_an_error_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "s"
    store = SqliteStore(path)
    assert store.swap("budget", None, "1")
    store.close()
    path.write_bytes(random.Random(3).randbytes(9000))
    for _ in range(2):
        with pytest.raises(DamagedStoreError):
            SqliteStore(path).get("budget")
    assert path.exists()


# --- many writers

COUNTER = """
import sys
from njrt.log.open_store import open_store
from njrt.stores import update
store, count, log = open_store(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    update(store, "counter", lambda text: str(int(text or 0) + 1))
    update(store, "log", lambda text: f"{text or ''}{log} {number}\\n")
    assert store.get(f"reply/{number % 50}") in (None, f"reply/{number % 50}" * 300)
    store.put(f"reply/{number % 50}", f"reply/{number % 50}" * 300)
    print(number, flush=True)
"""


@every_shared_store
def test_no_change_of_many_processes_is_lost(url: str, store: Store) -> None:
    run_together(COUNTER, *((url, 40, number) for number in range(4)))
    assert store.get("counter") == "160"
    lines = read_lines(store)
    for number in range(4):
        mine = [line for line in lines if line.startswith(f"{number} ")]
        assert mine == [f"{number} {turn}" for turn in range(40)]


@every_store
def test_no_change_of_many_threads_is_lost(store: Store) -> None:
    def work() -> None:
        for _ in range(20):
            update(store, "counter", lambda text: str(int(text or 0) + 1))
            add_line(store, "line")

    run_threads(*[work] * 4)
    assert (store.get("counter"), len(read_lines(store))) == ("80", 80)


@every_shared_store
def test_a_killed_writer_leaves_what_was_confirmed(url: str, store: Store) -> None:
    generator = random.Random(5)
    for _ in range(3):
        before = int(store.get("counter") or 0), len(read_lines(store))
        child = start_ready(COUNTER, url, 100_000, "w")
        let_go(child)
        assert child.stdout is not None
        said = [child.stdout.readline() for _ in range(generator.randint(1, 30))]
        child.send_signal(signal.SIGKILL)
        said += child.stdout.readlines()
        child.communicate(timeout=HANG_SECONDS)
        confirmed = sum(line.endswith("\n") for line in said)
        after = int(store.get("counter") or 0), len(read_lines(store))
        for key in store.list_keys("reply/"):
            assert store.get(key) == key * 300
        for old, new in zip(before, after, strict=True):
            assert confirmed <= new - old <= confirmed + 1


@every_shared_store
def test_a_forked_child_has_connections_of_its_own(url: str, store: Store) -> None:
    program = """
import os, sys
from njrt.log.open_store import open_store
from njrt.stores import update
store = open_store(sys.argv[1])
def add(line):
    update(store, "log", lambda text: f"{text or ''}{line}\\n")
store.put("before", "x")
child = os.fork()
if child == 0:
    for number in range(20):
        add("child")
    os._exit(0 if store.get("before") == "x" else 1)
for number in range(20):
    add("parent")
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert store.get("before") == "x"
"""
    subprocess.run([sys.executable, "-c", program, url], check=True, timeout=HANG_SECONDS)
    lines = read_lines(store)
    assert (lines.count("child"), lines.count("parent")) == (20, 20)


FORK = """
import os, sys, threading
from njrt.log.open_store import open_store
from njrt.stores import update
store = open_store(sys.argv[1])
def add(line):
    update(store, "log", lambda text: f"{text or ''}{line}\\n")
used, forked = threading.Event(), threading.Event()
def work():
    add("thread")
    used.set()
    forked.wait()
    add("thread again")
thread = threading.Thread(target=work)
thread.start()
used.wait()
add("parent")
(read, written), (go, gone) = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    add("child")
    os.write(written, b".")
    os.read(go, 1)
    add("child again")
    os._exit(0)
forked.set()
thread.join()
os.read(read, 1)
store.close()
os.write(gone, b".")
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_forked_child_loses_nothing_when_its_parent_closes_the_store(
    url: str, store: Store
) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORK, url]
    subprocess.run(command, check=True, timeout=HANG_SECONDS)
    assert sorted(read_lines(store)) == [
        "child", "child again", "parent", "thread", "thread again",
    ]  # fmt: skip


def test_forks_wait_for_what_threads_write_and_close_nothing_that_is_in_use(tmp_path: Path) -> None:
    store, stopped = SqliteStore(tmp_path / "s"), threading.Event()
    failures: list[StoreError] = []
    counts = [0, 0, 0]

    def work(number: int) -> None:
        while not stopped.is_set():
            try:
                add_line(store, "line", f"log/{number}")
                counts[number] += 1
            except StoreError as error:
                failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(counts))]
    for thread in threads:
        thread.start()
    try:
        for _ in range(8):
            wanted = sum(counts) + 6
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
            wait_until(lambda wanted=wanted: failures or sum(counts) >= wanted)
    finally:
        stopped.set()
        for thread in threads:
            thread.join(HANG_SECONDS)
    assert failures == []
    assert [len(read_lines(store, f"log/{number}")) for number in range(len(counts))] == counts


# --- a server that dies


@every_server
def test_a_killed_server_loses_nothing_that_was_confirmed(
    url: str, store: Store, redis_server: Any
) -> None:
    confirmed = attempted = 0
    stopped = threading.Event()

    def work() -> None:
        nonlocal confirmed, attempted
        while not stopped.is_set():
            attempted += 1
            try:
                add_line(store, str(attempted))
                update(store, "counter", lambda text: str(int(text or 0) + 1), seconds=1)
                confirmed += 1
            except StoreError:
                time.sleep(0.02)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(2):
            wait_until(lambda seen=confirmed: confirmed > seen)
            redis_server.kill()
            with pytest.raises(StoreError):
                open_store(url).get("log")
            redis_server.start()
        seen = confirmed
        wait_until(lambda: confirmed >= seen + 5, lambda: "the store does not come back")
    finally:
        stopped.set()
        thread.join(HANG_SECONDS)
    lines = read_lines(store)
    assert len(lines) == len(set(lines))
    assert confirmed <= len(lines) <= attempted
    assert confirmed <= int(store.get("counter") or 0) <= attempted


@every_server
def test_idle_connections_that_the_server_closed_are_not_used(
    store: Store, redis_server: Any
) -> None:
    assert store.swap("text", None, "before")
    redis_server.kill()
    redis_server.start()
    assert store.swap("text", "before", "after")


def test_two_stores_of_one_process_share_a_file(tmp_path: Path) -> None:
    first, second = (SqliteStore(tmp_path / "s") for _ in range(2))
    assert first.swap("k", None, "1")
    assert not second.swap("k", None, "2")
    assert os.stat(tmp_path / "s").st_mode & 0o77 == 0
