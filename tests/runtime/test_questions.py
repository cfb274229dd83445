"""`njrt.llm`: one question, one value that fits; checked, mended once, recorded, limited."""

from __future__ import annotations

import asyncio
import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

import njrt
from njrt.messages import Request, UserMessage
from njrt.models.scripted import Said, call
from njrt.session.structured_output import (
    describe_schema,
    find_schema_problems,
    make_answer_schema,
    wrap_schema,
)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: int


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


ANSWERS: list[tuple[Any, Any, Any]] = [
    (bool, True, True),
    (int, 3, 3),
    (float, 3, 3.0),
    (Literal["a", "b"], "b", "b"),
    (Color, "red", Color.RED),
    (list[int], [1, 2], [1, 2]),
    (list[Color], ["red", "blue"], [Color.RED, Color.BLUE]),
    (Point, {"x": 1, "y": 2}, Point(1, 2)),
    (list[Point], [{"x": 1, "y": 2}], [Point(1, 2)]),
    (Order, {"customer": "I", "lines": [{"article": "mug"}]}, Order(customer="I", lines=[Line(article="mug")])),
    (Tree, {"name": "a", "children": [{"name": "b"}]}, Tree(name="a", children=[Tree(name="b")])),
    (int | None, None, None),
    ({"type": "string", "enum": ["a"]}, "a", "a"),
    (
        {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        {"n": 1},
        {"n": 1},
    ),
]  # fmt: skip


def asked(*replies: Said, protocol: Any = "text", **options: Any) -> tuple[Any, list[Request]]:
    """Ask with a scripted model; `schema` is among the options."""
    schema = options.pop("schema", None)
    model = njrt.Scripted(replies, protocol=protocol)
    with njrt.using(model=model, **options):
        return njrt.llm("What?", schema), model.requests


@pytest.mark.parametrize(("schema", "answer", "value"), ANSWERS)
def test_answers_by_tool_call_and_by_text(schema: Any, answer: Any, value: Any) -> None:
    import json

    assert asked(call("answer", value=answer), protocol="tools", schema=schema)[0] == value
    assert asked(json.dumps({"value": answer}), schema=schema)[0] == value
    assert asked(f"```json\n{json.dumps(answer)}\n```", schema=schema)[0] == value


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
        ({"type": "integer"}, "1.5", "the answer: 1.5 is not of type 'integer'"),
        (
            {"type": "array", "items": {"type": "boolean"}},
            "[1]",
            "the answer[0]: 1 is not of type 'boolean'",
        ),
    ],
)
def test_what_does_not_fit_goes_back_once(schema: Any, wrong: str, words: str) -> None:
    with pytest.raises(njrt.ReplyError, match="does not fit what was asked for"):
        asked(wrong, wrong, schema=schema)
    model = njrt.Scripted([wrong, wrong], protocol="text")
    with njrt.using(model=model), pytest.raises(njrt.ReplyError):
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
    last = njrt.last_run()
    assert last is not None
    assert last.place == "mail.njpy:3"
    with njrt.using(record=recording, mode="none"):
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


@pytest.mark.parametrize("schema", [answer[0] for answer in ANSWERS])
def test_schemas_are_strict(schema: Any) -> None:
    written = wrap_schema(make_answer_schema(schema))
    assert list(find_schema_problems(written)) == []
    waiting: list[Any] = [written]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            assert not part.keys() & {"default", "minimum", "title", "const", "oneOf", "pattern"}
            if part.get("type") == "object":
                assert part["required"] == list(part["properties"])
                assert part["additionalProperties"] is False
        waiting += (
            part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        )


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (dict[str, int], "an object must name its properties"),
        (tuple[int, str], "ask for list"),
        (Any, "a type must say what it is"),
        (list[Any], "a type must say what it is"),
    ],
)
def test_what_vendors_refuse_is_asked_for_in_words(schema: Any, words: str) -> None:
    assert any(words in problem for problem in find_schema_problems(make_answer_schema(schema)))


def test_an_unusual_type_still_works() -> None:
    assert asked('{"value": {"a": 1}}', schema=dict[str, int], protocol="tools")[0] == {"a": 1}
    with pytest.raises(TypeError, match="no JSON schema can be made of"):
        asked("x", schema=object())


def test_shapes_for_people() -> None:
    assert describe_schema(make_answer_schema(Order)) == (
        '{"customer": "text", "lines": [{"article": "text", "quantity": a whole number}, ...], '
        '"note": "text" | null}'
    )
    assert describe_schema(make_answer_schema(Literal["a", "b"])) == '"a" | "b"'
