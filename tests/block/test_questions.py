"""`njrt.llm`: one question, one value that fits; checked, mended once, recorded, limited."""

# The variable that only a block binds looks undefined to ruff.
# ruff: noqa: F821

from __future__ import annotations

import asyncio
import enum
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from programs import get_last_run
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

import njrt
from njrt.testing import Request, Said, UserMessage, call


class Color(enum.Enum):
    RED = "#f00"
    BLUE = "#00f"


@dataclass
class Point:
    x: int
    y: int


class Pair(NamedTuple):
    left: int
    right: str


class Line(BaseModel):
    article: str
    quantity: int = Field(default=1, ge=1)


class Order(BaseModel):
    customer: str
    lines: list[Line]
    note: str | None = None


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


@dataclass
class Held:
    value: int


class Box(BaseModel):
    value: dict[str, int] = {}


class Node(BaseModel):
    value: Node | None = None


class Measure(BaseModel):
    value: float
    unit: str = "m"


class Named(TypedDict):
    value: str


class Unrelated(BaseModel):
    count: int = 0


ANSWERS: list[tuple[Any, Any, Any]] = [
    (bool, True, True),
    (int, 3, 3),
    (float, 3, 3.0),
    (Literal["a", "b"], "b", "b"),
    (Color, "RED", Color.RED),
    (date, "2024-02-29", date(2024, 2, 29)),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (dict[Color, int], {"RED": 1}, {Color.RED: 1}),
    (tuple[int, str], [1, "a"], (1, "a")),
    (set[int], [1], {1}),
    (Pair, {"left": 1, "right": "b"}, Pair(1, "b")),
    (list[int], [1, 2], [1, 2]),
    (list[Color], ["RED", "BLUE"], [Color.RED, Color.BLUE]),
    (Point, {"x": 1, "y": 2}, Point(1, 2)),
    (list[Point], [{"x": 1, "y": 2}], [Point(1, 2)]),
    (Order, {"customer": "I", "lines": [{"article": "mug"}]}, Order(customer="I", lines=[Line(article="mug")])),
    (Tree, {"name": "a", "children": [{"name": "b"}]}, Tree(name="a", children=[Tree(name="b")])),
    (int | None, None, None),
    (Held, {"value": 3}, Held(3)),
    (Held | None, {"value": 3}, Held(3)),
    (list[Held], [{"value": 3}], [Held(3)]),
    (Box, {"value": {"a": 1}}, Box(value={"a": 1})),
    (Box, {"value": {"value": 1}}, Box(value={"value": 1})),
    (Node, {"value": None}, Node()),
    (Measure, {"value": 1.5}, Measure(value=1.5)),
    (Measure, {"value": 1.5, "unit": "s"}, Measure(value=1.5, unit="s")),
    (Named, {"value": "a"}, {"value": "a"}),
    (Unrelated, {"count": 3}, Unrelated(count=3)),
    (dict[str, int], {"value": 1}, {"value": 1}),
]  # fmt: skip


def asked(*replies: Said, protocol: Any = "text", **options: Any) -> tuple[Any, list[Request]]:
    """Ask with a scripted model; `schema` is among the options."""
    schema = options.pop("schema", None)
    model = njrt.Scripted(replies, protocol=protocol)
    with njrt.using(model=model, **options):
        return njrt.llm("What?", schema), model.requests


@pytest.mark.parametrize(("schema", "answer", "value"), ANSWERS)
def test_answers_by_tool_call_and_by_text(schema: Any, answer: Any, value: Any) -> None:
    assert asked(call("answer", value=answer), protocol="tools", schema=schema)[0] == value
    assert asked(json.dumps({"value": answer}), schema=schema)[0] == value
    assert asked(f"```json\n{json.dumps(answer)}\n```", schema=schema)[0] == value


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (Node, {"value": None}, Node()),
        (Held | int, 3, 3),
        (Unrelated, {"count": 0}, Unrelated()),
        (dict[str, dict[str, int] | int], {"value": 3}, {"value": 3}),
    ],
)
def test_an_object_of_value_is_read_as_it_was_asked_for(
    schema: Any, value: Any, expected: Any
) -> None:
    assert asked(json.dumps({"value": value}), schema=schema)[0] == expected


def test_an_object_around_a_wrong_answer_is_no_answer() -> None:
    wrong = json.dumps({"value": {"count": "many"}})
    right = {"value": {"count": 2}}
    assert asked(wrong, json.dumps(right), schema=Unrelated)[0] == Unrelated(count=2)


