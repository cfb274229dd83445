"""`njrt.using(predict=MODEL)`: what each effect does is predicted, compared, counted and traced."""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest

import njrt
from njc.compiler import compile_source
from njc.frontend.source import SourceFile
from njrt.errors import ServerError
from njrt.events import Prediction
from njrt.messages import ModelMessage, Reply, Request, Usage, UserMessage
from njrt.models.scripted import Said
from njrt.session.prediction import find_ending_mismatch, find_mismatches, is_same_text

PROGRAM = '''\
def spend(prices, limit, password="hunter2"):
    spent = 0
    for price in prices:
        """natural
        Add <price> to <:spent: int>, but break if it is above <limit>. <password> is not needed.
        """
    return spent


async def aspend(prices, limit):
    """natural
    Put the sum of <prices> into <:spent: int>.
    """
    return spent


def first(prices):
    """natural
    Return the first of <prices>.
    """
'''
ADD = "```python\nif price > limit:\n    break\nspent += price\n```"
WRONG = "```python\nspent = price\n```"


def load() -> dict[str, Any]:
    output = compile_source(SourceFile("spend.njpy", PROGRAM.encode())).output
    assert output is not None
    namespace: dict[str, Any] = {}
    exec(output, namespace)
    return namespace


def run(
    call: Callable[[dict[str, Any]], object], code: str, predicted: Said | Callable[[Request], Said]
) -> tuple[njrt.Watch, njrt.Scripted]:
    """Run a call whose blocks are carried out by `code` and predicted as given."""
    asked = njrt.Scripted(lambda request: code, protocol="text")
    predictor = njrt.Scripted(
        predicted if callable(predicted) else lambda request: predicted, protocol="text"
    )
    with njrt.using(model=asked, predict=predictor), njrt.watch() as watch:
        call(load())
    return watch, predictor


def told(request: Request) -> str:
    (message,) = request.messages
    assert isinstance(message, UserMessage)
    return message.text


def predict_sum(request: Request) -> str:
    """What the instruction asks for."""
    variables = told(request).partition("before the step:")[2].partition("Step:")[0]
    lines = dict(line.split(" = ", 1) for line in variables.split("\n") if line)
    if int(lines["price"]) > int(lines["limit"]):
        return "END: break"
    return f"spent = {int(lines['spent']) + int(lines['price'])}\nEND: goes on"


def test_right_effects_are_no_surprise() -> None:
    watch, predictor = run(lambda names: names["spend"]([3, 4, 99], 10), ADD, predict_sum)
    assert (watch.totals.predicted, watch.totals.surprises) == (3, 0)
    assert str(watch.totals).endswith("0 of 3 effects not as predicted")
    assert watch.totals.calls == 3, "predictions are not calls of the block"
    text = told(predictor.requests[1])
    assert "price = 4\n" in text
    assert "spent = 3\n" in text
    assert "spent += price" in text
    assert "Add <price> to <:spent: int>" in text


def test_wrong_effects_are_surprises_with_their_reasons() -> None:
    watch, _ = run(lambda names: names["spend"]([3, 4, 99], 10), WRONG, predict_sum)
    assert (watch.totals.predicted, watch.totals.surprises) == (3, 2)
    marks = [effect.prediction for blocks in watch.runs for effect in blocks.effects]
    assert [mark.mismatches for mark in marks if mark] == [
        (),
        ("spent = 4, predicted 7",),
        ("spent = 99, predicted 4", "it ended by `goes on`, predicted `break`"),
    ]


def test_async_blocks_are_predicted() -> None:
    watch, _ = run(
        lambda names: asyncio.run(names["aspend"]([3, 4], 10)),
        "```python\nspent = sum(prices)\n```",
        "`spent = 8`\nEND: goes on",
    )
    (effect,) = watch.runs[0].effects
    assert effect.prediction is not None
    assert effect.prediction.mismatches == ("spent = 7, predicted 8",)


def test_returned_values_are_compared() -> None:
    for predicted, surprises in (("END: return 3", 0), ("END: return 4", 1), ("END: goes on", 1)):
        watch, _ = run(
            lambda names: names["first"]([3, 4]), "```python\nreturn prices[0]\n```", predicted
        )
        assert watch.totals.surprises == surprises, predicted


def test_a_prediction_that_fails_is_no_surprise_and_does_not_fail_the_block() -> None:
    def fail(request: Request) -> Said:
        raise ServerError("it is down")

    for predicted in (fail, "I do not know."):
        watch, _ = run(lambda names: names["spend"]([3], 10), ADD, predicted)
        (effect,) = watch.runs[0].effects
        assert effect.prediction is not None
        assert effect.prediction.problem
        assert (watch.totals.predicted, watch.totals.surprises) == (0, 0)
        assert watch.runs[0].outcome == "completed"


class FailingModel:
    """A model of the program's own that fails in its own ways."""

    name = "failing"
    protocol: Literal["tools", "text"] = "text"

    def __init__(self, answer: Callable[[], Any]) -> None:
        self.answer = answer

    def ask(self, request: Request) -> Any:
        return self.answer()

    async def aask(self, request: Request) -> Any:
        return self.answer()


