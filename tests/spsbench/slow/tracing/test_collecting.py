"""Jobs that overlap, and runs whose server fails in the middle."""

from __future__ import annotations

import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from test_repair import FIRST, PAIRS, RIGHT, TOTAL, write

from loopback import Response, Seen, Status
from openai_server import OpenAIServer, says
from spsbench.cli import main
from spsbench.repair.results import REPAIR_KINDS
from spsbench.results import read_results, split_lines
from spsbench.trials.workers import run_jobs


@dataclass(frozen=True)
class NumberJob:
    trial: int


def test_the_jobs_that_run_when_another_fails_have_results() -> None:
    together = threading.Barrier(3, timeout=20)

    def execute(job: NumberJob, stop: threading.Event | None = None) -> int:
        together.wait()
        if job.trial == 0:
            raise ZeroDivisionError
        assert stop is not None
        assert stop.wait(20)
        return job.trial

    found: list[object] = []
    with pytest.raises(ZeroDivisionError):
        found.extend(run_jobs(map(NumberJob, range(9)), execute, 3))
    assert sorted(found, key=str) == [1, 2]


@pytest.mark.timeout(60)
def test_the_jobs_that_run_at_an_interrupt_have_results_and_no_other_is_begun() -> None:
    begun = []
    main_thread = threading.get_ident()

    def execute(job: NumberJob, stop: threading.Event | None = None) -> int:
        begun.append(job.trial)
        assert stop is not None
        if len(begun) == 2:
            signal.pthread_kill(main_thread, signal.SIGINT)
        assert stop.wait(20)
        return job.trial

    found: list[object] = []
    with pytest.raises(KeyboardInterrupt):
        found.extend(run_jobs(map(NumberJob, range(9)), execute, 2))
    assert (sorted(found, key=str), sorted(begun)) == ([0, 1], [0, 1])


class TogetherServer(OpenAIServer):
    """Answers the first requests only when there are `width` at the same time."""

    def __init__(self, width: int, answer: Response) -> None:
        super().__init__([], vendor=False, models=("local",))
        self.answer, self.together = answer, threading.Barrier(width, timeout=90)

    def choose_response(self, seen: Seen) -> Response:
        self.script[:] = [self.answer] * 50
        if len(self.seen) < self.together.parties:
            self.together.wait()
        return super().choose_response(seen)


@dataclass(frozen=True)
class MeasuringCommand:
    arguments: tuple[str, ...]
    answer: str
    results: int
    kinds: tuple[type, ...]


COMMANDS = {
    "repair": MeasuringCommand(
        (
            "repair",
            "--data",
            "own.jsonl",
            "--conditions",
            "test",
            "--samples",
            "2",
            "--sample",
            "2",
        ),
        RIGHT,
        4,
        REPAIR_KINDS,
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "own.jsonl", [TOTAL, FIRST, PAIRS])
    return tmp_path


def measure(command: MeasuringCommand, url: str, *more: str) -> Result:
    arguments = [*command.arguments, "--model", "openai/local", "--out", "results.jsonl", *more]
    return CliRunner().invoke(main, arguments, env={"NJC_BASE_URL": url})


def read_trials(command: MeasuringCommand) -> list[Any]:
    text = Path("results.jsonl").read_text(encoding="utf-8")
    return [result.trial for result in read_results(split_lines(text), command.kinds).results]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", COMMANDS)
def test_jobs_ask_at_the_same_time_and_replies_are_kept_whatever_they_have(
    name: str, folder: Path
) -> None:
    command, ends = COMMANDS[name], "\u2028\u2029\x85\x0b\x0c\x1c\x1e\r"  # of `str.splitlines`
    answer = says(f"x = '{ends}'\n" + command.answer.replace("Each", f"Each{ends}"))
    with TogetherServer(3, answer) as server:
        done = measure(command, server.base_url, "--jobs", "3")
        assert done.exit_code == 0, done.output
        again = measure(command, server.base_url)
        assert again.exit_code == 0, again.output
    assert len(server.seen) == command.results
    trials = read_trials(command)
    assert len(trials) == len(set(trials)) == command.results
    assert " left" in done.output


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_server_that_fails_in_the_middle_loses_no_result(name: str, folder: Path) -> None:
    command = COMMANDS[name]
    refused = Status(400, body={"error": {"message": "out of order"}})
    script = [says(command.answer), says(command.answer), *[refused] * 50]
    with OpenAIServer(script, vendor=False, models=("local",)) as server:
        done = measure(command, server.base_url, "--jobs", "2")
    assert done.exit_code == 1, done.output
    assert "the same command continues" in done.output
    assert len(read_trials(command)) == 2
    with OpenAIServer([says(command.answer)] * 50, vendor=False, models=("local",)) as server:
        done = measure(command, server.base_url, "--jobs", "2")
    assert done.exit_code == 0, done.output
    trials = read_trials(command)
    assert len(trials) == len(set(trials)) == command.results
    before = Path("results.jsonl").read_bytes()
    done = measure(command, server.base_url)
    assert (done.exit_code, Path("results.jsonl").read_bytes()) == (0, before), "nothing is left"


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_prompt_that_is_too_long_is_a_result(name: str, folder: Path) -> None:
    command = COMMANDS[name]
    refused = Status(400, body={"error": {"message": "the request exceeds the context size"}})
    with OpenAIServer([refused] * 50, vendor=False, models=("local",)) as server:
        done = measure(command, server.base_url)
    assert done.exit_code == 0, done.output
    assert len(read_trials(command)) == command.results
