"""The wrapper of several models, alone and in a block."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

import njrt
from conversations import PLAIN
from njrt.block.session.run_block import run
from njrt.errors import (
    AuthenticationError,
    CallLimitError,
    ConfigurationError,
    RejectedRequestError,
    ReplyError,
    ServerError,
)
from njrt.messages import CallAttempt, ModelMessage, Reply, Request, Usage
from njrt.models.choose import get_model
from njrt.models.retry_and_fallback import FallbackModel
from njrt.testing import Scripted
from processes import run_python
from waiting import HANG_SECONDS


def answer(model: FallbackModel, request: Request = PLAIN) -> Reply:
    return model.ask(request)


def reply(text: str, usd: float | None = 0.01, **fields: Any) -> Reply:
    return Reply(ModelMessage(text), usage=Usage(10, 5, 2, usd), model="m", **fields)


def busy() -> ServerError:
    return ServerError("busy")


def again(model: Any, times: int = 3) -> FallbackModel:
    """Return a model that asks the same model several times."""
    return FallbackModel((model,) * times)


def list_outcomes(attempts: Iterable[CallAttempt]) -> list[str]:
    return [attempt.outcome for attempt in attempts]


@pytest.mark.parametrize(
    "error", [AuthenticationError("no"), RejectedRequestError("bad"), ReplyError("x")]
)
def test_other_errors_are_raised_at_once(error):
    model = Scripted([error, reply("up")])
    with pytest.raises(type(error)):
        answer(again(model))
    assert len(model.requests) == 1


def test_one_call_leaves_the_reply_as_it_is():
    assert answer(again(Scripted([reply("hi")]))).attempts == ()


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
    model = again(Scripted([busy(), busy(), reply('{"n": 2}')]))
    n = None
    with njrt.using(model=model, trace=path, max_usd=1), njrt.watch() as watch:
        run("natural\n<:n>", lambda: (n,), writes="n", types=lambda: {"n": int}, effects="answer")
    assert n == 2
    assert (watch.totals.calls, watch.totals.input_tokens) == (3, 10)
    assert watch.totals.usd == pytest.approx(0.01)
    (replied,) = [json.loads(line) for line in path.read_text().splitlines() if '"replied"' in line]
    outcomes = [attempt["outcome"] for attempt in replied["reply"]["attempts"]]
    assert outcomes == ["ServerError", "ServerError", "used"]


def test_a_recording_of_attempts_is_replayed_without_a_call(tmp_path):
    path = tmp_path / "recording.jsonl"
    model = again(Scripted([busy(), reply('{"n": 2}')]))
    recorded, totals = ask_in_block(model, record=path)
    assert (recorded, totals.calls) == (2, 2)
    replayed, totals = ask_in_block(None, record=f"none:{path}")
    assert (replayed, totals.calls) == (2, 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: FallbackModel(()),
        lambda: FallbackModel("ab"),
        lambda: FallbackModel((Scripted([]), "x")),
        lambda: FallbackModel((Scripted,)),
        lambda: get_model("nosuch/model"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make):
    with pytest.raises(ConfigurationError):
        make()


def test_many_attempts_end_with_the_error_of_the_server():
    model = again(Scripted([busy()] * 1100), 1100)
    with pytest.raises(ServerError):
        model.ask(PLAIN)


def ask_in_block(model: Any, **settings: Any) -> Any:
    """Run a block that binds a number; give it with the totals, or the error in its place."""
    n = None
    with njrt.watch() as watch:
        try:
            with njrt.using(model=model, **settings):
                types = {"n": int}
                run(
                    "natural\n<:n>", lambda: (n,), writes="n", types=lambda: types, effects="answer"
                )
        except njrt.NaturalError as error:
            return error, watch.totals
    return n, watch.totals


def test_limits_of_a_block_count_every_call():
    model = Scripted([busy()] * 9)
    error, totals = ask_in_block(again(model, 9), max_calls=3)
    assert isinstance(error, CallLimitError)
    assert len(model.requests) == totals.calls == 3


def test_the_models_of_a_block_keep_its_time(ask):
    model = Scripted([busy()] * 99, delay=0.02)
    began = time.monotonic()
    with pytest.raises(ServerError):
        ask(again(model, 99), replace(PLAIN, seconds_left=0.3))
    assert time.monotonic() - began < HANG_SECONDS
    assert 2 <= len(model.requests) < 30
    assert all(request.seconds_left <= 0.3 for request in model.requests)


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
