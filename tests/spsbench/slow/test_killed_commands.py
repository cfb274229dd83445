"""Runs that are killed: the same command goes on, and the file then has every result once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_repair import FIRST, PAIRS, TOTAL, write

from spsbench.journal import Journal
from spsbench.repair.results import REPAIR_KINDS
from spsbench.results import read_results

RESULTS = Path(__file__).parents[3] / "spsbench" / "results"
COMMANDS = {
    "repair": (*("repair", "--data", "own.jsonl", "--conditions", "test"), 3),
}
"""The arguments, and the number of results."""
RESULT_KINDS = ("repair",)
MAX_SECONDS = 120.0


def list_trials(path: Path) -> list[tuple[object, ...]]:
    """What each result of a file is of; raises where a line is not whole."""
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    keys = ("kind", "task", "form", "action", "condition", "problem", "repeat", "sample")
    return [
        tuple(entry.get(key) for key in keys) for entry in entries if entry["kind"] in RESULT_KINDS
    ]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_goes_on_without_losing_or_doubling_a_result(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "own.jsonl", [TOTAL, FIRST, PAIRS])
    out = tmp_path / "results.jsonl"
    *words, wanted = COMMANDS[name]
    arguments = [*map(str, words), "--model", "scripted", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "spsbench", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    end = time.monotonic() + MAX_SECONDS
    while process.poll() is None and count_lines(out) < 3:
        assert time.monotonic() < end
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    with out.open("ab") as file:
        file.write(b'{"kind": "cut')  # as a kill during a write leaves it
    done = subprocess.run(
        [sys.executable, "-m", "spsbench", *arguments],
        capture_output=True,
        text=True,
        timeout=MAX_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    trials = list_trials(out)
    assert len(set(trials)) == len(trials) == wanted


def count_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


KINDS = {
    "repair/repair-qwen2.5-coder-1.5b.jsonl": REPAIR_KINDS,
}


@pytest.mark.parametrize("name", KINDS)
def test_a_file_that_is_cut_anywhere_keeps_its_whole_lines(name: str, tmp_path: Path) -> None:
    data, path = (RESULTS / name).read_bytes(), tmp_path / "results.jsonl"
    run = read_results(data.decode().splitlines(True), KINDS[name]).runs[0]
    for size in range(0, min(len(data), 30_000), 997):
        path.write_bytes(data[:size])
        kept = data[: data.rfind(b"\n", 0, size) + 1]
        with Journal(path, KINDS[name]) as journal:
            assert (
                journal.read().runs
                == read_results(kept.decode().splitlines(True), KINDS[name]).runs
            )
            journal.append(run)
        assert path.read_bytes().startswith(kept)
        assert path.read_bytes().count(b"\n") == kept.count(b"\n") + 1
