"""Wrappers of models, retries and fallbacks, each alone."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

import njrt
from conversations import PLAIN, TOOLS
from njrt.block.session.run_block import run
from njrt.data.coroutines import run_without_waiting
from njrt.errors import (
    AuthenticationError,
    CallLimitError,
    ConfigurationError,
    ModelError,
    RejectedRequestError,
    ReplyError,
    ServerError,
)
from njrt.messages import CallAttempt, ModelMessage, Reply, Request, ToolCall, Usage
from njrt.models.choose import get_model
from njrt.models.retry_and_fallback import (
    FallbackModel,
    RetryModel,
    is_failure,
    is_server_failure,
    is_unusable_reply,
)
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


def busy(retry_after: float | None = None) -> ServerError:
    error = ServerError("busy")
    error.retry_after = retry_after
    return error


def list_outcomes(attempts: Iterable[CallAttempt]) -> list[str]:
    return [attempt.outcome for attempt in attempts]


# ── conditions ───────────────────────────────────────────────────────────────────────────────────────

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
STRUCTURED = replace(PLAIN, schema=SCHEMA)


def call(name: str = "run", arguments: Any = None, raw: str = "{}") -> Reply:
    return Reply(
        ModelMessage("", (ToolCall("1", name, {} if arguments is None else arguments, raw),))
    )


@pytest.mark.parametrize(
    ("request_", "result", "unusable"),
    [
        (PLAIN, reply("hi"), False),
        (PLAIN, reply(" \n"), True),
        (PLAIN, reply("hi", stop="length"), True),
        (PLAIN, reply("no", stop="refusal"), True),
        (STRUCTURED, reply('{"n": 3}'), False),
        (STRUCTURED, reply('```json\n{"n": 3}\n```'), False),
        (STRUCTURED, reply('{"n": "3"}'), True),
        (STRUCTURED, reply('{"n": 3, "m": 4}'), True),
        (STRUCTURED, reply('{"n": '), True),
        (STRUCTURED, reply("[]"), True),
        (STRUCTURED, call(raw='{"n": 3}'), False),
        (TOOLS, call(), False),
        (TOOLS, call("rm"), True),
        (TOOLS, Reply(ModelMessage("", (ToolCall("1", "run", None, "{"),))), True),
        (TOOLS, reply("I would rather talk"), True),
        (PLAIN, busy(), False),
        (PLAIN, AuthenticationError("no"), False),
    ],
)
def test_which_replies_cannot_be_used(request_, result, unusable):
    assert is_unusable_reply(request_, result) is unusable
    assert is_failure(request_, result) is (unusable or is_server_failure(request_, result))
    assert is_server_failure(request_, result) is isinstance(result, ServerError)


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
        with pytest.raises(ServerError):
            answer(RetryModel(model), PLAIN, calls)
    assert calls.waits == waits


def test_no_wait_is_begun_that_is_longer_than_the_run_has_left():
    calls, model = FakeCalls(), Scripted([busy(7.0), reply("up")])
    with pytest.raises(ServerError):
        answer(RetryModel(model), replace(PLAIN, seconds_left=5.0), calls)
    assert (calls.waits, len(model.requests)) == ([], 1)
    assert 4.0 < model.requests[0].timeout <= 5.0


@pytest.mark.parametrize(
    "error", [AuthenticationError("no"), RejectedRequestError("bad"), ReplyError("x")]
)
def test_other_errors_are_raised_at_once(error):
    model = Scripted([error, reply("up")])
    with pytest.raises(type(error)):
        answer(RetryModel(model))
    assert len(model.requests) == 1


def test_a_reply_that_cannot_be_used_is_asked_for_again_and_paid_for():
    calls, model = FakeCalls(), Scripted([reply(""), reply("", 0.02), reply("fine", 0.03)])
    request = replace(PLAIN, temperature=0.0)
    got = answer(RetryModel(model, when=is_failure), request, calls)
    assert got.usage == Usage(30, 15, 6, pytest.approx(0.06))
    assert list_outcomes(got.attempts) == ["unusable", "unusable", "used"]
    assert calls.waits == []
    assert [asked.temperature for asked in model.requests] == [0.0, 0.5, 0.5]


@pytest.mark.parametrize("last", [reply(""), busy(), AuthenticationError("no")])
def test_if_nothing_better_comes_the_last_reply_is_returned_and_no_call_is_lost(last):
    got = answer(RetryModel(Scripted([reply(" "), last]), attempts=2, when=is_failure))
    assert got.message.text.strip() == ""
    assert len(got.attempts) == 2
    assert got.usage.input == 10 * sum(isinstance(result, Reply) for result in (reply(" "), last))


def test_an_unknown_price_makes_the_whole_unknown():
    got = answer(RetryModel(Scripted([reply("", None), reply("x")]), when=is_failure))
    assert got.usage.usd is None


def test_one_call_leaves_the_reply_as_it_is():
    assert answer(RetryModel(Scripted([reply("hi")]))).attempts == ()


def test_a_condition_of_the_program():
    def is_rude(request: Request, result: Reply | ModelError) -> bool:
        return isinstance(result, Reply) and "rude" in result.message.text

    got = answer(RetryModel(Scripted([reply("rude"), reply("kind")]), when=is_rude))
    assert got.message.text == "kind"


# ── fallbacks ────────────────────────────────────────────────────────────────────────────────────────


def test_a_reply_that_cannot_be_used_leads_to_the_next_model():
    small, large = Scripted([reply("")], name="small"), Scripted([reply("fine")], name="large")
    got = answer(FallbackModel((small, large), when=is_failure))
    assert (got.message.text, got.usage.input) == ("fine", 20)
    assert [(attempt.model, attempt.outcome) for attempt in got.attempts] == [
        ("m", "unusable"),
        ("m", "used"),
    ]
    assert answer(FallbackModel((Scripted([reply("")]), large))).message.text == ""


def test_the_next_model_goes_on_where_the_outputs_of_one_have_failed():
    """The first block has two turns for each model; what the program refuses counts as a turn."""
    replies = {"small": ["n = three"] * 9, "middle": ["n = drei"] * 9, "large": ["n = 3"]}
    models = [
        Scripted([njrt.testing.run(code, True) for code in codes], name=name)
        for name, codes in replies.items()
    ]
    n = None
    with njrt.using(model=FallbackModel(models, turns=2)), njrt.watch() as watch:
        run("natural\nPut 3 into <:n>.", lambda: (n,), writes="n", types=lambda: {"n": int})
    assert n == 3
    assert [len(model.requests) for model in models] == [2, 2, 1]
    assert watch.totals.calls == 5


def test_a_later_error_does_not_hide_an_earlier_reply():
    got = answer(
        FallbackModel(
            (Scripted([reply("cut", stop="length")]), Scripted([busy()])), when=is_failure
        )
    )
    assert (got.message.text, got.stop) == ("cut", "length")
    assert list_outcomes(got.attempts) == ["used", "ServerError"]


# ── in a block ───────────────────────────────────────────────────────────────────────────────────────


def test_attempts_are_in_the_trace_and_their_costs_in_the_accounts(tmp_path):
    path = tmp_path / "trace.jsonl"
    model = RetryModel(
        Scripted([reply(""), reply("cut", stop="length"), reply('{"n": 2}')]), when=is_failure
    )
    n = None
    with njrt.using(model=model, trace=path, max_usd=1), njrt.watch() as watch:
        run("natural\n<:n>", lambda: (n,), writes="n", types=lambda: {"n": int}, effects="answer")
    assert n == 2
    assert (watch.totals.calls, watch.totals.input_tokens) == (3, 30)
    assert watch.totals.usd == pytest.approx(0.03)
    (replied,) = [json.loads(line) for line in path.read_text().splitlines() if '"replied"' in line]
    outcomes = [attempt["outcome"] for attempt in replied["reply"]["attempts"]]
    assert outcomes == ["unusable", "unusable", "used"]


def test_a_recording_of_attempts_is_replayed_without_a_call(tmp_path):
    path = tmp_path / "recording.jsonl"
    model = RetryModel(Scripted([reply(""), reply('{"n": 2}')]), when=is_failure)
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
        lambda: FallbackModel((Scripted([]),), turns=0),
        lambda: RetryModel(Scripted),
        lambda: RetryModel(Scripted([]), attempts="3"),
        lambda: FallbackModel([Scripted([])], turns="3"),
        lambda: get_model("nosuch/model"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make):
    with pytest.raises(ConfigurationError):
        make()


def test_many_attempts_end_with_the_error_of_the_server():
    model = RetryModel(Scripted([busy()] * 1100), attempts=1100, first_wait=0)
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
    model = Scripted([reply("")] * 9)
    error, totals = ask_in_block(RetryModel(model, attempts=9, when=is_failure), max_calls=3)
    assert isinstance(error, CallLimitError)
    assert len(model.requests) == totals.calls == 3


def test_the_cost_of_failed_calls_counts_too():
    model = RetryModel(Scripted([reply("")] * 3), attempts=3, when=is_failure)
    with njrt.limit(usd=1) as meter:
        error, totals = ask_in_block(model, max_calls=3)
    assert isinstance(error, CallLimitError)
    assert meter.spent().usd == pytest.approx(0.03)
    assert meter.spent().tokens == 45
    assert (totals.calls, totals.usd) == (3, pytest.approx(0.03))


def test_a_budget_is_looked_at_before_each_call():
    model = Scripted([reply("", 0.4)] * 9)
    error, _ = ask_in_block(RetryModel(model, attempts=9, when=is_failure), max_usd=1.0)
    assert isinstance(error, njrt.CostLimitError)
    assert len(model.requests) == 3


def test_retries_of_a_block_keep_its_time(ask):
    model = Scripted([busy()] * 99, delay=0.02)
    began = time.monotonic()
    with pytest.raises(ServerError):
        ask(
            RetryModel(model, attempts=99, first_wait=0.1, longest_wait=0.1),
            replace(PLAIN, seconds_left=1.0),
        )
    assert time.monotonic() - began < HANG_SECONDS
    assert 2 <= len(model.requests) < 30
    assert all(request.seconds_left <= 1.0 for request in model.requests)


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
