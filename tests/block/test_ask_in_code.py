"""`ask` inside the code of a block: a question to the block's model, under its limits."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import njrt
from njrt.testing import Scripted, UserMessage, call
from spsbench.interfaces import make_settings

CODE = """```python
made = [word for word in given if ask(f"Is {word!r} a fruit?", bool)]
```"""
ANSWERS = ('{"value": true}', '{"value": false}')


def play(model: Scripted, given: Any = ("pear", "car"), **options: Any) -> Any:
    made = None
    with njrt.using(model=model, **options):
        njrt.run(
            "natural\nKeep the fruits of <given> in <:made>.",
            lambda: (given, made),
            writes="made",
            at="case.njpy:1",
        )
    return made


def scripted(*replies: str) -> Scripted:
    return Scripted(list(replies), protocol="text")


def shown(model: Scripted, number: int) -> str:
    message = model.requests[number].messages[0]
    assert isinstance(message, UserMessage)
    return message.text


def test_code_may_ask_for_a_judgement() -> None:
    model = scripted(CODE, *ANSWERS)
    assert play(model) == ["pear"]
    assert shown(model, 1).startswith(
        "Is 'pear' a fruit?\n---\nReply with {\"value\": true | false}"
    )
    assert {request.place for request in model.requests} == {"case.njpy:1"}


def test_an_answer_that_does_not_fit_is_asked_for_again() -> None:
    assert play(scripted(CODE, "Yes!", *ANSWERS)) == ["pear"]


def test_questions_count_as_calls_of_the_block_and_are_traced(tmp_path: Path) -> None:
    with njrt.watch() as account:
        play(scripted(CODE, *ANSWERS), trace=tmp_path / "t.jsonl")
    assert (account.totals.runs, account.totals.calls) == (1, 3)
    events = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events].count("asked") == 3
    assert len({event["run"] for event in events}) == 1
    with pytest.raises(njrt.CallLimitError):
        play(scripted(CODE, *ANSWERS), max_calls=2)


def test_questions_are_recorded_and_replayed(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    assert play(scripted(CODE, *ANSWERS), record=file) == ["pear"]
    assert play(scripted(), record=f"none:{file}") == ["pear"]


def test_secrets_are_not_asked_about() -> None:
    model = scripted("```python\nmade = ask(f'Is {given} safe?')\n```", "no")
    assert play(model, {"password": "tr0ub4dor&3"}) == "no"
    assert "tr0ub4dor" not in shown(model, 1)


def test_an_asynchronous_block_awaits_its_questions() -> None:
    given, made = "pear", None
    model = scripted(
        "```python\nmade = ask('Is it?', bool)\n```",
        "```python\nmade = await ask(f'Is {given} it?', bool)\n```",
        '{"value": true}',
    )

    async def main() -> None:
        with njrt.using(model=model):
            await njrt.arun(
                "natural\nJudge <given>: <:made>.",
                lambda: (given, made),
                writes="made",
                at="case.njpy:1",
            )

    asyncio.run(main())
    assert made is True
    last = model.requests[1].messages[-1]
    assert isinstance(last, UserMessage)
    assert "write `await ask(...)`" in last.text


def test_a_variable_of_the_program_with_this_name_comes_first() -> None:
    def ask(question: str) -> str:
        return f"asked {question}"

    made = None
    with njrt.using(model=scripted("```python\nmade = ask('x')\n```")):
        njrt.run("natural\n<ask> <:made>", lambda: (ask, made), writes="made", at="case.njpy:1")
    assert made == "asked x"


def test_the_block_may_use_the_name_for_its_own() -> None:
    assert play(scripted("```python\nask = 3\nmade = ask\n```")) == 3


@pytest.mark.usefixtures("guarded")
def test_after_its_block_a_function_cannot_ask() -> None:
    made = play(scripted("```python\ndef made():\n    return ask('x')\n```"))
    with pytest.raises(RuntimeError, match="only while its block runs"):
        made()


def test_code_of_an_interface_does_not_have_it() -> None:
    model = Scripted(
        [call("exec", code=code) for code in ("made = ask('x')", "made = 1")] + [call("done")]
    )
    assert play(model, **make_settings("nightjar")) == 1
    assert len(model.requests) == 3