def test_without_a_schema_the_answer_is_text() -> None:
    assert asked(" Yes.\n")[0] == "Yes."
    assert asked("Yes.", schema=str, protocol="tools")[0] == "Yes."


def test_bare_words_are_understood() -> None:
    assert asked("b", schema=Literal["a", "b"])[0] == "b"
    assert asked("true", schema=bool)[0] is True


@pytest.mark.parametrize(
    ("schema", "wrong", "words"),
    [
        (int, "many", "unable to parse string as an integer"),
        (Literal["a"], "b", "Input should be 'a'"),
        (Point, '{"value": {"x": 1}}', "y: Field required"),
    ],
)
def test_what_does_not_fit_goes_back_once(schema: Any, wrong: str, words: str) -> None:
    model = njrt.Scripted([wrong, wrong], protocol="text")
    problem = "does not fit what was asked for"
    with njrt.using(model=model), pytest.raises(njrt.ReplyError, match=problem):
        njrt.llm("What?", schema)
    (again,) = model.requests[1].messages
    assert isinstance(again, UserMessage)
    assert words in again.text
    assert wrong in again.text


def test_in_an_event_loop() -> None:
    async def ask() -> list[Any]:
        return list(await asyncio.gather(*(njrt.allm(f"{n}?", int) for n in range(3))))

    with njrt.using(model=njrt.Scripted(["1", "2", "3"], protocol="text")):
        assert sorted(asyncio.run(ask())) == [1, 2, 3]


def test_questions_are_accounted_for_recorded_and_limited(tmp_path: Path) -> None:
    recording = tmp_path / "r.jsonl"
    model = njrt.Scripted(["1"], protocol="text")
    with njrt.using(model=model, record=recording), njrt.watch() as watch:
        llm = njrt.llm_at("mail.njpy:3")
        assert llm("How many?", int) == 1
    assert watch.totals.calls == 1
    assert get_last_run().place == "mail.njpy:3"
    with njrt.using(record=f"none:{recording}"):
        assert njrt.llm("How many?", int) == 1
        with pytest.raises(njrt.RecordingMismatchError):
            njrt.llm("How much?", int)
    with njrt.using(model=model), njrt.limit(calls=0), pytest.raises(njrt.CallLimitError):
        njrt.llm("How many?", int)


def test_options_of_the_place(tmp_path: Path) -> None:
    llm = njrt.llm_at("a.njpy:1", max_calls=1, project={"max_reply_tokens": 7})
    model = njrt.Scripted(["x", "1"], protocol="text")
    with njrt.using(model=model), pytest.raises(njrt.CallLimitError):
        llm("How many?", int)
    assert model.requests[0].max_reply_tokens == 7


@pytest.mark.parametrize(("schema", "answer", "value"), ANSWERS)
def test_a_block_and_a_question_describe_a_type_alike(schema: Any, answer: Any, value: Any) -> None:
    def ask_block() -> Any:
        found: Any  # bound by the block
        njrt.run(
            "natural: Set <:found>.",
            lambda: (found,),
            writes="found",
            types=lambda: {"found": schema},
        )
        return found

    block = njrt.Scripted([json.dumps({"found": answer})])
    with njrt.using(model=block, effects="answer"):
        assert ask_block() == value
    question = asked(json.dumps({"value": answer}), schema=schema, protocol="tools")[1][0]
    shown = [
        request.messages[0]
        .text.partition("Reply with ")[2]
        .partition("\nor, ")[0]
        .replace("found", "value")  # type: ignore[union-attr]
        for request in (block.requests[0], question)
    ]
    assert shown[0] == shown[1]
    of_block, of_question = block.requests[0].schema, question.schema
    assert of_block is not None
    assert of_question is not None
    assert of_block["anyOf"][0]["properties"]["found"] == of_question["properties"]["value"]
    assert of_block.get("$defs") == of_question.get("$defs")


def test_what_json_does_not_carry_is_refused_before_a_call() -> None:
    for schema in (object(), Any, list[Any], object, Callable[[], int]):
        with pytest.raises(TypeError, match=r"has no JSON form: .*; ask for another type"):
            asked(schema=schema)
    with pytest.raises(TypeError, match="such as a `TypedDict`"):
        asked(schema={"type": "string"})
