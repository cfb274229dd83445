"""Wrappers of models in every order, under generated faults: no call is lost or counted twice, and limits hold."""

from __future__ import annotations

import asyncio
import itertools
import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

import njrt
from conversations import PLAIN
from loopback import Hang, Status, Stream
from njrt.messages import ModelMessage, Protocol, Reply, Request, Usage
from njrt.models.model import Model
from njrt.models.openai import OpenAI
from njrt.models.retry_and_fallback import FallbackModel, RetryModel
from njrt.models.server import read_retry_after
from openai_server import KEY, OpenAIServer, says

pytest.importorskip("openai")


@dataclass
class Faulty:
    """A model whose results come from a script; it counts what it was really asked, and what that cost."""

    script: Sequence[str]
    name: str = "faulty"
    protocol: Protocol = "text"
    asked: list[Request] = field(default_factory=list)
    tokens: int = 0
    steps: int = 0
    """How often an asynchronous call waits before it replies."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def ask(self, request: Request) -> Reply:
        with self._lock:
            kind = self.script[len(self.asked) % len(self.script)]
            self.asked.append(request)
            usage = Usage(7 + len(self.asked), 3, usd=0.5)
            if kind in ("good", "other", "empty", "cut"):
                self.tokens += usage.input + usage.output
        match kind:
            case "good" | "other":
                return Reply(ModelMessage(kind), usage=usage, model=self.name)
            case "empty":
                return Reply(ModelMessage(" "), usage=usage, model=self.name)
            case "cut":
                return Reply(ModelMessage("go"), "length", usage, self.name)
            case "busy":
                raise njrt.ServerError("busy")
            case "wait":
                error = njrt.ServerError("wait")
                error.retry_after = 0.001
                raise error
            case "key":
                raise njrt.AuthenticationError("wrong key")
            case "bad":
                raise njrt.RejectedRequestError("bad request")
        raise AssertionError(kind)

    async def aask(self, request: Request) -> Reply:
        for _ in range(self.steps):
            await asyncio.sleep(0)
        return self.ask(request)


KINDS = ("good", "good", "other", "empty", "cut", "busy", "busy", "wait", "key", "bad")
"""What a call may give."""

Wrap = Callable[[Model, list[Model]], Model]
WRAPPERS: dict[str, Wrap] = {
    "retry": lambda model, spare: RetryModel(model, attempts=3, first_wait=0.0),
    "fallback": lambda model, spare: FallbackModel((model, *spare)),
}


def compose(names: Sequence[str], model: Model, spare: list[Model]) -> Model:
    """Return the model inside the named wrappers, the last of them outermost."""
    for name in names:
        model = WRAPPERS[name](model, spare)
    return model


@dataclass
class CallLimit:
    """The limit of a run: how many calls may be made, and how often it was asked."""

    most: int = 10**9
    calls: int = 1
    used: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def count(self, used: Usage) -> float:
        with self._lock:
            self.used = max(self.used, used.input + used.output)
            if self.calls >= self.most:
                raise njrt.CallLimitError("no more calls")
            self.calls += 1
        return 60.0


def check_counts(
    result: Reply | njrt.NaturalError, leaves: Sequence[Faulty], limit: CallLimit
) -> None:
    """Every call of the leaves is in the result once, with what it used, and none besides."""
    made = sum(len(leaf.asked) for leaf in leaves)
    tokens = sum(leaf.tokens for leaf in leaves)
    attempts = result.attempts
    if isinstance(result, Reply):
        assert max(1, len(attempts)) == made
        assert result.usage.input + result.usage.output == tokens
        assert result.usage.usd is not None
        if attempts:
            assert sum(attempt.outcome == "used" for attempt in attempts) >= 1
    elif attempts or not isinstance(result, njrt.ModelError):
        assert len(attempts) == made
    else:
        assert made <= 1
    assert sum(attempt.usage.input + attempt.usage.output for attempt in attempts) in (0, tokens)
    assert made <= limit.most
    assert limit.calls >= made
    assert limit.used <= tokens


def ask_sync(model: Model, request: Request) -> Reply | njrt.NaturalError:
    try:
        return model.ask(request)
    except njrt.NaturalError as error:
        return error


def ask_async(model: Model, request: Request) -> Reply | njrt.NaturalError:
    async def go() -> Reply | njrt.NaturalError:
        try:
            result: Reply | njrt.NaturalError = await model.aask(request)
        except njrt.NaturalError as error:
            result = error
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    return asyncio.run(go())


ORDERS = [names for count in range(1, 4) for names in itertools.product(WRAPPERS, repeat=count)]


@pytest.mark.parametrize("ask", [ask_sync, ask_async])
def test_in_every_order_each_call_is_counted_once(ask):
    """All orders of up to three wrappers, each many times with faults of its own and a limit of calls."""
    chance = random.Random(11)
    outcomes: set[str] = set()
    for names in ORDERS * 25:
        leaves = [
            Faulty([chance.choice(KINDS) for _ in range(chance.randrange(1, 9))], name)
            for name in ("first", "second")
        ]
        limit = CallLimit(chance.choice((1, 2, 3, 5, 100)))
        model = compose(names, leaves[0], [leaves[1]])
        request = replace(PLAIN, before_call=limit.count)
        result = ask(model, request)
        outcomes.add(type(result).__name__)
        try:
            check_counts(result, leaves, limit)
        except AssertionError as error:
            scripts = [leaf.script for leaf in leaves]
            raise AssertionError(f"{names} {scripts} {limit}: {result!r}") from error
    assert outcomes >= {"Reply", "CallLimitError", "AuthenticationError", "RejectedRequestError"}


def test_threads_and_tasks_share_wrappers_without_losing_a_call():
    """One stack of wrappers, many threads and event loops: the sums are those of the calls."""
    chance = random.Random(5)
    leaf = Faulty([chance.choice(KINDS[:8]) for _ in range(97)], steps=2)
    retried = RetryModel(leaf, attempts=4, first_wait=0)
    model = FallbackModel((retried, retried))
    results: list[Reply | njrt.NaturalError] = []

    async def ask_many() -> None:
        asked = [model.aask(PLAIN) for _ in range(5)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        results.extend(item for item in found if isinstance(item, Reply | njrt.NaturalError))

    def work(number: int) -> None:
        if number % 2:
            asyncio.run(ask_many())
        else:
            results.extend(ask_sync(model, PLAIN) for _ in range(5))

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(6)))
    assert len(results) == 30
    made = [
        [attempt.usage for attempt in result.attempts] or [getattr(result, "usage", Usage())]
        for result in results
    ]
    assert sum(len(usages) for usages in made) == len(leaf.asked)
    assert sum(usage.input + usage.output for usages in made for usage in usages) == leaf.tokens


@pytest.mark.parametrize("names", [("retry",), ("fallback", "retry"), ("retry", "fallback")])
def test_a_cancellation_at_any_await_leaves_nothing_behind(names):
    """The call is cancelled after each number of steps; then the same wrappers answer."""

    async def cancel_after(steps: int) -> bool:
        leaf = Faulty(["busy", "good", "empty", "good"], steps=3)
        model = compose(names, leaf, [Faulty(["good"], steps=1)])
        task = asyncio.create_task(model.aask(PLAIN))
        for _ in range(steps):
            await asyncio.sleep(0)
        was_done = task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        asked = len(leaf.asked)
        leaf.script = ["good"]
        assert (await model.aask(PLAIN)).message.text == "good"
        assert len(leaf.asked) > asked
        return was_done

    cancelled = 0
    for steps in range(200):
        if asyncio.run(cancel_after(steps)):
            break
        cancelled += 1
    assert cancelled > 3


@pytest.mark.parametrize("wanted", [-1e9, -0.0, 0.0, 1e-9, 1e9, float("inf")])
@pytest.mark.parametrize("names", [("retry",), ("fallback", "retry"), ("retry", "fallback")])
@pytest.mark.parametrize("ask", [ask_sync, ask_async])
def test_an_absurd_wait_is_no_wait_or_an_error(ask, names, wanted):
    class Busy(Faulty):
        def ask(self, request: Request) -> Reply:
            if len(self.asked) % 2:
                return super().ask(request)
            self.asked.append(request)
            error = njrt.ServerError("busy")
            error.retry_after = wanted
            raise error

    leaf = Busy(["good"])
    result = ask(compose(names, leaf, []), PLAIN)
    assert isinstance(result, Reply if wanted < 1 else njrt.ServerError), result
    assert max(1, len(result.attempts)) == len(leaf.asked)


RETRY_AFTER = [
    ({"retry-after": "7"}, 7.0),
    ({"retry-after": "-7"}, 0.0),
    ({"retry-after": "1e400"}, None),
    ({"retry-after": "nan"}, None),
    ({"retry-after": "soon"}, None),
    ({"retry-after": ""}, None),
    ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, None),
]


@pytest.mark.parametrize(("headers", "seconds"), RETRY_AFTER)
def test_how_a_server_says_when_to_ask_again(headers, seconds):
    failure: Any = SimpleNamespace(response=SimpleNamespace(headers=headers))
    assert read_retry_after(failure) == seconds


# ── with a server ────────────────────────────────────────────────────────────────────────────────────

CUT = Stream([{"id": "1", "model": "gpt-4.1", "choices": [{"index": 0, "delta": {"content": "go"}}]}], then="cut")  # fmt: skip
ANSWER = says("good")


def test_a_call_that_takes_too_long_is_one_call():
    with OpenAIServer([ANSWER, Hang(), *[ANSWER] * 3]) as server:
        inner = OpenAI("gpt-4.1", vendor_url=server.base_url, key=KEY, retries=0)
        inner.ask(PLAIN)  # connects
        result = RetryModel(inner, first_wait=0).ask(replace(PLAIN, timeout=2))
        *failed, used = [attempt.outcome for attempt in result.attempts]
        assert failed
        assert {*failed, used} == {"ServerError", "used"}
        assert len(server.seen) <= 1 + len(result.attempts)


def test_a_stream_that_breaks_off_and_the_whole_reply_are_two_calls():
    with OpenAIServer([CUT, ANSWER]) as server:
        inner = OpenAI("gpt-4.1", vendor_url=server.base_url, key=KEY, retries=0)
        result = RetryModel(inner).ask(replace(PLAIN, on_text=lambda text: None))
        outcomes = [attempt.outcome for attempt in result.attempts]
        assert (result.message.text, len(server.seen)) == ("good", 2)
        assert outcomes == ["ServerError", "used"]


def test_the_wait_that_a_server_wants_reaches_the_retry():
    script = [Status(429, retry_after=5, body={}), Status(503, retry_after=0.25, body={})]
    with OpenAIServer(script) as server:
        model = OpenAI("gpt-4.1", vendor_url=server.base_url, key=KEY, retries=0)
        for seconds in (5, 0.25):
            with pytest.raises(njrt.ServerError) as caught:
                model.ask(PLAIN)
            assert caught.value.retry_after == seconds