class BadError(Exception):
    """An error without a text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def fail(error: BaseException) -> Callable[[], Any]:
    def answer() -> Any:
        raise error

    return answer


def say(text: Any) -> Callable[[], Any]:
    return lambda: Reply(ModelMessage(text), usage=Usage(input=7, output=3))


FAILURES = {
    "an error of the server": (fail(ServerError("down")), "no prediction: down"),
    "an error of its code": (fail(KeyError("x")), "no prediction: KeyError"),
    "a time limit of its own": (fail(TimeoutError()), "no prediction: TimeoutError"),
    "an error without a text": (fail(BadError("x")), "no prediction: BadError"),
    "no reply": (lambda: None, "no prediction: AttributeError"),
    "a reply without a text": (say(None), "no prediction: TypeError"),
    "an empty reply": (say(""), "the reply has no prediction"),
    "a talkative reply": (say("It will add up. " * 9), "the reply has no prediction"),
    "a reply of brackets": (say("spent = " + "[" * 50_000), ""),
    "a reply of blanks": (say("spent = 1" + " `" * 200_000 + "x\n"), ""),
    "a reply of quotes": (say("spent = " + "'\\'" * 50_000), ""),
    "a number of many digits": (say("spent = " + "9" * 15_000), ""),
    "a null": (say("spent = \0\nEND: \0"), ""),
    "surrogates": (say("spent = '\ud800'\nEND: \ud800"), ""),
}
"""What a predicting model does, and the beginning of the problem that is noted; empty for a surprise."""


@pytest.mark.parametrize("name", FAILURES)
def test_no_failure_of_the_predicting_model_disturbs_a_block(name: str, tmp_path: Path) -> None:
    answer, problem = FAILURES[name]
    model = njrt.Scripted(lambda request: ADD, protocol="text")
    total = "```python\nspent = sum(prices)\n```"
    amodel = njrt.Scripted(lambda request: total, protocol="text")
    program, predictor, trace = load(), FailingModel(answer), tmp_path / "trace.jsonl"

    def call_all() -> list[Any]:
        with njrt.using(model=model):
            found = [program["spend"]([3, 4, 50], 10)]
        with njrt.using(model=amodel):
            return [*found, asyncio.run(program["aspend"]([3, 4], 10))]

    with njrt.using(predict=predictor, trace=str(trace)), njrt.watch() as watch:
        assert call_all() == [7, 7]
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(contextvars.copy_context().run, call_all).result() == [7, 7]
    predictions = [effect.prediction for run in watch.runs for effect in run.effects]
    assert len(predictions) == 8
    for found in predictions:
        assert found is not None
        assert found.problem.startswith(problem) if problem else found.is_surprise
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    assert sum("prediction" in line for line in lines) == 8


def test_an_interrupt_of_a_prediction_ends_the_block() -> None:
    model = njrt.Scripted(lambda request: ADD, protocol="text")
    predictor = FailingModel(fail(KeyboardInterrupt()))
    with njrt.using(model=model, predict=predictor), pytest.raises(KeyboardInterrupt):
        load()["spend"]([3], 10)


def test_secrets_are_not_shown_to_the_predictor() -> None:
    _, predictor = run(lambda names: names["spend"]([3], 10), ADD, predict_sum)
    assert "password = " in told(predictor.requests[0])
    assert "hunter2" not in told(predictor.requests[0])


def test_predictions_are_in_the_trace_and_not_in_recordings(tmp_path: Path) -> None:
    trace, recording = tmp_path / "trace.jsonl", tmp_path / "recording.jsonl"
    for predicted in (None, "spent = 1\nEND: goes on"):
        recording.unlink(missing_ok=True)
        asked = njrt.Scripted([ADD], protocol="text")
        predict = predicted and njrt.Scripted([predicted], protocol="text")
        with njrt.using(model=asked, predict=predict, trace=trace, record=recording):
            load()["spend"]([3], 10)
        text = recording.read_text()
        assert "END: goes on" not in text
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    marks = [line.get("prediction") for line in lines if line["event"] == "performed"]
    assert marks[0] is None
    assert marks[1]["mismatches"] == ["spent = 3, predicted 1"]


@pytest.mark.parametrize(
    ("actual", "predicted", "same"),
    [
        ("7", "7", True),
        ("7", "7.0", True),
        ("True", "1", False),
        ("{'a': 1, 'b': [2]}", '{"b": [2], "a": 1}', True),
        ("{1, 2}", "{2, 1}", True),
        ("Mail(text='a')", "Mail(text='a')", True),
        ("Mail(text='a')", "Mail('a')", False),
        ("[0, 1, 2, ...]", "[5]", True),
        ("{'a': 'yy'...}", "{}", True),
        ("'xx'...", "'y'", True),
        ("'wait...'", "'go'", False),
        ("['it\\'s...']", "[]", False),
        ("[nan, -inf]", "[nan,-inf]", True),
        ("Mail(text='a', at=2)", 'Mail(text="a",at=2)', True),
        ("<a b>", "<a  b>", True),
        ("7", "seven", False),
        ("", "None", False),
    ],
)
def test_values_are_compared_as_python(actual: str, predicted: str, same: bool) -> None:
    assert is_same_text(actual, predicted) is same


def test_names_that_nobody_knows_do_not_count() -> None:
    assert list(find_mismatches({"n": "2", "helper": "1"}, {"n": "1"}, {"n": "2"})) == []
    assert list(find_mismatches({}, {"n": "1"}, {"n": "1", "m": "2"})) == ["m = 2, not predicted"]
    assert list(find_mismatches({}, {"n": "1"}, {})) == ["n is not bound any more"]
    assert list(find_mismatches({}, {}, {"stream": "<generator values>"})) == []
    assert list(find_ending_mismatch("", "goes on")) == []


def test_a_prediction_without_mismatches_is_no_surprise() -> None:
    assert not Prediction({"a": "1"}).is_surprise
    assert Prediction(mismatches=("a = 1, predicted 2",)).is_surprise
