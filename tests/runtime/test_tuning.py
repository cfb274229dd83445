"""Tuned blocks: options and examples for one model, reasoning before an answer, votes, and questions from code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import njrt
from njc.codegen.tuned import TunedBlock
from njc.compiler import compile_source
from njc.frontend.source import SourceFile
from njrt.message_json import find_last_object
from njrt.messages import ModelMessage, Protocol, Reply, Request
from njrt.models.scripted import run

PROGRAM = '''\
from typing import Literal


def judge(review: str) -> str:
    """natural
    Put into <:mood: Literal["good", "bad"]> what the author of <review> thinks.
    """
    return mood


def mark(reviews: list[dict[str, object]]) -> None:
    """natural
    Set hidden to true in each of <reviews> that is an insult.
    """
'''
JUDGE = 'Put into <:mood: Literal["good", "bad"]> what the author of <review> thinks.'
MARK = "Set hidden to true in each of <reviews> that is an insult."
EXAMPLES = (("review = 'Superb.'", '{"mood": "good"}'), ("review = 'Dull.'", '{"mood": "bad"}'))


def load(*tuned: TunedBlock, program: str = PROGRAM) -> ModuleType:
    compilation = compile_source(SourceFile("film.njpy", program.encode()), tuned=tuned)
    assert compilation.output is not None, compilation.diagnostics
    module = ModuleType("film")
    exec(compile(compilation.output, "film.py", "exec"), vars(module))
    return module


def tuned(
    options: dict[str, Any], examples: Any = (), model: str = "small", instruction: str = JUDGE
) -> TunedBlock:
    return TunedBlock(instruction, model, options, examples)


def ask(
    module: ModuleType,
    script: Any,
    name: str = "small",
    protocol: Protocol = "text",
    **settings: Any,
) -> tuple[Any, list[Request]]:
    model = njrt.Scripted(script, name=name, protocol=protocol)
    with njrt.using(model=model, **settings):
        return module.judge("Great!"), model.requests


def list_roles(request: Request) -> list[str]:
    return [type(message).__name__ for message in request.messages]


REASONED = {
    "a last line": 'The author likes it.\n{"mood": "good"}',
    "a fence": 'They like it.\n```json\n{"mood": "good"}\n```',
    "after another object": '{"mood": "bad"} would be wrong, so\n{"mood": "good"}',
    "inside a sentence": 'So the answer is {"mood": "good"}.',
    "as Python writes it": "So:\n{'mood': 'good'}",
    "alone": '{"mood": "good"}',
}


@pytest.mark.parametrize("text", REASONED.values(), ids=REASONED)
def test_the_answer_is_the_last_object_of_a_reasoned_reply(text: str) -> None:
    module = load(tuned({"reasoning": "text"}))
    mood, requests = ask(module, [text])
    assert mood == "good"
    assert requests[0].schema is None
    assert "First reason step by step" in requests[0].system
    assert requests[0].messages[0].text.endswith('Then end with {"mood": "good" | "bad"}')  # type: ignore[union-attr]


def test_a_reasoned_reply_without_an_answer_is_refused() -> None:
    module = load(tuned({"reasoning": "text"}))
    mood, requests = ask(module, ["I like it.", '{"mood": 3}', '{"mood": "bad"}'])
    assert mood == "bad"
    assert "is no JSON object" in requests[1].messages[-1].text  # type: ignore[union-attr]


def test_another_model_is_asked_as_if_nothing_was_tuned() -> None:
    reply = '{"mood": "good"}'
    _, plain = ask(load(), [reply])
    _, other = ask(load(tuned({"reasoning": "text"}, EXAMPLES)), [reply], name="large")
    assert replace(plain[0], seconds_left=None) == replace(other[0], seconds_left=None)


@pytest.mark.parametrize("configured", ["python:own_{0}:x", "python:own_{0}:x,python:own_{0}:y"])
def test_a_model_of_the_program_is_tuned_by_the_name_that_it_gives_itself(
    configured: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = configured.count("python")  # models are shared by their place
    (tmp_path / f"own_{number}.py").write_text(
        "import njrt\nMODELS = {}\ndef open_model(name):\n"
        '    script = lambda _: "Good.\\n{\\"mood\\": \\"good\\"}"\n'
        '    return MODELS.setdefault(name, njrt.Scripted(script, name=f"mine/{name}", protocol="text"))\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("NJC_MODEL", configured.format(number))
    name = ",".join(["mine/x", "mine/y"][:number])
    module = load(tuned({"reasoning": "text"}, model=name))
    assert module.judge("Great!") == "good"
    (request,) = __import__(f"own_{number}").MODELS["x"].requests
    assert "First reason step by step" in request.system


def test_examples_are_earlier_turns_and_stay_when_a_reply_is_refused() -> None:
    module = load(tuned({}, EXAMPLES))
    mood, requests = ask(module, ['{"mood": "fine"}', '{"mood": "good"}'])
    assert mood == "good"
    first, second = requests
    assert list_roles(first) == ["UserMessage", "ModelMessage"] * 2 + ["UserMessage"]
    texts = [message.text for message in first.messages]  # type: ignore[union-attr]
    assert texts[0].startswith(f"{JUDGE}\n---\nreview = 'Superb.'\nReply with ")
    assert texts[1:4] == ['{"mood": "good"}', "review = 'Dull.'", '{"mood": "bad"}']
    assert "review = 'Great!'" in texts[4]
    assert second.messages[:5] == first.messages


def test_examples_are_not_shown_where_code_is_needed() -> None:
    module = load(tuned({}, EXAMPLES))
    mood, requests = ask(module, ['{"needs_code": "to count"}', "```python\nmood = 'good'\n```"])
    assert mood == "good"
    assert list_roles(requests[1]) == ["UserMessage"]


def test_examples_of_another_form_are_not_shown() -> None:
    module = load(tuned({"reasoning": "text"}, EXAMPLES))
    _, requests = ask(module, ['{"mood": "good"}'], reasoning="none")
    assert list_roles(requests[0]) == ["UserMessage"]
    assert requests[0].schema is not None


@pytest.mark.parametrize(
    ("replies", "mood"),
    [
        (['{"mood": "bad"}', 'x\n{"mood": "good"}', '{"mood":"good"}'], "good"),
        (['{"mood": "bad"}', "nothing", '{"mood": "bad"}'], "bad"),
    ],
)
def test_votes(replies: Sequence[str], mood: str) -> None:
    module = load(tuned({"votes": 3, "reasoning": "text"}))
    found, requests = ask(module, list(replies), temperature=0.0)
    assert (found, len(requests)) == (mood, 3)
    assert {request.temperature for request in requests} == {0.7}


def test_code_that_reasons_or_asks() -> None:
    reviews: list[dict[str, object]] = [{"text": "You fool"}, {"text": "Fine"}]

    def answer(request: Request) -> Any:
        if "ask(question, type)" in request.system:
            code = (
                "for review in reviews:\n    review['hidden'] = ask(f'An insult? {review}', bool)"
            )
            return f"```python\n{code}\n```"
        return json.dumps({"value": "fool" in str(request.messages)})

    module = load(tuned({"reasoning": "ask"}, instruction=MARK))
    with njrt.using(model=njrt.Scripted(answer, name="small", protocol="text")):
        module.mark(reviews)
    assert [review["hidden"] for review in reviews] == [True, False]

    module = load(tuned({"reasoning": "text"}, instruction=MARK))
    model = njrt.Scripted(
        ["The first is one.\n```python\nreviews[1]['hidden'] = 7\n```"],
        name="small",
        protocol="text",
    )
    with njrt.using(model=model):
        module.mark(reviews)
    assert reviews[1]["hidden"] == 7
    assert "First reason step by step" in model.requests[0].system
    assert "and nothing else" not in model.requests[0].system


def test_tools_may_reason_too() -> None:
    module = load(tuned({"effects": "direct", "reasoning": "text"}))
    model = njrt.Scripted([run("mood = 'bad'", done=True)], name="small", protocol="tools")
    with njrt.using(model=model):
        assert module.judge("x") == "bad"
    assert "First reason step by step" in model.requests[0].system


def test_a_recording_of_a_tuned_block_needs_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, path = load(tuned({"reasoning": "text"}, EXAMPLES)), tmp_path / "run.jsonl"
    with njrt.using(record=path, mode="new"):
        mood, _ = ask(module, ['Good.\n{"mood": "good"}'])
    shown = json.loads(path.read_text().splitlines()[1])["shown"]
    assert next(iter(shown[1])) == "model"
    for variable in ("NJC_MODEL", "NJC_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with njrt.using(record=path, mode="none"):
        assert module.judge("Great!") == mood
    monkeypatch.setenv("NJC_MODEL", "openai/small")
    other = load(tuned({"reasoning": "text"}, EXAMPLES, model="openai/small"))
    with njrt.using(record=path, mode="none"):
        assert other.judge("Great!") == mood


def test_a_replay_of_a_tuned_block_opens_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model in Python may be a network that is not there where tests run."""
    module = load(
        tuned({"reasoning": "text"}, model="mine"), tuned({"reasoning": "ask"}, model="b")
    )
    path = tmp_path / "run.jsonl"
    with njrt.using(record=path, mode="new"):
        mood, _ = ask(module, ['Good.\n{"mood": "good"}'], name="mine")
    (tmp_path / "own_absent.py").write_text("def open_model(name): raise OSError('no network')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("NJC_MODEL", "python:own_absent:x")
    with njrt.using(record=path, mode="none"):
        assert module.judge("Great!") == mood
    with njrt.using(record=path, mode="new"), pytest.raises(OSError, match="no network"):
        module.judge("Great!")


def test_an_author_may_set_both(monkeypatch: pytest.MonkeyPatch) -> None:
    program = PROGRAM.replace('"""natural\n', '"""natural(reasoning="text", votes=2)\n', 1)
    mood, requests = ask(load(program=program), ['{"mood": "bad"}'] * 2)
    assert (mood, len(requests)) == ("bad", 2)
    compiled = compile_source(
        SourceFile("film.njpy", program.encode()), tuned=[tuned({"reasoning": "none", "votes": 5})]
    )
    assert compiled.output is not None
    assert b'tuned={"small": {}}' in compiled.output


def test_no_section_gives_code_to_a_strict_block() -> None:
    program = PROGRAM.replace('"""natural\n', '"""natural(authority="strict")\n', 1)
    module = load(tuned({"effects": "direct", "reasoning": "text"}), program=program)
    _, requests = ask(module, ['Good.\n{"mood": "good"}'])
    assert requests[0].messages[0].text.endswith('{"mood": "good" | "bad"}')  # type: ignore[union-attr]


OBJECTS: dict[str, tuple[str, Any]] = {
    "nothing": ("no", None),
    "the last": ('{"a": 1} {"b": 2}', {"b": 2}),
    "nested": ('x {"a": {"b": 1}}', {"a": {"b": 1}}),
    "unfinished": ('{"a": 1} and {"b": ', {"a": 1}),
    "Python": ("{'a': None, 'b': True}", {"a": None, "b": True}),
    "no data": ("{1, 2} {'a': {1}}", None),
    "a list": ("[1]", None),
    "many braces": ("{" * 100_000, None),
    "deep": ('{"a":' * 5_000, None),
    "set beside": ('{x} {"a": 1} {y}', {"a": 1}),
}


@pytest.mark.parametrize(("text", "found"), OBJECTS.values(), ids=OBJECTS)
def test_the_last_object_of_a_text(text: str, found: Any) -> None:
    assert find_last_object(text) == found


def test_votes_are_counted_by_the_answer_of_a_reasoned_reply() -> None:
    from njrt.models.vote import make_ballot

    request = Request("", ())

    def make(text: str) -> str:
        return make_ballot(request, Reply(ModelMessage(text)))

    assert make('One way.\n{"a": 1.0}') == make('Another.\n```json\n{"a": 1}\n```')
    assert make('{"a": 1}') != make('{"a": 2}')
    assert make("```python\nx = 1  # one\n```") == make("```python\nx=1\n```")


def test_a_copied_example_of_an_exception_is_no_answer() -> None:
    mood, requests = ask(load(), ['{"raise": "ValueError", "message": "why"}', '{"mood": "bad"}'])
    assert mood == "bad"
    assert list_roles(requests[1]) == ["UserMessage"]
    assert "the reason into" in requests[1].messages[0].text  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="no review"):
        ask(load(), ['{"raise": "ValueError", "message": "no review"}'])
