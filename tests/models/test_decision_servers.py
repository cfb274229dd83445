"""Servers that are asked for the probabilities of answers, and may not give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import njrt
from loopback import Answer, Raw, Response, Status
from njrt.errors import ModelError, ModelNotFoundError
from njrt.messages import Question, Reply, Request, UserMessage
from njrt.models.decisions import can_decide
from njrt.models.model import Model
from njrt.models.openai import OpenAI
from njrt.models.retry_and_fallback import FallbackModel, RetryModel
from njrt.models.scripted import Scripted
from njrt.questions import ESCAPE
from openai_server import KEY, OpenAIServer, completion, decides, says

Ask = Callable[[Model, Request], Reply]
QUESTION = Question("topic", "Which is `topic`?", ("bills", "food", ESCAPE), True)
REQUEST = Request(
    "system",
    (UserMessage("Which is `topic`?\nA. bills\nB. food"),),
    temperature=0.0,
    max_reply_tokens=1,
    question=QUESTION,
)


def make_model(server: OpenAIServer) -> OpenAI:
    if server.vendor:
        return OpenAI("gpt-4.1", vendor_url=server.base_url, key=KEY, retries=0)
    return OpenAI("gpt-4.1", base_url=server.base_url, retries=0)


READ: list[tuple[Response, Any]] = [
    (decides(("A", 0.9), (" B", 0.05), ("b", 0.05)), (0.9, 0.1, 0.0)),
    (decides(("B", 0.6), ("A", 0.2), ("The", 0.2)), (0.25, 0.75, 0.0)),
    (decides(("C", 1.0)), (0.0, 0.0, 1.0)),
    (decides(("<think>", 0.9), ("A", 0.1)), None),
    (decides(("A", 0.4), ("B", 0.05)), None),
    (completion({"role": "assistant", "content": None, "refusal": "no"}), None),
]


@pytest.mark.parametrize("vendor", [True, False])
@pytest.mark.parametrize(("answer", "expected"), READ)
def test_letters_are_read_from_log_probabilities(
    ask: Ask, answer: Response, expected: Any, vendor: bool
) -> None:
    with OpenAIServer([answer], vendor=vendor) as server:
        model = make_model(server)
        reply = ask(model, REQUEST)
        body = server.seen[-1].body
    assert reply.probabilities == (expected and pytest.approx(expected))
    assert reply.usage.input == 1000
    assert can_decide(model)
    assert (body["logprobs"], body["top_logprobs"], body["temperature"]) == (True, 20, 0.0)
    assert body["max_completion_tokens" if vendor else "max_tokens"] == 1
    assert "stream" not in body


@pytest.mark.parametrize(
    "answer",
    [
        says("A"),
        Status(400, body={"error": {"message": "logprobs is not supported"}}),
        Status(422, body={"error": {"message": "top_logprobs: at most 5"}}),
    ],
)
def test_a_server_without_log_probabilities_is_asked_once(ask: Ask, answer: Response) -> None:
    with OpenAIServer([answer], vendor=False) as server:
        model = make_model(server)
        assert ask(model, REQUEST).probabilities is None
    assert not can_decide(model)


MALFORMED = decides(("A", 0.9)).body
ODD: list[Any] = [
    {"content": []},
    {"content": None},
    {"content": [{"token": "A", "logprob": -0.1, "top_logprobs": []}]},
    {"content": [{"token": "A", "logprob": -0.1, "top_logprobs": None}]},
    {"content": [{"token": "A", "logprob": -0.1, "top_logprobs": [{"token": "A", "logprob": 5}]}]},
]


@pytest.mark.parametrize("logprobs", ODD, ids=str)
def test_odd_log_probabilities_are_no_answer(ask: Ask, logprobs: Any) -> None:
    body = MALFORMED | {"choices": [MALFORMED["choices"][0] | {"logprobs": logprobs}]}
    with OpenAIServer([Answer(body)], vendor=False) as server:
        assert ask(make_model(server), REQUEST).probabilities is None


@pytest.mark.parametrize(
    "response", [Raw("not JSON"), Answer({"choices": []}), Status(503), Status(401)]
)
def test_failures_are_those_of_any_request(ask: Ask, response: Response) -> None:
    with OpenAIServer([response], vendor=False) as server, pytest.raises(ModelError):
        ask(make_model(server), REQUEST)


def test_an_unknown_model_is_an_error_in_the_program() -> None:
    text = "natural\nPut into <:ok: bool> whether <x> is right."
    x = ok = None
    with OpenAIServer(vendor=False, models=("other",)) as server:
        model = make_model(server)
        with njrt.using(model=model, decide=True), pytest.raises(ModelNotFoundError):
            njrt.run(
                text, lambda: (x, ok), writes="ok", types=lambda: {"ok": bool}, effects="answer"
            )


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: OpenAI("gpt-4.1", key=KEY), True),
        (lambda: OpenAI("o4-mini", key=KEY), False),
        (lambda: OpenAI("gpt-5-mini", key=KEY), False),
        (lambda: OpenAI("any", base_url="http://127.0.0.1:9/v1"), True),
        (lambda: Scripted([]), True),
        (lambda: RetryModel(Scripted([])), True),
        (lambda: FallbackModel((Scripted([]), OpenAI("o4-mini", key=KEY))), False),
    ],
)
def test_models_say_whether_they_can_decide(make: Callable[[], Any], expected: bool) -> None:
    assert can_decide(make()) is expected
