"""Servers that are asked for the probabilities of answers, and may not give them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import pytest
from pydantic_ai.models.system_one import SystemOneModel
from pydantic_ai.providers.system_one import SystemOneProvider

import njrt
from decision_server import DecisionServer, chosen, decision, predicate, refused, system_one
from loopback import Answer, Raw, Response, Status
from njrt.data.media import Attachment
from njrt.errors import ModelError, ModelNotFoundError, RejectedRequestError, ServerError
from njrt.models.choose import get_model
from njrt.models.model import Model
from njrt.models.openai import OpenAI
from njrt.models.retry_and_fallback import FallbackModel, RetryModel
from njrt.models.wrapped import adapt_model, can_decide
from njrt.testing import Question, Reply, Request, Scripted, UserMessage
from njrt.values.questions import ESCAPE
from openai_server import KEY, OpenAIServer, completion, decides, says

Ask = Callable[[Model, Request], Reply]
QUESTION = Question("topic", "Which is `topic`?", ("bills", "food", ESCAPE))
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


def decide(model: Model, type_: Any = bool) -> Any:
    """Return the output of a block that may be decided."""
    x, y = None, "text"
    with njrt.using(model=model, decide=True):
        prompt = "natural\nPut into <:x> what fits <y>."
        types = {"x": type_}
        njrt.run(prompt, lambda: (x, y), writes="x", types=lambda: types, effects="answer")
    return x


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


NO_LOGPROBS: list[tuple[Response, list[bool]]] = [
    (says("A"), [True, False, False]),
    (Status(400, body={"error": {"message": "logprobs is not supported"}}), [True, False] * 2),
    (Status(422, body={"error": {"message": "top_logprobs: at most 5"}}), [True, False] * 2),
]


@pytest.mark.parametrize(("answer", "expected"), NO_LOGPROBS)
def test_a_server_without_log_probabilities(answer: Response, expected: list[bool]) -> None:
    """One that says nothing about them is asked once; one that refuses, by each block."""
    script = [answer if is_question else says('{"x": true}') for is_question in expected]
    with OpenAIServer(script, vendor=False) as server:
        model = make_model(server)
        assert [decide(model), decide(model)] == [True, True]
        assert ["top_logprobs" in seen.body for seen in server.seen] == expected


MALFORMED = decides(("A", 0.9)).body
ODD: list[Any] = [
    {"content": []},
    {"content": None},
    {"content": [{"token": "A", "logprob": -0.1, "top_logprobs": []}]},
    {"content": [{"token": "A", "logprob": -0.1, "top_logprobs": None}]},
    *(
        {"content": [{"token": "A", "top_logprobs": [{"token": "A", "logprob": it}]}]}
        for it in (5, 10**400, -(10**400), "x", None)
    ),
]


@pytest.mark.parametrize("logprobs", ODD)
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
    with OpenAIServer(vendor=False, models=("other",)) as server:
        model = make_model(server)
        with pytest.raises(ModelNotFoundError):
            decide(model)


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


# ── endpoints for decisions ──────────────────────────────────────────────────────────────────────

YES_NO = Question("ok", "Which is `ok`?", ("True", "False", ESCAPE))


def make_luna(server: DecisionServer) -> Any:
    return OpenAI("gpt-6-luna", vendor_url=server.base_url, key=KEY, retries=0)


def asking(question: Question, **changes: Any) -> Request:
    return replace(REQUEST, question=question, **changes)


DECISIONS: list[tuple[Question, Response, Any]] = [
    (QUESTION, chosen(bills=0.1, food=0.85, **{ESCAPE: 0.05}), (0.1, 0.85, 0.05)),
    (QUESTION, chosen(**{ESCAPE: 0.05}, food=0.85, bills=0.1), (0.1, 0.85, 0.05)),
    (YES_NO, predicate(0.93), (0.93, 0.07, 0.0)),
    (YES_NO, predicate(1), (1.0, 0.0, 0.0)),
    (QUESTION, refused(), None),
    (QUESTION, predicate(0.9), None),
    (QUESTION, chosen(bills=0.5, food=0.5), None),
    (QUESTION, chosen(bills=0.5, food=0.4, other=0.1), None),
    (QUESTION, chosen(bills=0.9, food=0.9, **{ESCAPE: 0.9}), None),
    (QUESTION, chosen(bills=float("nan"), food=0.9, **{ESCAPE: 0.1}), None),
    (YES_NO, predicate(1.5), None),
    (YES_NO, predicate(float("nan")), None),
    (QUESTION, decision(), None),
    (QUESTION, decision({"type": "refusal"}, {"type": "refusal"}), None),
]


@pytest.mark.parametrize(("question", "answer", "expected"), DECISIONS)
def test_openai_decides(ask: Ask, question: Question, answer: Response, expected: Any) -> None:
    with DecisionServer([answer]) as server:
        reply = ask(make_luna(server), asking(question))
        (sent,) = server.seen[-1].body["questions"]
    assert reply.probabilities == (expected and pytest.approx(expected))
    assert (reply.usage.input, reply.usage.output) == (80, 1)
    assert sent["type"] == ("predicate" if question is YES_NO else "choice")


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (Raw("not JSON"), ServerError),
        (Answer([]), ServerError),
        (decision({"probability": 0.5}), ServerError),
        (Status(400, body={"error": {"message": "no"}}), RejectedRequestError),
    ],
)
def test_openai_fails_with_a_clear_error(ask: Ask, response: Response, error: type) -> None:
    with DecisionServer([response]) as server, pytest.raises(error):
        ask(make_luna(server), asking(QUESTION))


def test_a_question_with_a_file_is_not_sent(ask: Ask) -> None:
    image = Attachment("photo", njrt.Image(b"\x89PNG\r\n\x1a\n"))
    with DecisionServer() as server:
        request = asking(QUESTION, messages=(UserMessage("Which?", (image,)),))
        with pytest.raises(RejectedRequestError, match="files"):
            ask(make_luna(server), request)
        assert server.seen == []


def make_system_one(server: DecisionServer) -> Any:
    return adapt_model(SystemOneModel("clm", provider=SystemOneProvider(base_url=server.base_url)))


def choose(choice: str, **probabilities: float) -> Answer:
    answer = {"type": "choice", "choice": choice, "confidence": 0.8, "probabilities": probabilities}
    return system_one(answer)


SYSTEM_ONE: list[tuple[Question, Response, Any]] = [
    (YES_NO, choose("True", **{"True": 0.9, "False": 0.04, ESCAPE: 0.06}), (0.9, 0.04, 0.06)),
    (QUESTION, choose("food", bills=0.1, food=0.8, **{ESCAPE: 0.1}), (0.1, 0.8, 0.1)),
]


@pytest.mark.parametrize(("question", "answer", "expected"), SYSTEM_ONE)
def test_decision_models_of_pydantic_ai_decide(
    ask: Ask, question: Question, answer: Response, expected: Any
) -> None:
    with DecisionServer([answer]) as server:
        model = make_system_one(server)
        reply = ask(model, asking(question))
    assert reply.probabilities == pytest.approx(expected)
    assert can_decide(model)


@pytest.mark.parametrize(
    "response",
    [
        system_one({"type": "noul", "noul": 1.5}),
        system_one({"type": "noul", "noul": 0.5}),
        choose("food", bills=0.9, food=0.9, **{ESCAPE: 0.9}),
        Status(500),
        Raw("not JSON"),
    ],
)
def test_decision_models_of_pydantic_ai_fail_with_a_clear_error(
    ask: Ask, response: Response
) -> None:
    with DecisionServer([response]) as server, pytest.raises(ServerError):
        ask(make_system_one(server), asking(QUESTION))


def test_decision_models_of_pydantic_ai_answer_nothing_else(ask: Ask) -> None:
    with DecisionServer() as server, pytest.raises(RejectedRequestError, match="decide = true"):
        ask(make_system_one(server), replace(REQUEST, question=None))


@pytest.mark.parametrize(
    ("answer", "expected", "probability"),
    [
        (chosen(**{"a": 0.9, "b": 0.05, ESCAPE: 0.05}), "a", 0.9),
        (refused(), "b", None),
        (predicate(0.5), "b", None),
    ],
)
def test_a_block_decides_by_the_endpoint(answer: Response, expected: str, probability: Any) -> None:
    """What is refused is asked as a JSON object, by a chat completion."""
    with DecisionServer([answer, says('{"x": "b"}')]) as server:
        assert decide(make_luna(server), Literal["a", "b"]) == expected
    run = njrt.last_run()
    assert run is not None
    assert run.probabilities.get("x", {}).get("a") == probability


def test_models_are_chosen_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("SYSTEM_ONE_BASE_URL", "http://127.0.0.1:9/v1")
    for name in ("openai/gpt-6-luna", "pydantic-ai:system-one:clm"):
        assert can_decide(get_model(name))
    for name in ("openai/gpt-6-sol", "pydantic-ai:test"):
        assert not can_decide(get_model(name))
