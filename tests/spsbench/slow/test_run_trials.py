"""A trial in its process: what comes of it when it ends, hangs, crashes, is killed, costs too much."""

from __future__ import annotations

import json
import os
import signal
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from loopback import Response, Status, Trickle
from njrt.values.dataclass_json import from_json, to_json
from openai_server import OpenAIServer, says
from spsbench.results import Trial, TrialLimits, TrialResult, TrialUsage
from spsbench.trials.executing import execute_job, list_writers
from spsbench.trials.playing import Job
from waiting import HANG_SECONDS, wait_until

RIGHT = says("```python\naverage = 2.0\n```")
"""Right for the first of the three cases of `average_of_three`."""


def tried(
    method: str,
    *script: Response,
    program: str = "average_of_three",
    limits: TrialLimits | None = None,
    **how: Any,
) -> tuple[TrialResult, OpenAIServer]:
    """Return a trial against a server of one's own that has this script."""
    with OpenAIServer(script, vendor=False, models=("local",)) as server:
        trial = Trial(program, method, "openai/local", 1)
        job = Job(
            trial, limits or TrialLimits(seconds=HANG_SECONDS), base_url=server.base_url, **how
        )
        return execute_job(job), server


def scripted(program: str, method: str) -> TrialResult:
    return execute_job(Job(Trial(program, method, "scripted", 1)))


def test_a_job_crosses_as_text() -> None:
    job = Job(
        Trial("menu", "direct", "m", 2), TrialLimits(5, 6, 7), 0.5, "http://x/v1", "/k", "njc.lock"
    )
    assert from_json(to_json(job), Job) == job


@pytest.mark.parametrize("method", ["manual", "manual-code-interpreter", "direct", "nightjar"])
def test_a_perfect_model_passes_in_a_process_of_its_own(method: str) -> None:
    result = scripted("menu", method)
    assert (result.ending, result.share, result.failure) == ("finished", 1.0, None)
    assert len(result.checks) == 4
    assert (result.blocks == 0) == (method.startswith("manual"))
    assert (result.build_seconds == 0.0) == (method.startswith("manual"))
    assert result.calls >= 3


def test_what_effects_cannot_say_is_told() -> None:
    result = scripted("stores", "baseline")
    assert result.ending == "raised"
    assert result.failure is not None
    assert result.failure.category == "unsayable"


def test_calls_tokens_and_effects_are_counted() -> None:
    result, server = tried("direct", RIGHT, RIGHT, RIGHT)
    assert result.ending == "finished"
    assert list(result.checks.values()) == [True, False, False]
    assert (result.blocks, result.effects, result.calls) == (3, 3, 3)
    assert result.usage == TrialUsage(3000, 1800, 60)
    assert result.cost is None
    assert result.failure is not None
    assert result.failure.category == "wrong result"
    assert [seen.body["temperature"] for seen in server.seen] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(("temperature", "sent"), [(None, 0.0), (0.7, 0.7)])
def test_manual_programs_are_asked_at_the_same_temperature(
    temperature: float | None, sent: float
) -> None:
    _, server = tried("manual", RIGHT, RIGHT, RIGHT, temperature=temperature)
    assert [seen.body["temperature"] for seen in server.seen] == [sent] * 3


def test_a_trial_that_takes_too_long_is_killed_and_keeps_what_it_had() -> None:
    with OpenAIServer([RIGHT, Trickle()], vendor=False, models=("local",)) as server:
        trial = Trial("average_of_three", "direct", "openai/local", 1)
        job = Job(trial, TrialLimits(seconds=600), base_url=server.base_url)
        result = execute_job(job, read_clock=lambda: 601.0 * (len(server.seen) == 2))
        assert server.abandoned.wait(HANG_SECONDS)
    assert result.ending == "timeout"
    assert list(result.checks.values()) == [True, False, False]
    assert (result.blocks, result.calls, result.usage) == (2, 2, TrialUsage(1000, 600, 20))
    assert result.failure is not None
    assert result.failure.category == "timeout"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")
def test_a_trial_that_has_ended_in_time_is_not_late_because_its_runner_is() -> None:
    with OpenAIServer([RIGHT] * 3, vendor=False, models=("local",)) as server:

        def read_clock() -> float:
            if len(server.seen) < 3:
                return 0.0
            wait_until(lambda: not find_children("spsbench.trials.playing"))
            return 601.0

        trial = Trial("average_of_three", "direct", "openai/local", 1)
        job = Job(trial, TrialLimits(seconds=600), base_url=server.base_url)
        result = execute_job(job, read_clock=read_clock)
    assert (result.ending, result.blocks, result.calls) == ("finished", 3, 3)


