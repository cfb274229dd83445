"""Recordings in a store (docs/reference/storage.md): what holds for files holds for a file of SQLite, the memory and a program's own store on Redis."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import njrt
from njrt.errors import RecordingError, RecordingMismatchError, RecordingMissingError
from njrt.log.open_store import get_store, open_store
from njrt.log.recorder import Recorder
from njrt.log.recording_file import read_recording
from njrt.log.recording_place import (
    RecordingFile,
    StoredRecording,
    is_stored,
    open_recording_place,
)
from njrt.stores import Store
from njrt.testing import Scripted
from processes import run_python
from waiting import HANG_SECONDS, wait_until

KINDS = ("file", "memory", "sqlite", "redis")
every_place = pytest.mark.parametrize("kind", KINDS)
every_store = pytest.mark.parametrize("kind", KINDS[1:])
every_shared_store = pytest.mark.parametrize("kind", KINDS[2:])


@pytest.fixture
def place(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Return a place of each kind without a recording, as `record=` takes it."""
    if kind == "file":
        return str(tmp_path / "recordings" / "mail one.jsonl")
    url: str = request.getfixturevalue("url")
    if kind == "memory":
        get_store(url, os.environ).clear("")
    return f"{url}#mail one/ß"


def record(place: str, *questions: str, mode: Any = "once", says: Any = str) -> list[Any]:
    """Ask questions; the model answers with their lengths, or as it is told."""
    model = Scripted(lambda request: str(says(len(str(request.messages[0].text)))))  # type: ignore[union-attr]
    with njrt.using(model=model, record=f"{mode}:{place}"):
        return [njrt.llm(question) for question in questions]


def replay(place: str, *questions: str, mode: Any = "none") -> list[Any]:
    model = Scripted([])
    with njrt.using(model=model, record=f"{mode}:{place}"):
        return [njrt.llm(question) for question in questions]


# --- one table for all places


@every_place
def test_what_was_recorded_is_replayed(place: str) -> None:
    made = record(place, "a", "bb", "ccc")
    assert replay(place, "bb", "a", "ccc") == [made[1], made[0], made[2]]
    assert replay(place, "a", mode="once") == made[:1]


@every_place
def test_a_recording_that_is_missing_says_how_to_make_it(place: str) -> None:
    with pytest.raises(RecordingMissingError, match="create it with NJC_RECORD=once:"):
        replay(place, "a")


@every_place
def test_a_difference_is_shown(place: str) -> None:
    record(place, "a")
    with pytest.raises(RecordingMismatchError, match=r"recorded: a\n +now: +b"):
        replay(place, "b")


@every_place
def test_new_adds_and_all_replaces(place: str) -> None:
    record(place, "a")
    record(place, "a", "b", mode="new")
    assert len(read_recording(open_recording_place(place)).entries) == 2
    record(place, "a", mode="all", says=lambda size: size + 100)
    (entry,) = read_recording(open_recording_place(place)).entries
    assert entry.reply["text"] == [replay(place, "a")[0]] == ["101"]


@every_place
def test_decisions_are_kept_and_hold_again(place: str) -> None:
    def reject(pending: Any) -> Any:
        return njrt.Reject("not now")

    def fail(pending: Any) -> Any:
        raise AssertionError("asked again")

    for decide, mode in ((reject, "once"), (fail, "none")):
        with (
            njrt.using(model=Scripted(["3"]), record=f"{mode}:{place}", intercept=decide),  # type: ignore[arg-type]
            pytest.raises(njrt.PolicyError, match="not now"),
        ):
            njrt.llm("a")
    recording = read_recording(open_recording_place(place))
    assert len(recording.decisions) == 1
    assert not recording.header.unfinished


@every_place
def test_files_are_kept_beside_it(place: str) -> None:
    opened = open_recording_place(place)
    for data in (b"\x00\xff", b"other"):
        opened.keep_file("9f3c.png", data)
    if isinstance(opened, RecordingFile):
        assert (opened.path.with_name("mail one.files") / "9f3c.png").read_bytes() == b"\x00\xff"
    else:
        assert isinstance(opened, StoredRecording)
        store = opened._store
        (key,) = store.list_keys("recording/")
        assert key.endswith("/files/9f3c.png")
        assert store.get(key) == "AP8="
    assert not opened.exists()


