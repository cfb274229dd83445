"""Wrappers of models, retries and fallbacks, each alone."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

import njrt
from conversations import PLAIN
from njrt.data.coroutines import run_without_waiting
from njrt.messages import CallAttempt, ModelMessage, Reply, Request, Usage
from njrt.models.choose import get_model
from njrt.models.retry_and_fallback import FallbackModel, RetryModel
from njrt.testing import Scripted
from processes import run_python
from waiting import HANG_SECONDS


@dataclass
class FakeCalls:
    """Asks in this thread, one after the other, and notes how long it was to wait instead of waiting."""

    waits: list[float] = field(default_factory=list)
    time: float = 1_000_000.0

    async def ask(self, model: Any, request: Request) -> Reply:
        return model.ask(request)

    async def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds


def answer(model: FallbackModel, request: Request = PLAIN, calls: FakeCalls | None = None) -> Reply:
    calls = calls or FakeCalls()
    return run_without_waiting(model.answer(request, calls.ask, calls.wait))


def reply(text: str, usd: float | None = 0.01, **fields: Any) -> Reply:
    return Reply(ModelMessage(text), usage=Usage(10, 5, 2, usd), model="m", **fields)


def busy(retry_after: float | None = None) -> njrt.ServerError:
    error = njrt.ServerError("busy")
    error.retry_after = retry_after
    return error


def list_outcomes(attempts: Iterable[CallAttempt]) -> list[str]:
    return [attempt.outcome for attempt in attempts]


# ── retries ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("longest_wait", "most"),
    [(30.0, [0.5, 1.0, 2.0]), (3.0, [0.5, 1.0, 2.0, 3.0, 3.0, 3.0])],
)
def test_a_failing_server_is_asked_again_after_longer_and_longer_waits(longest_wait, most):
    calls, model = FakeCalls(), Scripted([*[busy()] * len(most), reply("up")])
    retried = RetryModel(model, attempts=len(most) + 1, longest_wait=longest_wait)
    got = answer(retried, PLAIN, calls)
    assert len(calls.waits) == len(most)
    assert all(it / 2 <= wait <= it for wait, it in zip(calls.waits, most, strict=True))
    assert list_outcomes(got.attempts) == [*["ServerError"] * len(most), "used"]
    assert (got.message.text, got.usage) == ("up", Usage(10, 5, 2, 0.01))


@pytest.mark.parametrize(("wanted", "waits"), [(7.0, [7.0]), (0.0, [0.0]), (31.0, [])])
def test_the_server_says_how_long_to_wait(wanted, waits):
    calls, model = FakeCalls(), Scripted([busy(wanted), reply("up")])
    if waits:
        assert answer(RetryModel(model), PLAIN, calls).message.text == "up"
    else:
        with pytest.raises(njrt.ServerError):
            answer(RetryModel(model), PLAIN, calls)
    assert calls.waits == waits


def test_no_wait_is_begun_that_is_longer_than_the_run_has_left():
    calls, model = FakeCalls(), Scripted([busy(7.0), reply("up")])
    with pytest.raises(njrt.ServerError):
        answer(RetryModel(model), replace(PLAIN, before_call=lambda used: 5.0), calls)
    assert (calls.waits, len(model.requests)) == ([], 1)


@pytest.mark.parametrize(
    "error",
    [njrt.AuthenticationError("no"), njrt.RejectedRequestError("bad"), njrt.ReplyError("x")],
)
def test_other_errors_are_raised_at_once(error):
    model = Scripted([error, reply("up")])
    with pytest.raises(type(error)):
        answer(RetryModel(model))
    assert len(model.requests) == 1


def test_one_call_leaves_the_reply_as_it_is():
    assert answer(RetryModel(Scripted([reply("hi")]))).attempts == ()


# ── fallbacks ────────────────────────────────────────────────────────────────────────────────────────


def test_a_failing_server_leads_to_the_next_model():
    small, large = Scripted([busy()], name="small"), Scripted([reply("")], name="large")
    got = answer(FallbackModel((small, large)))
    assert (got.message.text, got.usage.input) == ("", 10)
    assert [(attempt.model, attempt.outcome) for attempt in got.attempts] == [
        ("small", "ServerError"),
        ("m", "used"),
    ]


# ── in a block ───────────────────────────────────────────────────────────────────────────────────────


def test_attempts_are_in_the_trace_and_their_costs_in_the_accounts(tmp_path):
    path = tmp_path / "trace.jsonl"
    model = RetryModel(Scripted([busy(), busy(), reply('{"n": 2}')]), first_wait=0)
    n, totals = ask_in_block(model, trace=path, max_usd=1)
    assert (n, totals.calls, totals.input_tokens) == (2, 3, 10)
    assert totals.usd == pytest.approx(0.01)
    (replied,) = [json.loads(line) for line in path.read_text().splitlines() if '"replied"' in line]
    outcomes = [attempt["outcome"] for attempt in replied["reply"]["attempts"]]
    assert outcomes == ["ServerError", "ServerError", "used"]


def test_a_recording_of_attempts_is_replayed_without_a_call(tmp_path):
    path = tmp_path / "recording.jsonl"
    model = RetryModel(Scripted([busy(), reply('{"n": 2}')]), first_wait=0)
    recorded, totals = ask_in_block(model, record=path)
    assert (recorded, totals.calls) == (2, 2)
    replayed, totals = ask_in_block(None, record=f"none:{path}")
    assert (replayed, totals.calls) == (2, 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RetryModel(Scripted([]), attempts=0),
        lambda: RetryModel(Scripted([]), first_wait=-1),
        lambda: RetryModel("openai/gpt-4.1"),
        lambda: FallbackModel(()),
        lambda: FallbackModel("ab"),
        lambda: FallbackModel((Scripted([]), "x")),
        lambda: RetryModel(Scripted),
        lambda: RetryModel(Scripted([]), attempts="3"),
        lambda: get_model("nosuch/model"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make):
    with pytest.raises(njrt.ConfigurationError):
        make()


def test_many_attempts_end_with_the_error_of_the_server():
    model = RetryModel(Scripted([busy()] * 1100), attempts=1100, first_wait=0)
    with pytest.raises(njrt.ServerError):
        model.ask(PLAIN)


def ask_in_block(model: Any, **settings: Any) -> Any:
    """Run a block that binds a number; give it with the totals, or the error in its place."""
    n, types = None, {"n": int}
    with njrt.using(model=model, **settings), njrt.watch() as watch:
        try:
            njrt.run(
                "natural\n<:n>", lambda: (n,), writes="n", types=lambda: types, effects="answer"
            )
        except njrt.NaturalError as error:
            return error, watch.totals
    return n, watch.totals


def test_limits_of_a_block_count_every_call():
    model = Scripted([busy()] * 9)
    error, totals = ask_in_block(RetryModel(model, attempts=9, first_wait=0), max_calls=3)
    assert isinstance(error, njrt.CallLimitError)
    assert len(model.requests) == totals.calls == 3


def test_retries_of_a_block_keep_its_time(ask):
    model = Scripted([busy()] * 99, delay=0.02)
    began = time.monotonic()
    with pytest.raises(njrt.ServerError):
        ask(
            RetryModel(model, attempts=99, first_wait=0.1, longest_wait=0.1),
            replace(PLAIN, before_call=lambda used: began + 1.0 - time.monotonic()),
        )
    assert time.monotonic() - began < HANG_SECONDS
    assert 2 <= len(model.requests) < 30
    assert all(request.timeout <= 1.0 for request in model.requests[1:])


def test_public_names_are_loaded_when_they_are_asked_for():
    code = (
        "import sys, njrt.models\n"
        "print(sorted(name for name in sys.modules if name.startswith('njrt.models.')))\n"
        "print(all(getattr(njrt.models, name) for name in njrt.models.__all__))\n"
    )
    ran = run_python("-c", code, check=True)
    assert ran.stdout == "[]\nTrue\n"
    with pytest.raises(AttributeError):
        _ = njrt.models.Nothing
