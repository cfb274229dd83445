"""Durable workflows, as in docs/durable.md: what was asked, decided and done before a crash is not asked, decided and done again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dbos import DBOS

import njrt
from njrt import durable
from njrt.decisions import Accept, PendingEffect, Reject
from njrt.durable.steps import format_failure, format_reply, read_reply
from njrt.errors import BudgetError, RecordingMismatchError, ServerError
from njrt.messages import ModelMessage, Reply, Request, Usage, UserMessage
from njrt.models.scripted import Scripted

REQUEST = Request("", (UserMessage("How many?"),), place="mail.njpy:3")
HERE = Path(__file__).parent


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    yield f"sqlite:///{tmp_path}/workflows.sqlite3"
    DBOS.destroy(destroy_registry=True)


def list_steps(identity: str) -> list[str]:
    return [step["function_name"] for step in DBOS.list_workflow_steps(identity)]


# --- what is stored


def test_a_reply_is_stored_and_read() -> None:
    reply = Reply(ModelMessage("3"), "end", Usage(10, 2, 1, 0.5), "m")
    read = read_reply(REQUEST, format_reply(REQUEST, reply))
    assert (read.message.text, read.usage, read.model, read.source) == (
        "3",
        reply.usage,
        "m",
        "recording",
    )


@pytest.mark.parametrize(
    "error", [ServerError("down"), BudgetError("too much"), njrt.ReplyError("empty")]
)
def test_a_failure_is_stored_and_raised_again(error: njrt.NaturalError) -> None:
    error.place = "mail.njpy:3"
    with pytest.raises(type(error), match=str(error)) as caught:
        read_reply(REQUEST, format_failure(REQUEST, error))
    assert caught.value.place == "mail.njpy:3"


def test_a_stored_reply_of_another_conversation_is_refused() -> None:
    other = Request("", (UserMessage("How few?"),), place="mail.njpy:9")
    with pytest.raises(
        RecordingMismatchError, match=r"mail.njpy:9: a model call differs from the one"
    ):
        read_reply(other, format_reply(REQUEST, Reply(ModelMessage("3"))))


# --- in one process


def test_calls_decisions_and_effects_are_steps(url: str) -> None:
    asked: list[str] = []
    paid: list[tuple[str, str]] = []

    @durable.effect
    def pay(name: str) -> str:
        paid.append((durable.effect_key(), name))
        return "receipt"

    def decide(pending: PendingEffect) -> Accept:
        asked.append(pending.place)
        return Accept()

    @durable.workflow
    def settle(name: str) -> list[str]:
        with njrt.using(model=Scripted(["3"]), intercept=decide):
            return [njrt.llm(f"How many {name}?"), pay(name), pay(name)]

    durable.launch(url)
    for _ in range(2):
        with durable.workflow_id("one"):
            assert settle("apples") == ["3", "receipt", "receipt"]
    assert len(asked) == 1
    keys, names = zip(*paid, strict=True)
    assert names == ("apples", "apples")
    assert len(set(keys)) == 2
    assert all(key.startswith("one/") for key in keys)
    assert list_steps("one") == [
        "decision decide", "model call",
        "effect pay begins", "effect pay", "effect pay begins", "effect pay",
    ]  # fmt: skip


def test_async_workflows(url: str) -> None:
    @durable.effect
    async def pay(name: str) -> str:
        await asyncio.sleep(0)
        return f"{name} {durable.effect_key()}"

    async def decide(pending: PendingEffect) -> Accept:
        await asyncio.sleep(0)
        return Accept()

    @durable.workflow
    async def settle(name: str) -> list[str]:
        with njrt.using(model=Scripted(["3"]), intercept=decide):
            return [await njrt.allm(f"How many {name}?"), await pay(name)]

    async def call() -> list[str]:
        with durable.workflow_id("two"):
            return await settle("apples")

    durable.launch(url)
    assert asyncio.run(call()) == ["3", "apples two/3"]
    assert list_steps("two") == ["decision decide", "model call", "effect pay begins", "effect pay"]


def test_a_failed_call_is_a_step_that_the_workflow_can_catch(url: str) -> None:
    @durable.workflow
    def settle() -> str:
        with njrt.using(model=Scripted([ServerError("down"), "3"])):
            try:
                return str(njrt.llm("How many?"))
            except ServerError:
                return str(njrt.llm("How many, please?"))

    durable.launch(url)
    with durable.workflow_id("three"):
        assert settle() == "3"
    assert list_steps("three") == ["model call", "model call"]


def test_a_budget_is_charged_once(url: str) -> None:
    reply = Reply(ModelMessage("3"), usage=Usage(100, 0, 0, 0.0))

    @durable.workflow
    def settle() -> str:
        with njrt.using(
            model=Scripted([reply]), store="memory:", budget="tokens=9000 per=total name=durable"
        ):
            return str(njrt.llm("How many?"))

    durable.launch(url)
    for _ in range(3):
        with durable.workflow_id("four"):
            assert settle() == "3"
    from njrt.session.settings import get_ledger

    states = [
        stored.state for stored in get_ledger("memory:").list_accounts() if stored.name == "durable"
    ]
    assert [(state.calls, state.tokens) for state in states] == [(1, 100)]


def test_outside_of_workflows_effects_are_plain_functions() -> None:
    assert durable.effect(lambda: durable.effect_key())() == ""


def test_without_the_package_the_extra_is_named() -> None:
    program = "import sys; sys.modules['dbos'] = None; from njrt import durable; durable.launch('sqlite:///x')"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100
    )
    assert 'pip install "njpy-runtime[durable]"' in done.stderr


# --- crashes


def fork_run(function: Callable[[], Any], result: Path) -> int:
    """Run a function in a child process, its result in a file; give the exit status."""
    process = os.fork()
    if not process:
        code = 1
        try:
            result.write_text(json.dumps(function()))
            code = 0
        except BaseException as error:
            result.write_text(json.dumps(f"{type(error).__name__}: {error}"))
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


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
    tmp_path: Path, dies: str, has_find: bool, ends: str, lines: int
) -> None:
    ledger, result, identity = tmp_path / "ledger", tmp_path / "result", uuid.uuid4().hex
    url = f"sqlite:///{tmp_path}/workflows.sqlite3"

    def find(key: str) -> str | None:
        return "found" if ledger.exists() and key in ledger.read_text() else None

    def make_run(is_first: bool) -> Callable[[], Any]:
        def run() -> Any:
            def pay() -> str:
                if is_first and dies == "before":
                    os.kill(os.getpid(), signal.SIGKILL)
                with ledger.open("a") as file:
                    file.write(f"{durable.effect_key()}\n")
                if is_first and dies == "after":
                    os.kill(os.getpid(), signal.SIGKILL)
                return "done anew"

            made = durable.effect(find=find)(pay) if has_find else durable.effect(pay)

            @durable.workflow
            def settle() -> str:
                return made()

            durable.launch(url, executor_id="test")
            with durable.workflow_id(identity):
                return settle()

        return run

    assert fork_run(make_run(True), result) == -signal.SIGKILL
    fork_run(make_run(False), result)
    assert ends in result.read_text()
    assert len(ledger.read_text().splitlines() if ledger.exists() else []) == lines


@pytest.mark.timeout(300)
def test_random_kills(tmp_path: Path) -> None:
    """A share of what `make durable-kills` does."""
    state = tmp_path / "state.json"
    command = [
        sys.executable,
        str(HERE / "kills.py"),
        "--kills",
        "1000",
        "--seconds",
        "12",
        "--state",
        str(state),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    counts = json.loads(done.stdout)
    assert (done.returncode, done.stderr, counts["violations"]) == (0, "", 0)
    assert counts["kills"] >= 1
    assert counts["workflows"] >= 1
    assert json.loads(state.read_text()) == counts


def test_a_rejection_is_stored_too(url: str) -> None:
    @durable.workflow
    def settle() -> str:
        with njrt.using(model=Scripted(["3", "4"]), intercept=lambda pending: Reject("no")):
            try:
                return str(njrt.llm("How many?"))
            except njrt.NaturalError as error:
                return type(error).__name__

    durable.launch(url)
    with durable.workflow_id("five"):
        first = settle()
    with durable.workflow_id("five"):
        assert settle() == first
