"""The isolated model call: text and data come back, and what does not fit is an error."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ValidationError

from njrt.errors import NoModelError, ReplyError
from njrt.testing import Said, Scripted, call
from spsbench.llm import llm, make_strict_schema, use_model


class Leg(BaseModel):
    length: float = 1.0


class Animal(BaseModel):
    kind: Literal["cat", "dog"]
    legs: list[Leg]
    owner: str | None = None


CAT = {"kind": "cat", "legs": [{"length": 2.5}], "owner": None}


def asked(said: Said, schema: Any = None, **how: Any) -> tuple[Any, Scripted]:
    model = Scripted([said], **how)
    with use_model(model):
        return (llm("Go!") if schema is None else llm("Go!", schema)), model


def test_without_a_schema_the_text_comes_back_and_no_tool_is_offered() -> None:
    answer, model = asked(" Jane Austen\n")
    assert answer == " Jane Austen\n"
    assert model.requests[0].tools == ()


@pytest.mark.parametrize(
    "said",
    [
        call("answer", answer=8),
        [call("other"), call("answer", answer=8)],
        "8",
        '{"answer": 8}',
        "```json\n8\n```",
        "It is this:\n```8```",
    ],
)
def test_a_json_schema_gives_plain_data(said: Said) -> None:
    answer, model = asked(said, {"type": "integer"})
    assert answer == 8
    (tool,) = model.requests[0].tools
    assert tool.parameters["properties"] == {"answer": {"type": "integer"}}


def test_a_pydantic_model_gives_an_instance_and_its_definitions_stay_within_reach() -> None:
    answer, model = asked(call("answer", answer=CAT), Animal)
    assert answer == Animal(kind="cat", legs=[Leg(length=2.5)])
    (tool,) = model.requests[0].tools
    assert set(tool.parameters["$defs"]) == {"Leg"}
    assert tool.parameters["properties"]["answer"]["required"] == ["kind", "legs", "owner"]


def test_a_model_of_plain_text_is_shown_the_schema() -> None:
    answer, model = asked('```json\n{"length": 3}\n```', Leg, protocol="text")
    assert answer == Leg(length=3)
    assert model.requests[0].tools == ()
    assert '"length"' in model.requests[0].system


def test_a_fence_within_an_answer_is_a_part_of_it() -> None:
    answer, _ = asked('{"answer": "Write ```7``` there."}', {"type": "string"})
    assert answer == "Write ```7``` there."


def test_what_is_no_json_is_an_error() -> None:
    with pytest.raises(ReplyError, match="not JSON: 'eight'"):
        asked("eight", {"type": "integer"})


def test_what_does_not_fit_the_model_is_an_error() -> None:
    with pytest.raises(ValidationError):
        asked(call("answer", answer={"kind": "cow"}), Animal)


def test_nobody_answers_outside_of_the_with() -> None:
    asked("x")
    with pytest.raises(NoModelError, match="use_model"):
        llm("Go!")


def test_strict_asks_for_every_property_and_drops_defaults() -> None:
    schema = {
        "type": "object",
        "properties": {
            "default": {"type": "string", "default": "x"},
            "inner": {"type": "object", "properties": {"a": {"type": "integer"}}},
        },
    }
    assert make_strict_schema(schema) == {
        "type": "object",
        "properties": {
            "default": {"type": "string"},
            "inner": {
                "type": "object",
                "properties": {"a": {"type": "integer"}},
                "required": ["a"],
                "additionalProperties": False,
            },
        },
        "required": ["default", "inner"],
        "additionalProperties": False,
    }
