"""Wrappers of models: retries, fallbacks, votes, circuit breakers and rate limits, each alone."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

import njrt
from conversations import PLAIN, RUN, TOOLS
from njrt.errors import (
    AuthenticationError,
    CallLimitError,
    ConfigurationError,
    ModelError,
    NotAskedError,
    RejectedRequestError,
    ReplyError,
    ServerError,
)
from njrt.messages import CallAttempt, ModelMessage, Reply, Request, ToolCall, Usage
from njrt.models.breaker import BreakerModel
from njrt.models.cascade import CascadeModel
from njrt.models.choose import get_model
from njrt.models.model import run_without_waiting
from njrt.models.rate_limit import PARTS, RateLimitModel, Window, estimate_prompt_tokens
from njrt.models.retry_and_fallback import (
    FallbackModel,
    RetryModel,
    is_failure,
    is_server_failure,
    is_unusable_reply,
)
from njrt.models.scripted import Scripted
from njrt.models.vote import VoteModel
from njrt.models.wrapped import WrappedModel
from njrt.persistence.memory_store import MemoryStore
from njrt.session.run_block import run
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

    async def run(self, function: Any) -> Any:
        return function()

    async def gather(self, coroutines: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
        return [run_without_waiting(coroutine) for coroutine in coroutines]


def answer(model: WrappedModel, request: Request = PLAIN, calls: FakeCalls | None = None) -> Reply:
    return run_without_waiting(model.answer(request, calls or FakeCalls()))


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


def test_a_failing_server_is_asked_again_after_longer_and_longer_waits():
    calls, model = FakeCalls(), Scripted([busy(), busy(), busy(), reply("up")])
    got = answer(RetryModel(model, attempts=4, chance=lambda: 0.0), PLAIN, calls)
    assert (got.message.text, calls.waits) == ("up", [0.5, 1.0, 2.0])
    assert list_outcomes(got.attempts) == ["ServerError", "ServerError", "ServerError", "used"]
    assert got.usage == Usage(10, 5, 2, 0.01)


def test_waits_vary_and_have_an_end():
    calls, model = FakeCalls(), Scripted([busy()] * 9)
    with pytest.raises(ServerError) as caught:
        answer(RetryModel(model, attempts=9, longest_wait=3.0, chance=lambda: 1.0), PLAIN, calls)
    assert calls.waits == [0.25, 0.5, 1.0, 1.5, 1.5, 1.5, 1.5, 1.5]
    assert len(caught.value.attempts) == 9


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
        Scripted([njrt.models.scripted.run(code, True) for code in codes], name=name)
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


# ── votes ────────────────────────────────────────────────────────────────────────────────────────────

VOTES: list[tuple[Request, list[Any], str, float]] = [
    (STRUCTURED, [reply('{"n": 1}'), reply('{"n":2}'), reply('{ "n": 2.0 }')], '{"n":2}', 0.6667),
    (STRUCTURED, [reply('{"n": 1}'), reply('{"n": 2}'), reply('{"n": 3}')], '{"n": 1}', 0.3333),
    (STRUCTURED, [reply("oops"), reply("oops"), reply('{"n": 3}')], '{"n": 3}', 0.3333),
    (STRUCTURED, [reply("a"), reply("b"), reply("b")], "b", 0.6667),
    (STRUCTURED, [busy(), reply('{"n": 3}'), reply('{"n": 3}')], '{"n": 3}', 0.6667),
    (PLAIN, [reply("```python\nx = 1\n```"), reply("So:\n```python\nx=1 # one\n```"), reply("x")], "```python\nx = 1\n```", 0.6667),
    (PLAIN, [reply("yes"), reply(" no"), reply("no ")], " no", 0.6667),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "results", "winner", "agreement"), VOTES)
def test_the_reply_that_most_agree_on_wins(request_, results, winner, agreement):
    got = answer(VoteModel(Scripted(results), len(results)), request_)
    assert (got.message.text, got.agreement) == (winner, agreement)
    assert len(got.attempts) == len(results)
    assert got.usage.input == 10 * sum(isinstance(result, Reply) for result in results)
    assert list_outcomes(got.attempts).count("used") == 1


ANSWERS = {"anyOf": [SCHEMA, {"type": "object", "required": ["raise"]}, {"type": "object", "required": ["needs_code"]}]}  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "agree"),
    [
        (
            '{"raise": "ValueError", "message": "a"}',
            '{"raise": "ValueError", "message": "b"}',
            True,
        ),
        ('{"raise": "ValueError"}', '{"raise": "KeyError"}', False),
        ('{"needs_code": "it is long"}', '{"needs_code": "numbers"}', True),
        ('{"n": 1}', '{"raise": "ValueError"}', False),
        ('{"n": 1e0}', '{"n": 1}', True),
    ],
)
def test_answers_agree_as_data(first, second, agree):
    got = answer(
        VoteModel(Scripted([reply(first), reply(second)]), 2), replace(PLAIN, schema=ANSWERS)
    )
    assert (got.agreement == 1.0) is agree


def test_calls_agree_by_their_arguments():
    def say(code: str) -> Reply:
        arguments = {"code": code, "done": True}
        return Reply(ModelMessage("", (ToolCall(code, "run", arguments, json.dumps(arguments)),)))

    same = [say("x = 2"), say("x = 1"), say("x=1  # one"), say("(x) = 1")]
    assert answer(VoteModel(Scripted(same), 4), TOOLS).agreement == 0.75
    assert RUN.name == "run"


def test_a_quorum_that_is_not_reached_is_an_error_with_all_calls():
    with pytest.raises(ReplyError, match="only 1 of 3 replies agree") as caught:
        answer(VoteModel(Scripted([reply("a"), reply("b"), reply("c")]), quorum=2))
    assert sum(attempt.usage.input for attempt in caught.value.attempts) == 30


def test_if_all_fail_the_first_error_is_raised():
    with pytest.raises(AuthenticationError) as caught:
        answer(VoteModel(Scripted([AuthenticationError("no"), busy(), busy()])))
    assert len(caught.value.attempts) == 3


@pytest.mark.parametrize(
    ("asked", "given", "models", "sent"),
    [(0.0, None, 3, 0.7), (0.9, None, 3, 0.9), (None, None, 3, None), (0.0, 0.2, 3, 0.2), (0.0, None, 1, 0.0)],
)  # fmt: skip
def test_one_model_is_asked_at_a_temperature(asked, given, models, sent):
    model = Scripted([reply("a")] * 3)
    answer(VoteModel(model, models, temperature=given), replace(PLAIN, temperature=asked))
    assert {request.temperature for request in model.requests} == {sent}


def test_different_models_are_asked_as_they_are():
    models = [Scripted([reply("a")]), Scripted([reply("a")])]
    assert answer(VoteModel(models), replace(PLAIN, temperature=0.0)).agreement == 1.0
    assert models[0].requests[0].temperature == 0.0


def test_votes_are_asked_at_the_same_time(ask):
    """Each waits for the others: one after the other none would ever reply."""
    together = threading.Barrier(3)

    class Waiting(Scripted):
        def ask(self, request: Request) -> Reply:
            together.wait(HANG_SECONDS)
            return super().ask(request)

        async def aask(self, request: Request) -> Reply:
            await asyncio.to_thread(together.wait, HANG_SECONDS)
            return await super().aask(request)

    assert ask(VoteModel(Waiting([reply("a")] * 3)), PLAIN).agreement == 1.0


def test_the_agreement_is_in_the_trace_and_calls_and_costs_in_the_accounts(tmp_path):
    path, model = (
        tmp_path / "trace.jsonl",
        Scripted([reply('{"n": 1}'), reply('{"n": 2}'), reply('{"n": 2}')]),
    )
    n = None
    with njrt.using(model=VoteModel(model), trace=path, max_usd=1), njrt.watch() as watch:
        run("natural\n<:n>", lambda: (n,), writes="n", types=lambda: {"n": int}, effects="answer")
    assert n == 2
    assert (watch.totals.calls, watch.totals.input_tokens) == (3, 30)
    assert watch.totals.usd == pytest.approx(0.03)
    (replied,) = [json.loads(line) for line in path.read_text().splitlines() if '"replied"' in line]
    assert replied["reply"]["agreement"] == 0.6667
    outcomes = sorted(attempt["outcome"] for attempt in replied["reply"]["attempts"])
    assert outcomes == ["outvoted", "outvoted", "used"] or outcomes == ["outvoted", "used", "used"]


def test_a_recording_of_a_vote_is_replayed_without_a_call(tmp_path):
    path = tmp_path / "vote.jsonl"

    def decide(**settings: Any) -> Any:
        n = None
        with njrt.using(record=path, **settings), njrt.watch() as watch:
            run(
                "natural\n<:n>",
                lambda: (n,),
                writes="n",
                types=lambda: {"n": int},
                effects="answer",
            )
        return n, watch.totals.calls, watch.runs[0].calls[0].reply.agreement

    model = VoteModel(Scripted([reply('{"n": 2}')] * 3))
    assert decide(model=model) == (2, 3, 1.0)
    assert decide(mode="none") == (2, 1, 1.0)


# ── circuit breakers ─────────────────────────────────────────────────────────────────────────────────


@dataclass
class Clock:
    time: float = 0.0

    def __call__(self) -> float:
        return self.time


def test_a_breaker_opens_tries_and_closes():
    clock, model = Clock(), Scripted([busy(), busy(), busy(), reply("up"), busy(), reply("up")])
    breaker = BreakerModel(model, failures=2, seconds=30, clock=clock)
    for state in ("closed", "open"):
        with pytest.raises(ServerError):
            answer(breaker)
        assert breaker.state == state
    with pytest.raises(
        NotAskedError, match=r"failed 2 times in a row; it is tried again in 30.0 s"
    ) as caught:
        answer(breaker)
    assert (caught.value.retry_after, len(model.requests)) == (30, 2)
    clock.time = 30
    assert breaker.state == "half open"
    with pytest.raises(ServerError, match="busy"):
        answer(breaker)
    assert breaker.state == "open"
    clock.time = 60
    assert answer(breaker).message.text == "up"
    assert breaker.state == "closed"
    with pytest.raises(ServerError, match="busy"):
        answer(breaker)
    assert answer(breaker).message.text == "up"


@pytest.mark.parametrize("error", [AuthenticationError("no"), RejectedRequestError("bad")])
def test_a_server_that_rejects_a_request_works(error):
    breaker = BreakerModel(Scripted([busy(), error, busy(), reply("up")]), failures=2)
    for _ in range(3):
        with pytest.raises(ModelError):
            answer(breaker)
    assert answer(breaker).message.text == "up"


def test_of_many_threads_one_tries():
    clock, asked, go = Clock(), threading.Semaphore(0), threading.Event()

    def try_once(request: Request) -> Reply:
        if clock.time == 0:
            raise busy()
        asked.release()
        go.wait(HANG_SECONDS)
        return reply("up")

    model = Scripted(try_once)
    breaker, refused = BreakerModel(model, failures=1, seconds=1, clock=clock), []
    with pytest.raises(ServerError):
        breaker.ask(PLAIN)
    clock.time = 2

    def ask() -> None:
        try:
            breaker.ask(PLAIN)
        except NotAskedError as error:
            refused.append(str(error))

    first = threading.Thread(target=ask)
    first.start()
    assert asked.acquire(timeout=HANG_SECONDS)
    others = [threading.Thread(target=ask) for _ in range(5)]
    for thread in others:
        thread.start()
    for thread in others:
        thread.join(HANG_SECONDS)
    go.set()
    first.join(HANG_SECONDS)
    assert len(refused) == 5
    assert all("it is being tried" in text for text in refused)
    assert (len(model.requests), breaker.state) == (2, "closed")


def test_a_cancelled_try_leaves_the_way_free_for_another():
    async def go() -> None:
        clock, hang = Clock(), True

        class Slow(Scripted):
            async def aask(self, request: Request) -> Reply:
                if clock.time == 0:
                    raise busy()
                if hang:
                    await asyncio.sleep(60)
                return reply("up")

        breaker = BreakerModel(Slow([]), failures=1, seconds=1, clock=clock)
        with pytest.raises(ServerError):
            await breaker.aask(PLAIN)
        clock.time = 2
        task = asyncio.create_task(breaker.aask(PLAIN))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        hang = False
        assert (await breaker.aask(PLAIN)).message.text == "up"

    asyncio.run(go())


# ── rate limits ──────────────────────────────────────────────────────────────────────────────────────


@dataclass
class FakeStore(MemoryStore):
    """A store with the clock of the fake calls."""

    def __init__(self, calls: FakeCalls) -> None:
        super().__init__()
        self.now = lambda: calls.time  # type: ignore[method-assign]


def test_a_request_beyond_the_limit_waits():
    calls, model = FakeCalls(), Scripted([reply("a")] * 9)
    limited = RateLimitModel(model, requests=3, store=FakeStore(calls))
    request = replace(PLAIN, timeout=100)
    for _ in range(3):
        answer(limited, request, calls)
    assert calls.waits == []
    began = calls.time
    answer(limited, request, calls)
    assert 60 <= calls.time - began <= 66


@pytest.mark.parametrize("seconds_left", [None, 30.0])
def test_a_wait_that_is_too_long_is_not_begun(seconds_left):
    calls, model = FakeCalls(), Scripted([reply("a")] * 9)
    limited = RateLimitModel(model, requests=1, store=FakeStore(calls))
    request = replace(PLAIN, timeout=20, seconds_left=seconds_left)
    answer(limited, request, calls)
    with pytest.raises(
        NotAskedError, match="the limit of 1 requests in 60 s is used up for"
    ) as caught:
        answer(limited, request, calls)
    assert caught.value.retry_after == pytest.approx(61, abs=1)
    assert (calls.waits, len(model.requests)) == ([], 1)


@pytest.mark.parametrize("seed", range(6))
def test_in_no_minute_are_there_more_calls_or_tokens(seed):
    """Calls of random length at random times, with an agreement on the tokens that holds: a reply uses at most its limit."""
    import random

    chance = random.Random(seed)
    calls, log = FakeCalls(time=chance.uniform(1e9, 2e9)), []

    def use(request: Request) -> Reply:
        used = chance.randrange(request.max_reply_tokens)
        log.append((calls.time, estimate_prompt_tokens(request) + used))
        if chance.random() < 0.1:
            raise busy()
        return Reply(ModelMessage("x"), usage=Usage(estimate_prompt_tokens(request), used))

    requests, tokens = chance.randrange(2, 20), chance.randrange(1_000, 20_000)
    limited = RateLimitModel(
        Scripted(use), requests=requests, tokens=tokens, store=FakeStore(calls)
    )
    for _ in range(150):
        size = chance.randrange(1, 300)
        request = Request("x" * size, PLAIN.messages, max_reply_tokens=size + 1, timeout=1e6)
        with contextlib.suppress(ServerError):
            answer(limited, request, calls)
        calls.time += chance.choice((0, 0, 0.1, 1, 20, 70))
    for start, _ in log:
        within = [used for at, used in log if start <= at < start + 60]
        assert len(within) <= requests
        assert sum(within) <= tokens


def test_what_was_reserved_is_given_back_or_settled():
    calls = FakeCalls()
    store = FakeStore(calls)
    script = [reply("a"), busy(), NotAskedError("open"), KeyError("bug")]
    limited = RateLimitModel(Scripted(script), requests=9, tokens=90_000, key="k", store=store)
    prompt = estimate_prompt_tokens(PLAIN)
    for error in (None, ServerError, NotAskedError, KeyError):
        if error is None:
            answer(limited, PLAIN, calls)
        else:
            with pytest.raises(error):
                answer(limited, PLAIN, calls)
    (counts,) = json.loads(store.get("rate/k")).values()
    assert counts == [3, 15 + 2 * prompt, 0]


@pytest.mark.parametrize("usage", [Usage(), Usage(-5, 20)])
def test_a_reply_without_counts_counts_an_estimate(usage):
    class Uncounted:
        name, protocol = "m", "text"

        def ask(self, request):
            return Reply(ModelMessage("a" * 300, (ToolCall("1", "run", {}, "{}"),)), usage=usage)

        async def aask(self, request):
            return self.ask(request)

    calls = FakeCalls()
    store = FakeStore(calls)
    limited = RateLimitModel(Uncounted(), tokens=90_000, key="k", store=store)
    answer(limited, PLAIN, calls)
    (counts,) = json.loads(store.get("rate/k")).values()
    used = 302 // 3
    assert counts == [1, estimate_prompt_tokens(PLAIN) + used, 0]


def test_a_limit_smaller_than_a_reply_lets_calls_through_one_by_one():
    calls = FakeCalls()
    model = Scripted([Reply(ModelMessage("a"), usage=Usage(100, 50))] * 9)
    limited = RateLimitModel(model, tokens=1_000, store=FakeStore(calls))
    for _ in range(6):
        answer(limited, replace(PLAIN, timeout=1e6), calls)
    assert calls.waits == []


def test_a_clock_that_is_set_back_does_not_stop_the_calls():
    calls = FakeCalls()
    limited = RateLimitModel(Scripted([reply("a")] * 9), requests=2, store=FakeStore(calls))
    request = replace(PLAIN, timeout=100)
    answer(limited, request, calls)
    calls.time -= 86_400
    for _ in range(4):
        answer(limited, request, calls)
    assert sum(calls.waits) < 140


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"1": 2}', '{"a": [1, 2, 3]}', '{"1": [1, 2]}', "null", '{"1": ["x", 1, 1]}'],
)
def test_an_entry_of_another_version_is_begun_anew(text):
    window = Window(text, 1_000.0, 60.0)
    assert window.parts == {}
    window.change(window.number, 1, 2, 3)
    assert Window(window.format(), 1_000.0 + PARTS, 60.0).parts[1_000].calls == 1
    assert Window(window.format(), 1_001.0 + PARTS, 60.0).parts == {}


def test_processes_share_a_limit(tmp_path):
    """Eight calls of four processes at three in a second take at least two seconds: they cannot take less."""
    store = f"sqlite:///{tmp_path}/store.sqlite3"
    code = (
        "import sys, time\n"
        "from njrt.models import RateLimitModel, Scripted\n"
        "from njrt.messages import Request, UserMessage\n"
        "request = Request('', (UserMessage('x'),), timeout=100)\n"
        f"model = RateLimitModel(Scripted(['a'] * 2), requests=3, seconds=1.0, store={store!r})\n"
        "print(time.time(), flush=True)\n"
        "for _ in range(2): model.ask(request)\n"
        "print(time.time())\n"
    )
    command = [sys.executable, "-c", code]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    times = [
        float(line) for process in running for line in process.communicate(timeout=100)[0].split()
    ]
    assert len(times) == 8
    assert max(times) - min(times) >= 2.0


def test_threads_share_a_limit_and_a_store(tmp_path):
    model = Scripted(["a"] * 40)
    limited = RateLimitModel(model, requests=40, store=f"sqlite:///{tmp_path}/store.sqlite3")
    threads = [
        threading.Thread(target=lambda: [limited.ask(PLAIN) for _ in range(5)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
    assert len(model.requests) == 40
    with pytest.raises(NotAskedError):
        limited.ask(replace(PLAIN, timeout=0.1))


# ── all of them ──────────────────────────────────────────────────────────────────────────────────────


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
        lambda: VoteModel(Scripted([]), 0),
        lambda: VoteModel((), 3),
        lambda: VoteModel(Scripted([]), 3, quorum=4),
        lambda: VoteModel(None),
        lambda: BreakerModel(Scripted([]), failures=0),
        lambda: BreakerModel(Scripted([]), seconds=-1),
        lambda: RateLimitModel(Scripted([])),
        lambda: RateLimitModel(Scripted([]), requests=0),
        lambda: RateLimitModel(Scripted([]), requests=1, seconds=0),
        lambda: RateLimitModel(Scripted([]), requests=1, seconds=float("nan")),
        lambda: RateLimitModel(Scripted([]), requests=1, seconds=float("inf")),
        lambda: RetryModel(Scripted),
        lambda: RetryModel(Scripted([]), attempts="3"),
        lambda: BreakerModel(Scripted([]), failures="3"),
        lambda: VoteModel(Scripted([]), 2.5),
        lambda: RateLimitModel(Scripted([]), requests="3"),
        lambda: RateLimitModel(Scripted([]), requests=2.5),
        lambda: FallbackModel([Scripted([])], turns="3"),
        lambda: CascadeModel(Scripted([]), Scripted([]), "x"),
        lambda: CascadeModel(Scripted([]), Scripted([]), 90),
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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_of_a_fork_does_not_wait_for_the_probe_of_its_parent():
    clock, codes = Clock(), []

    def fork_while_trying(request: Request) -> Reply:
        if clock.time == 0:
            raise busy()
        if not codes:
            child = os.fork()
            if child == 0:
                codes.append(0)
                os._exit(0 if breaker.ask(PLAIN).message.text == "up" else 1)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        return reply("up")

    breaker = BreakerModel(Scripted(fork_while_trying), failures=1, seconds=1, clock=clock)
    with pytest.raises(ServerError):
        breaker.ask(PLAIN)
    clock.time = 2
    assert breaker.ask(PLAIN).message.text == "up"
    assert codes == [0]


def test_a_store_that_is_none_is_refused_when_it_is_needed():
    with pytest.raises(ConfigurationError):
        RateLimitModel(Scripted(["a"]), requests=1, store="ftp://example.org/").ask(PLAIN)


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
    """Three calls are allowed: of the second vote none is made."""
    model = Scripted([reply('{"n": "x"}')] * 9)
    error, totals = ask_in_block(VoteModel(model), max_calls=3)
    assert isinstance(error, CallLimitError)
    assert len(model.requests) == totals.calls == 3


def test_the_cost_of_failed_calls_counts_too():
    model = Scripted([reply("a"), reply("b"), reply("c")])
    with njrt.limit(usd=1) as meter:
        error, totals = ask_in_block(VoteModel(model, quorum=2))
    assert isinstance(error, ReplyError)
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
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\nTrue\n"
    with pytest.raises(AttributeError):
        _ = njrt.models.Nothing