@every_place
def test_damage_is_named_with_its_line(place: str) -> None:
    record(place, "a")
    opened = open_recording_place(place)
    opened.rewrite(lambda lines: [*lines, '{"place": 3}'])
    with pytest.raises(RecordingError, match=r":3: this line of the recording"):
        replay(place, "a")
    record(place, "a", mode="all")
    assert replay(place, "a") == ["1"]


@every_place
def test_recordings_of_similar_names_are_apart(place: str) -> None:
    record(place, "a")
    other = f"{place}2" if is_stored(place) else place.replace("one", "two")
    record(other, "bb")
    record(place, "ccc", mode="all")
    assert replay(other, "bb") == ["2"]


# --- many writers, and their death

WRITER = """
import sys, njrt
place, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
with njrt.using(model=njrt.Scripted(lambda request: "3"), record=f"new:{place}"):
    for number in range(count):
        njrt.llm(f"{name} {number}")
        print(number, flush=True)
"""


def start_writer(place: str, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, place, name, str(count)], stdout=subprocess.PIPE, text=True
    )


@every_shared_store
def test_processes_add_to_one_recording(place: str, store: Store) -> None:
    children = [start_writer(place, name, 6) for name in "ab"]
    for child in children:
        child.communicate(timeout=HANG_SECONDS)
    assert [child.returncode for child in children] == [0, 0]
    questions = [f"{name} {number}" for name in "ab" for number in range(6)]
    assert replay(place, *questions) == ["3"] * 12


@every_shared_store
def test_a_killed_writer_leaves_a_whole_recording(place: str, store: Store) -> None:
    generator = random.Random(3)
    child = start_writer(place, "w", 10_000)
    assert child.stdout is not None
    for _ in range(generator.randint(4, 20)):
        assert child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=HANG_SECONDS)
    recording = read_recording(open_recording_place(place))
    assert recording.entries
    count = len(recording.entries)
    assert replay(place, *(f"w {number}" for number in range(count))) == ["3"] * count


@every_place
def test_replies_are_there_before_the_recording_is_closed(place: str) -> None:
    opened = open_recording_place(place)
    with njrt.using(model=Scripted(lambda _: "3"), record=place):
        for number in range(30):
            njrt.llm(f"{number}")
        wait_until(lambda: len(read_recording(opened).entries) == 30)


