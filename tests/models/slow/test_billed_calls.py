"""What a server has billed, by its own log, is what replies, errors, limits and budgets count: whole and streamed, with
retries inside of the adapters and around them, under generated faults."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

import anthropic_server
import njrt
import openai_server
from anthropic_server import AnthropicServer
from loopback import Answer, Drop, Garbage, Loopback, Raw, Response, Seen, Status, Stream
from njrt.block.session.limits import Limits, Meter, Metered
from njrt.log.budgets.budgeted import Budgeted
from njrt.log.budgets.ledger import list_accounts
from njrt.log.sqlite_store import MemoryStore
from njrt.messages import Reply, Request, Usage, UserMessage
from njrt.models.model import LayeredModel, Model
from njrt.models.retry_and_fallback import FallbackModel, RetryModel
from njrt.stores import Store
from vendors import VENDORS

REQUEST = Request("Answer.", (UserMessage("How many?"),), max_reply_tokens=50, timeout=60.0)
BUDGET = njrt.Budget(tokens=10**9, per="total")
AT_ONCE = {"retry-after-ms": "1"}


def make_body(vendor: str, text: str, tokens: tuple[int, int]) -> dict[str, Any]:
    """Return a whole reply that used so many tokens, in and out."""
    if vendor == "openai":
        usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
        message = {"role": "assistant", "content": text}
        body: dict[str, Any] = openai_server.completion(message, usage=usage).body
    else:
        usage = {"input_tokens": tokens[0], "output_tokens": tokens[1]}
        body = anthropic_server.message(anthropic_server.text(text), usage=usage).body
    return body


def make_unusable(vendor: str, tokens: tuple[int, int]) -> Raw:
    """Return a response that is counted and is no reply."""
    body = make_body(vendor, "x", tokens)
    return Raw(json.dumps(body | {"choices": [], "content": 7}))


LOST: tuple[Response, ...] = (
    Drop(),
    Garbage(b"\x00 not HTTP\r\n\r\n"),
    Garbage(b'HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{"choices": ['),
    Garbage(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"),
    Raw(b"not gzip", headers={"content-encoding": "gzip"}),
    Raw(gzip.compress(b'{"choices": []}')[:-9], headers={"content-encoding": "gzip"}),
    Raw('{"choices": ['),
    Raw("<html>", kind="text/html"),
    Stream((), then="cut"),
    Stream((), then="end"),
)
"""Answers after which nobody knows what was billed."""

REFUSED: tuple[Response, ...] = (
    Raw("{}", status=429, headers=AT_ONCE),
    Raw("{}", status=503, headers=AT_ONCE | {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}),
    Raw("{}", status=529, headers=AT_ONCE | {"retry-after": "-7"}),
    Raw("{}", status=500, headers={"retry-after": "999999"}),
    Status(400, body={"error": {"message": "no"}}),
    Raw("{}", status=409, headers=AT_ONCE | {"x-should-retry": "false"}),
)


@dataclass
class Bills:
    """What the server has billed: the tokens of calls that it counted."""

    counted: list[int] = field(default_factory=list)


def make_server(vendor: str, chance: random.Random, bills: Bills) -> Loopback:
    """Return a server that answers by chance, and keeps its own log."""

    def answer(seen: Seen) -> Response:
        kind = chance.choices(["good", "empty", "unusable", "lost", "refused"], [5, 1, 1, 4, 3])[0]
        if kind == "lost":
            return chance.choice(LOST)
        if kind == "refused":
            return chance.choice(REFUSED)
        tokens = chance.randint(1, 999), chance.randint(1, 50)
        bills.counted.append(sum(tokens))
        if kind == "unusable":
            return make_unusable(vendor, tokens)
        return Answer(make_body(vendor, "three" if kind == "good" else " ", tokens))

    class Server(VENDORS[vendor].server):  # type: ignore[misc]
        def answer_without_script(self, seen: Seen) -> Response:
            return answer(seen)

    server: Loopback = Server()
    return server


def wrap(models: list[Model], chance: random.Random) -> Model:
    """Wrappers in any order around the models."""
    model = chance.choice(models)
    for _ in range(chance.randint(0, 2)):
        if chance.random() < 0.5:
            model = RetryModel(model, attempts=3, first_wait=0)
        else:
            model = FallbackModel((model, chance.choice(models)))
    return model


def put_limits(model: Model, ledger: Store, budget: njrt.Budget, meter: Meter) -> Model:
    layer = Budgeted((budget,), lambda: ledger)
    return LayeredModel(model, (Metered(meter), layer))


def count_tokens(result: Reply | njrt.NaturalError) -> int:
    if isinstance(result, Reply):
        return result.usage.input + result.usage.output
    return sum(attempt.usage.input + attempt.usage.output for attempt in result.attempts)


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("seed", range(4))
def test_what_was_billed_is_counted_once(vendor: str, seed: int) -> None:
    chance = random.Random(seed)
    bills, ledger, meter = Bills(), MemoryStore(), Meter(Limits())
    with make_server(vendor, chance, bills) as server:
        models: list[Model] = [
            VENDORS[vendor].connect(server, retries=chance.randint(0, 3)) for _ in range(2)
        ]
        model = wrap(models, chance)
        asked = put_limits(model, ledger, BUDGET, meter)
        for number in range(4):
            on_text = (lambda text: None) if chance.random() < 0.5 else None
            request = replace(REQUEST, on_text=on_text)
            before = sum(bills.counted)
            result: Reply | njrt.NaturalError
            try:
                if number % 2:
                    result = asked.ask(request)
                else:
                    result = asyncio.run(asked.aask(request))
            except njrt.ModelError as error:
                result = error
            assert count_tokens(result) == sum(bills.counted) - before
    ((_, state),) = list_accounts(ledger)
    assert state.calls == len(bills.counted)
    assert state.tokens == meter.spent().tokens == sum(bills.counted)


def test_a_stream_that_breaks_off_costs_what_it_has_reported() -> None:
    begin = [*anthropic_server.split_message(make_body("anthropic", "three", (7, 3)))][:4]
    ledger, meter = MemoryStore(), Meter(Limits())
    with AnthropicServer([Stream(begin, then="cut")]) as server:
        model = VENDORS["anthropic"].connect(server, retries=3)
        asked = put_limits(model, ledger, BUDGET, meter)
        with pytest.raises(njrt.ServerError, match="broke off"):
            asked.ask(replace(REQUEST, on_text=lambda text: None))
        assert len(server.seen) == 1
    ((_, state),) = list_accounts(ledger)
    assert (state.calls, state.tokens) == (1, 8)
    assert meter.spent().tokens == 8


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize(
    ("limits", "error"),
    [(Limits(usd=1.0), njrt.CostLimitError), (Limits(tokens=900), njrt.TokenLimitError)],
)
def test_a_reply_without_usage_ends_a_run_whose_tokens_or_price_are_limited(
    vendor: str, limits: Limits, error: type[Exception]
) -> None:
    body = make_body(vendor, "three", (7, 3)) | {"usage": None}
    with VENDORS[vendor].server([Raw(json.dumps(body))] * 2) as server:
        model = VENDORS[vendor].connect(server, retries=0)
        assert model.ask(REQUEST).usage == Usage(usd=None)
        with pytest.raises(error, match="reported no usage; limit calls"):
            put_limits(model, MemoryStore(), njrt.Budget(per="total"), Meter(limits)).ask(REQUEST)


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize(("code", "requests"), [(503, 2), ("429", 2), (400, 1)])
def test_an_error_in_a_body_is_retried_as_its_code_says(
    vendor: str, code: int | str, requests: int
) -> None:
    error = Raw(json.dumps({"error": {"message": "no", "code": code}}))
    with VENDORS[vendor].server([error, error]) as server:
        with pytest.raises(njrt.ModelError, match=rf"Error code: {code} - .*no") as caught:
            VENDORS[vendor].connect(server, retries=1).ask(REQUEST)
        assert len(server.seen) == requests
    assert caught.value.attempts == ()
