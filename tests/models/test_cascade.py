"""`CascadeModel`: a second model where the first is not sure of its answer, by the probabilities of tokens."""

from __future__ import annotations

import json
import math
from types import ModuleType
from typing import Any

import pytest

import njrt
from njc.compiler import compile_source
from njc.frontend.source import SourceFile
from njrt.messages import ModelMessage, Reply, Request, UserMessage
from njrt.models import CascadeModel
from njrt.models.cascade import compute_probability
from openai_server import OpenAIServer, completion

PROGRAM = '''\
def judge(mail: str) -> bool:
    """natural
    Decide into <:spam: bool> whether <mail> is spam.
    """
    return spam
'''


def load(options: str = "") -> ModuleType:
    text = PROGRAM.replace("natural\n", f"natural{options}\n")
    compilation = compile_source(SourceFile("mail.njpy", text.encode()))
    assert compilation.output is not None, compilation.diagnostics
    module = ModuleType("mail")
    exec(compile(compilation.output, "mail.py", "exec"), vars(module))
    return module


def sure(value: bool, probability: float | None) -> Any:
    """Return a completion with the probability of its one value."""
    text = json.dumps({"spam": value})
    answer = completion({"role": "assistant", "content": text})
    if probability is not None:
        tokens = [('{"spam": ', -1.0), (text[9:-1], math.log(probability)), ("}", -0.5)]
        answer.body["choices"][0]["logprobs"] = {
            "content": [{"token": token, "logprob": value} for token, value in tokens]
        }
    return answer


OPTIONS = '(second_model="openai/large", second_below=0.9)'


@pytest.mark.parametrize(
    ("probability", "spam", "asked"),
    [(0.95, True, ["small"]), (0.9, True, ["small"]), (0.6, False, ["small", "large"])],
)
def test_a_second_model_is_asked_where_the_first_is_not_sure(
    probability: float, spam: bool, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = [sure(True, probability), sure(False, None)]
    with OpenAIServer(script, vendor=False, models=("small", "large")) as server:
        monkeypatch.setenv("NJC_BASE_URL", server.base_url)
        monkeypatch.setenv("NJC_MODEL", "openai/small")
        with njrt.watch() as account:
            assert load(OPTIONS).judge("Win!") is spam
        assert [seen.body["model"] for seen in server.seen] == asked
        assert server.seen[0].body["logprobs"] is True
        assert all("logprobs" not in seen.body for seen in server.seen[1:])
    assert account.totals.calls == len(asked)


def test_a_server_without_probabilities_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIServer([sure(True, None)], vendor=False, models=("small",)) as server:
        monkeypatch.setenv("NJC_BASE_URL", server.base_url)
        monkeypatch.setenv("NJC_MODEL", "openai/small")
        refused = pytest.raises(njrt.ConfigurationError, match="gives no probabilities")
        with njrt.watch() as account, refused:
            load(OPTIONS).judge("Win!")
        assert account.totals.calls == 1
        assert account.totals.tokens > 0


def test_a_threshold_needs_a_second_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NJC_MODEL", "openai/small")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with pytest.raises(njrt.ConfigurationError, match="needs `second_model`"):
        load("(second_below=0.9)").judge("Win!")


def reply_with(probability: float | None, text: str = '{"spam": true}') -> Reply:
    return Reply(ModelMessage(text), probability=probability)


def ask(first: Any, wants: bool = True, second: Any = None) -> tuple[Reply, int]:
    large = njrt.Scripted(lambda _: second or "large", name="large", protocol="text")
    model = CascadeModel(njrt.Scripted(lambda _: first, protocol="text"), large, 0.9)
    schema = {"type": "object"} if wants else None
    reply = model.ask(Request("", (UserMessage("x"),), schema=schema))
    return reply, len(large.requests)


def test_what_is_judged_and_what_is_not() -> None:
    assert ask(reply_with(0.2), wants=False)[1] == 0
    assert ask(reply_with(0.95))[1] == 0
    reply, asked = ask(reply_with(0.2))
    assert (reply.message.text, asked) == ("large", 1)
    assert [attempt.outcome for attempt in reply.attempts] == ["unsure", "used"]
    reply, asked = ask(reply_with(0.2), second=njrt.ServerError("down"))
    assert (reply.message.text, asked) == ('{"spam": true}', 1)
    assert ask(reply_with(None, ""))[1] == 1


TOKENS = [('{"', -9.0), ("a", -9.0), ('": "', -1.0), ("yes", -0.5), ('"}', -0.25)]
PROBABILITIES: dict[str, tuple[str, Any, float | None]] = {
    "a text": ('{"a": "yes"}', TOKENS, math.exp(-1.75)),
    "inside a fence": ('{"a": "yes"}', [("```json\n", -9.0), *TOKENS, ("```", -9.0)], math.exp(-1.75)),
    "other tokens": ('{"a": "no"}', TOKENS, None),
    "no value": ("{}", [("{}", -1.0)], None),
    "numbers": ('{"a": 1, "b": [2.5, null]}', [('{"a": ', -9.0), ("1", -0.1), (', "b": [', -9.0), ("2.5", -0.2), (", ", -9.0), ("null", -0.3), ("]}", -9.0)], math.exp(-0.6)),
    "nothing": ("", [], None),
}  # fmt: skip


@pytest.mark.parametrize(("text", "tokens", "expected"), PROBABILITIES.values(), ids=PROBABILITIES)
def test_the_probability_is_that_of_the_values(
    text: str, tokens: Any, expected: float | None
) -> None:
    found = compute_probability(text, tokens)
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-5))
