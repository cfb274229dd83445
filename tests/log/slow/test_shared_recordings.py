"""Recordings in files: many writers, their death, and damage."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import njrt
from njrt.errors import (
    ConfigurationError,
    RecordingError,
    RecordingMismatchError,
    RecordingMissingError,
)
from njrt.log.recording_file import read_recording
from njrt.log.recording_place import open_recording_file
from njrt.testing import Scripted
from waiting import HANG_SECONDS, wait_until


@pytest.fixture
def place(tmp_path: Path) -> str:
    """Return a place without a recording, as `record=` takes it."""
    return str(tmp_path / "recordings" / "mail one.jsonl")


def record(place: str, *questions: str, mode: Any = "once", says: Any = str) -> list[Any]:
    """Ask questions; the model answers with their lengths, or as it is told."""
    model = Scripted(lambda request: str(says(len(str(request.messages[0].text)))))  # type: ignore[union-attr]
    with njrt.using(model=model, record=f"{mode}:{place}"):
        return [njrt.llm(question) for question in questions]


def replay(place: str, *questions: str, mode: Any = "none") -> list[Any]:
    model = Scripted([])
    with njrt.using(model=model, record=f"{mode}:{place}"):
        return [njrt.llm(question) for question in questions]


def test_what_was_recorded_is_replayed(place: str) -> None:
    made = record(place, "a", "bb", "ccc")
    assert replay(place, "bb", "a", "ccc") == [made[1], made[0], made[2]]
    assert replay(place, "a", mode="once") == made[:1]


def test_a_recording_that_is_missing_says_how_to_make_it(place: str) -> None:
    with pytest.raises(RecordingMissingError, match="create it with NJC_RECORD=once:"):
        replay(place, "a")


def test_a_difference_is_shown(place: str) -> None:
    record(place, "a")
    with pytest.raises(RecordingMismatchError, match=r"recorded: a\n +now: +b"):
        replay(place, "b")


def test_new_adds_and_all_replaces(place: str) -> None:
    record(place, "a")
    record(place, "a", "b", mode="new")
    assert len(read_recording(open_recording_file(place)).entries) == 2
    record(place, "a", mode="all", says=lambda size: size + 100)
    (entry,) = read_recording(open_recording_file(place)).entries
    assert entry.reply["text"] == [replay(place, "a")[0]] == ["101"]


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
    recording = read_recording(open_recording_file(place))
    assert len(recording.decisions) == 1
    assert not recording.header.unfinished


def test_damage_is_named_with_its_line(place: str) -> None:
    record(place, "a")
    opened = open_recording_file(place)
    opened.rewrite(lambda lines: [*lines, '{"place": 3}'])
    with pytest.raises(RecordingError, match=r":3: this line of the recording"):
        replay(place, "a")
    opened.path.unlink()
    record(place, "a", mode="all")
    assert replay(place, "a") == ["1"]


def test_recordings_of_similar_names_are_apart(place: str) -> None:
    record(place, "a")
    other = place.replace("one", "two")
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


def test_processes_add_to_one_recording(place: str) -> None:
    children = [start_writer(place, name, 6) for name in "ab"]
    for child in children:
        child.communicate(timeout=HANG_SECONDS)
    assert [child.returncode for child in children] == [0, 0]
    questions = [f"{name} {number}" for name in "ab" for number in range(6)]
    assert replay(place, *questions) == ["3"] * 12


def test_a_killed_writer_leaves_a_whole_recording(place: str) -> None:
    generator = random.Random(3)
    child = start_writer(place, "w", 10_000)
    assert child.stdout is not None
    for _ in range(generator.randint(4, 20)):
        assert child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=HANG_SECONDS)
    recording = read_recording(open_recording_file(place))
    assert recording.entries
    count = len(recording.entries)
    assert replay(place, *(f"w {number}" for number in range(count))) == ["3"] * count


def test_replies_are_there_before_the_recording_is_closed(place: str) -> None:
    opened = open_recording_file(place)
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
def test_forked_processes_keep_their_replies(place: str) -> None:
    subprocess.run([sys.executable, "-c", FORKED, place], check=True, timeout=HANG_SECONDS)
    questions = [f"{name} {number}" for name in ("parent", "a", "b", "c") for number in range(10)]
    assert replay(place, *questions) == ["3"] * 40


# --- names


@pytest.mark.parametrize("place", ["store:mail", "python:s:redis://h/0#m", "sqlite:///a.sqlite3#m"])
def test_a_recording_in_a_store_is_refused(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="stores were removed in njc"):
        record(place, "a")
    monkeypatch.setenv("NJC_TRACE", "store:mail")
    with (
        pytest.raises(ConfigurationError, match="stores were removed in njc"),
        njrt.using(model=Scripted(["3"])),
    ):
        njrt.llm("a")


@pytest.mark.parametrize("name", ["a#b.jsonl", "C:mail.jsonl", "store/mail.jsonl"])
def test_a_file_may_have_any_name(name: str, tmp_path: Path) -> None:
    record(str(tmp_path / name), "a")
    assert (tmp_path / name).exists()
