"""Trials on a real Dask cluster of two workers, one of which is killed in the middle of a trial."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import pytest

from loopback import Trickle
from openai_server import OpenAIServer, says
from spsbench.results import read_results
from waiting import HANG_SECONDS, wait_until

RIGHT = says("```python\naverage = 2.0\n```")
TRIALS = 4
LOOPBACK = ["--host", "127.0.0.1", "--scheduler-file", "scheduler.json", "--no-dashboard"]
WORKER = ("distributed.cli.dask_worker", *LOOPBACK, "--nthreads", "1", "--no-nanny")
FLAGS = (
    *[
        "--model",
        "openai/local",
        "--programs",
        "average_of_three",
        "--methods",
        "direct",
        "--executor",
        "dask",
    ],
    *("--repeats", f"{TRIALS}"),
)


@contextmanager
def process(log: IO[bytes], *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a Python process that is gone with the `with`."""
    with subprocess.Popen([sys.executable, *words], stdout=log, stderr=log) as running:
        try:
            yield running
        finally:
            running.kill()


def results_lines() -> list[str]:
    file = Path("results.jsonl")
    return file.read_text().splitlines(keepends=True) if file.exists() else []


def test_a_worker_that_is_killed_loses_no_trial_and_none_counts_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    for name in [name for name in os.environ if name.startswith("NJC_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DASK_TEMPORARY_DIRECTORY", str(tmp_path))
    server = OpenAIServer([Trickle(), *[RIGHT] * 3 * TRIALS], vendor=False, models=("local",))
    with ExitStack() as opened, Path("log").open("wb") as log:

        def start(*words: str) -> subprocess.Popen[bytes]:
            return opened.enter_context(process(log, "-m", *words))

        opened.enter_context(server)
        monkeypatch.setenv("NJC_BASE_URL", server.base_url)
        start("distributed.cli.dask_scheduler", *LOOPBACK, "--port", "0")
        wait_until(address)
        first = start(*WORKER)
        runner = start("spsbench", "run", *FLAGS, "--scheduler", address())
        wait_until(lambda: len(server.seen) == 1)  # the first worker hangs in its first trial
        start(*WORKER)
        wait_until(lambda: len(results_lines()) >= 3)  # the second one does others meanwhile
        first.kill()
        assert server.abandoned.wait(HANG_SECONDS), "the killed worker's trial asks on"
        assert runner.wait(HANG_SECONDS) == 0
    read = read_results(results_lines())
    assert [run.executor for run in read.runs] == ["dask"]
    assert Counter(result.trial.repeat for result in read.results) == dict.fromkeys(
        range(1, TRIALS + 1), 1
    )
    assert len(results_lines()) == 1 + TRIALS
    assert {tuple(result.checks.values()) for result in read.results} == {(True, False, False)}
    assert {result.calls for result in read.results} == {3}


def address() -> str:
    """Where the scheduler is, once it has said so."""
    file = Path("scheduler.json")
    text = file.read_text() if file.exists() else ""
    return str(json.loads(text)["address"]) if text.endswith("}") else ""
