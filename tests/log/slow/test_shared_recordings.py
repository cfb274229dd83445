"""Recordings in files: their writers' death and children, and names."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import njrt
from njrt.log.recording_file import read_recording
from njrt.log.recording_place import open_recording_file
from njrt.testing import Scripted
from waiting import HANG_SECONDS


@pytest.fixture
def place(tmp_path: Path) -> str:
    """Return a place without a recording, as `record=` takes it."""
    return str(tmp_path / "recordings" / "mail one.jsonl")


def record(place: str, question: str) -> None:
    with njrt.using(model=Scripted(["3"]), record=f"once:{place}"):
        njrt.llm(question)


def replay(place: str, *questions: str) -> list[str]:
    with njrt.using(model=Scripted([]), record=f"none:{place}"):
        return [njrt.llm(question) for question in questions]


# --- many writers, and their death

WRITER = """
import sys, njrt
with njrt.using(model=njrt.Scripted(lambda request: "3"), record=f"new:{sys.argv[1]}"):
    for number in range(10_000):
        njrt.llm(f"w {number}")
        print(number, flush=True)
"""


def test_a_killed_writer_leaves_a_whole_recording(place: str) -> None:
    generator = random.Random(3)
    command = [sys.executable, "-c", WRITER, place]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    for _ in range(generator.randint(4, 20)):
        assert child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=HANG_SECONDS)
    recording = read_recording(open_recording_file(place))
    assert recording.entries
    count = len(recording.entries)
    assert replay(place, *(f"w {number}" for number in range(count))) == ["3"] * count


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
    with pytest.raises(njrt.ConfigurationError, match="stores were removed in njc"):
        record(place, "a")
    monkeypatch.setenv("NJC_TRACE", "store:mail")
    with (
        pytest.raises(njrt.ConfigurationError, match="stores were removed in njc"),
        njrt.using(model=Scripted(["3"])),
    ):
        njrt.llm("a")


NAMES = ["a#b.jsonl", "C:mail.jsonl", "store/mail.jsonl", "none", "none.jsonl", "once"]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_may_have_any_name(name: str, tmp_path: Path) -> None:
    record(str(tmp_path / name), "a")
    assert (tmp_path / name).exists()