FORKED = """
import multiprocessing, os, sys, njrt
place = sys.argv[1]

def record(name):
    for number in range(10):
        njrt.llm(f"{name} {number}")

def record_here(name):
    with njrt.using(record=f"new:{place}"):
        record(name)
        os._exit(0)

fork = multiprocessing.get_context("fork")
with njrt.using(model=njrt.Scripted(lambda request: "3")):
    with njrt.using(record=f"new:{place}"):
        record("parent")
        children = [fork.Process(target=record, args=name) for name in "ab"]
        for child in children: child.start()
    children.append(fork.Process(target=record_here, args="c"))
    children[-1].start()
for child in children: child.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "memory"])
def test_forked_processes_keep_their_replies(place: str, kind: str) -> None:
    subprocess.run([sys.executable, "-c", FORKED, place], check=True, timeout=HANG_SECONDS)
    questions = [f"{name} {number}" for name in ("parent", "a", "b", "c") for number in range(10)]
    assert replay(place, *questions) == ["3"] * 40


# --- who else can write


@every_shared_store
def test_what_is_not_signed_is_not_replayed(
    place: str, url: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(place, "a")
    monkeypatch.setenv("NJC_STORE_SECRET", "x" * 20)
    with pytest.raises(RecordingError, match="no valid signature"):
        replay(place, "a")
    record(place, "a", mode="all", says=lambda size: 7)
    assert replay(place, "a") == ["7"]
    (key,) = open_store(url).list_keys("recording/")
    signed = open_store(url).get(key)
    assert signed is not None
    assert open_store(url).swap(key, signed, signed.replace('"7"', '"8"'))
    with pytest.raises(RecordingError, match="no valid signature"):
        replay(place, "a")


def test_a_store_that_is_not_there_says_so() -> None:
    for mode in ("none", "once", "new", "all"):
        with pytest.raises(RecordingError, match=r"cannot read the recording .*#mail"):
            replay("sqlite:////proc/none/store.sqlite3#mail", "a", mode=mode)


# --- names


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("store:mail", True),
        ("python:stores:redis://host/0#mail", True),
        ("sqlite:///a b.sqlite3#mail", True),
        ("python:stores:redis://host/0", False),
        ("recordings/a#b.jsonl", False),
        ("recordings/mail.jsonl", False),
        ("C:/recordings/mail.jsonl", False),
        ("store/mail.jsonl", False),
    ],
)
def test_names_of_places(text: str, stored: bool) -> None:
    assert is_stored(text) is stored


def test_a_password_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "from njrt.log.sqlite_store import MemoryStore\nopen_store = lambda name: MemoryStore()\n"
    )
    (tmp_path / "own_stores.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    place = open_recording_place("python:own_stores:redis://me:secret@127.0.0.1:1/0#mail")
    assert "secret" not in place.name
    assert place.name.endswith("#mail")


def test_a_stored_recording_needs_a_name() -> None:
    with pytest.raises(RecordingError, match="has a name"):
        open_recording_place("store:")


def test_the_store_is_the_one_that_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (f"sqlite:///{tmp_path}/{name}.sqlite3" for name in "ab")
    with njrt.using(model=Scripted(["3"]), record="store:mail", store=first):
        njrt.llm("a")
    assert open_store(first).list_keys("recording/") == ["recording/mail/lines"]
    monkeypatch.setenv("NJC_STORE", second)
    with njrt.using(model=Scripted(["4"]), record="store:mail"):
        njrt.llm("a")
    assert [Recorder("store:mail", store=url).place.exists() for url in (first, second)] == [
        True
    ] * 2
    with njrt.using(store=first), njrt.using(record="none:store:mail"):
        assert njrt.llm("a") == "3"


# --- commands and the plugin

PROGRAM = """
import sys, njrt
print(njrt.llm(sys.argv[1]))
"""


def run_program(url: str, *arguments: str, cwd: Path, **environ: str) -> Any:
    return run_python(
        *arguments, cwd=cwd, env={**os.environ, "NJC_STORE": url, **environ}, timeout=100
    )


def test_commands_work_on_a_stored_recording(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.sqlite3"
    (tmp_path / "ask.py").write_text(PROGRAM)
    with njrt.using(model=Scripted(["3"]), record="store:mail", store=url):
        njrt.llm("How many?")
    setting = {"NJC_RECORD": "none:store:mail"}
    assert run_program(url, "ask.py", "How many?", cwd=tmp_path, **setting).stdout == "3\n"


def test_the_plugin_replays_from_a_store(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.sqlite3"
    (tmp_path / "test_it.py").write_text(
        textwrap.dedent("""
            import njrt, pytest

            pytestmark = pytest.mark.njc_recording("store:mail")

            def test_it(njc_recording):
                assert njc_recording == "store:mail"
                assert njrt.llm("How many?") == "3"

            def test_other():
                assert njrt.llm("How few?") == "3"
            """)
    )
    with njrt.using(model=Scripted(["3", "3"]), record="store:mail", store=url):
        njrt.llm("How many?")
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
    done = run_program(url, *words, "test_it.py", cwd=tmp_path)
    assert "1 failed, 1 passed" in done.stdout
    assert "the program differs from the recording" in done.stdout
    assert sorted(path.suffix for path in tmp_path.glob("recordings/**/*")) == []
    lines = open_store(url).get("recording/mail/lines")
    assert lines is not None
    assert json.loads(lines.splitlines()[0])["format"] == 1