def find_children(module: str) -> list[int]:
    """Return the children of this process that run the module."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, parent = (place / "stat").read_text().rpartition(")")[2].split()[:2]
            is_running = int(parent) == os.getpid() and state != "Z"
            if is_running and module.encode() in (place / "cmdline").read_bytes():
                found.append(int(place.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_trial_whose_process_dies_is_a_crash(number: signal.Signals) -> None:
    with OpenAIServer([RIGHT, Trickle()], vendor=False, models=("local",)) as server:

        def read_clock() -> float:
            for process in (
                find_children("spsbench.trials.playing") if len(server.seen) == 2 else ()
            ):
                os.kill(process, number)
            return 0.0

        trial = Trial("average_of_three", "direct", "openai/local", 1)
        job = Job(trial, TrialLimits(seconds=600), base_url=server.base_url)
        result = execute_job(job, read_clock=read_clock)
    assert result.ending == "crashed"
    assert result.failure is not None
    assert result.failure.message.startswith(f"the process ended with signal {int(number)}")
    assert list(result.checks.values()) == [True, False, False]


def test_a_trial_that_is_stopped_has_no_result_and_leaves_nobody_behind() -> None:
    stop = threading.Event()
    with OpenAIServer([Trickle()], vendor=False, models=("local",)) as server:
        job = Job(Trial("menu", "direct", "openai/local", 1), base_url=server.base_url)
        caught: list[BaseException] = []

        def run() -> None:
            try:
                execute_job(job, stop)
            except BaseException as error:
                caught.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        wait_until(lambda: server.seen)
        stop.set()
        thread.join(HANG_SECONDS)
        assert [type(error).__name__ for error in caught] == ["TrialStoppedError"]
        assert server.abandoned.wait(HANG_SECONDS)


def test_a_request_that_the_server_rejects_is_a_result() -> None:
    refused = Status(400, body={"error": {"message": "too long", "type": "x", "code": None}})
    result, _ = tried("direct", *[refused] * 3)
    assert result.ending == "raised"
    assert result.failure is not None
    assert result.failure.category == "rejected"
    assert result.is_final


def test_static_code_is_written_first_and_counted_apart(tmp_path: Path) -> None:
    result, server = tried("static", RIGHT, keep=str(tmp_path))
    assert (result.ending, result.build_calls, result.calls) == ("finished", 1, 0)
    assert (result.build_usage, result.usage) == (TrialUsage(1000, 600, 20), TrialUsage())
    assert list(result.checks.values()) == [True, False, False]
    assert len(server.seen) == 1
    kept = tmp_path / "average_of_three" / "static" / "1"
    lock = (kept / "programs" / "njc.lock").read_text()
    assert 'name = "average_of_three/natural.njpy:average_of_three"' in lock
    assert json.loads((kept / "job.json").read_text())["trial"]["method"] == "static"


def test_code_of_a_lock_is_used_and_its_writers_are_named(tmp_path: Path) -> None:
    tried("static", RIGHT, keep=str(tmp_path))
    lock = tmp_path / "average_of_three" / "static" / "1" / "programs" / "njc.lock"
    result, server = tried("static", lock=str(lock))
    assert (result.ending, result.build_calls, len(server.seen)) == ("finished", 0, 0)
    assert list(result.checks.values()) == [True, False, False]
    assert list_writers(lock) == ("openai/local",)
    missing, _ = tried("static", lock=str(tmp_path / "njc.lock"))
    assert missing.ending == "not built"
    assert missing.failure is not None
    assert "no code" in missing.failure.message


def test_a_block_without_code_is_not_built() -> None:
    result, _ = tried("static", *[says("```python\nx = 1\n```")] * 4)
    assert (result.ending, result.build_calls) == ("not built", 4)
    assert result.failure is not None
    assert result.failure.category == "not built"
    assert len(result.checks) == 3


def test_a_server_that_fails_is_told_even_where_the_program_hides_it() -> None:
    refused = Status(401, body={"error": {"message": "who are you?", "type": "x", "code": None}})
    result, _ = tried("direct", *[refused] * 60, program="coffeeshop")
    assert result.failure is not None
    assert (result.failure.category, result.is_final) == ("server", False)


def test_settings_of_the_environment_do_not_reach_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NJC_EFFECTS", "baseline")
    monkeypatch.setenv("NJC_RECORD", "none:nowhere.jsonl")
    assert scripted("menu", "direct").share == 1.0
