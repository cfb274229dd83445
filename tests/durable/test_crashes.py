"""Workflows whose process was killed: effects in doubt, other machines, processes and versions, random kills."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kills
import pytest
from asking import ask, wait_for_questions
from forked_runs import RUN_SECONDS, ForkRun, die

from njrt import durable
from njrt.decisions import Accept
from njrt.durable import workflows
from njrt.durable.effects import find_version
from services import find_postgres, start_postgres
from waiting import wait_until


@pytest.mark.parametrize(
    ("dies", "has_find", "ends", "lines"),
    [
        ("before", False, "may have been done", 0),
        ("after", False, "may have been done", 1),
        ("before", True, "done anew", 1),
        ("after", True, "found", 1),
    ],
)
def test_an_effect_that_was_interrupted(
    tmp_path: Path, url: str, fork_run: ForkRun, dies: str, has_find: bool, ends: str, lines: int
) -> None:
    ledger = tmp_path / "ledger"

    def find(key: str) -> str | None:
        return "found" if ledger.exists() and key in ledger.read_text() else None

    def make_run(is_first: bool) -> Callable[[], Any]:
        def run() -> Any:
            def pay() -> str:
                if is_first and dies == "before":
                    die()
                with ledger.open("a") as file:
                    file.write(f"{durable.effect_key()}\n")
                if is_first and dies == "after":
                    die()
                return "done anew"

            made = durable.effect(find=find)(pay) if has_find else durable.effect(pay)

            @durable.workflow
            def settle() -> str:
                return made()

            durable.launch(url)
            with durable.workflow_id("doubt"):
                return settle()

        return run

    assert fork_run(make_run(True)) == "killed"
    assert ends in fork_run(make_run(False))
    assert len(ledger.read_text().splitlines() if ledger.exists() else []) == lines


def make_settle(is_killed: bool) -> Callable[[], str]:
    """Return a workflow that is killed after its first effect."""

    @durable.effect
    def pay() -> str:
        return f"paid by {os.getpid()}"

    @durable.workflow
    def settle() -> str:
        paid = pay()
        if is_killed:
            die()
        return paid

    return settle


def call(
    url: str, is_killed: bool = False, take_over: str | None = None, **options: Any
) -> list[Any]:
    """Run the workflow; give its result or its error, and the warnings of the launch."""
    settle = make_settle(is_killed)
    warned = launch(url, **options)
    if take_over:
        durable.take_over(take_over)
    with durable.workflow_id("order-17"):
        return [settle().split()[0], *warned]


def launch(url: str, **options: Any) -> list[str]:
    """Launch; give the warnings, without those of what earlier tests of this process left open."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        durable.launch(url, **options)
    return [
        str(warning.message)
        for warning in caught
        if not issubclass(warning.category, ResourceWarning)
    ]


def test_a_launch_inside_of_an_event_loop(url: str, fork_run: ForkRun) -> None:
    async def serve() -> list[str]:
        return launch(url, version="new")

    assert fork_run(lambda: call(url, is_killed=True, version="old")) == "killed"
    expected = "version new does not take up the workflow order-17 of version old"
    assert fork_run(lambda: asyncio.run(serve())) == [expected]


def test_another_version_does_not_go_on(url: str, fork_run: ForkRun) -> None:
    assert fork_run(lambda: call(url, is_killed=True, version="old")) == "killed"
    expected = "version new does not take up the workflow order-17 of version old"
    assert fork_run(lambda: launch(url, version="new")) == [expected]
    refused = fork_run(lambda: call(url, version="new"))
    assert refused.startswith(
        "WorkflowVersionError: the workflow order-17 was started by version old of the program"
    )
    assert "launch with version='old'" in refused
    assert fork_run(lambda: call(url, version="old")) == ["paid"]
    warned = fork_run(lambda: call(url, version="new"))
    assert warned == ["paid"]  # it has ended, and its result is for all versions


def test_the_version_is_that_of_the_program(tmp_path: Path) -> None:
    import njrt

    def find_version_with(text: str) -> str:
        path = tmp_path / "shop_of_test.py"
        path.write_text(text)
        module = types.ModuleType("shop_of_test")
        module.__file__ = str(path)
        module.__dict__["_nj"] = njrt
        sys.modules["shop_of_test"] = module
        try:
            return find_version()
        finally:
            del sys.modules["shop_of_test"]

    versions = [find_version_with(text) for text in ("a = 1", "a = 1", "a = 2")]
    assert versions[0] == versions[1] != versions[2]


def test_another_machine_takes_over(url: str, fork_run: ForkRun) -> None:
    first = fork_run(lambda: call(url, is_killed=True, executor_id="machine-1"))
    assert first == "killed"
    assert fork_run(lambda: call(url, executor_id="machine-2", take_over="machine-1")) == ["paid"]


@pytest.fixture(params=["sqlite", "postgres"])
def shared_url(request: pytest.FixtureRequest, url: str) -> Iterator[str]:
    """Yield a database for several processes."""
    if request.param == "sqlite":
        yield url
        return
    if find_postgres() is None:
        pytest.skip("no Postgres: make services")
    with start_postgres() as postgres:
        yield postgres.url


def test_two_processes_of_one_id_do_not_run_the_same_workflows(
    shared_url: str, tmp_path: Path, fork_run: ForkRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflows, "LOST_SECONDS", 0.1)
    first = os.fork()
    if not first:
        signal.alarm(RUN_SECONDS)
        durable.launch(shared_url)
        (tmp_path / "launched").touch()
        signal.pause()
    try:
        wait_until((tmp_path / "launched").exists)
        refused = fork_run(lambda: launch(shared_url))
        assert refused.startswith("ConfigurationError: another process"), refused
        assert fork_run(lambda: launch(shared_url, executor_id="machine-2")) == []
    finally:
        os.kill(first, signal.SIGKILL)
        os.waitpid(first, 0)
    assert fork_run(lambda: launch(shared_url)) == []


def make_asking() -> Callable[[], str]:
    @durable.workflow
    def settle() -> str:
        return ask()

    return settle


def test_a_person_decides_after_a_crash(url: str, fork_run: ForkRun) -> None:
    def run(dies: bool) -> Any:
        settle = make_asking()
        durable.launch(url, notification_listener_polling_interval_sec=0.02)
        if dies:
            threading.Thread(target=lambda: wait_for_questions(url, "crashed") and die()).start()
        with durable.workflow_id("crashed"):
            return settle()

    assert fork_run(lambda: run(True)) == "killed"
    (question,) = durable.list_questions(url)  # no process of the program runs
    durable.decide(url, question, Accept())
    assert fork_run(lambda: run(False)) == "3"


@pytest.mark.timeout(300)
def test_random_kills(tmp_path: Path) -> None:
    """A share of what `make durable-kills` does."""
    state = tmp_path / "state.json"
    chosen = ["--kills", "4", "--store", "sqlite", "--scenario", "gather"]
    assert kills.main([*chosen, "--state", str(state)]) == 0
    counts = json.loads(state.read_text())
    assert counts["violations"] == 0
    assert counts["kills"] >= 4
    assert counts["stored_steps_replayed"] >= 1
