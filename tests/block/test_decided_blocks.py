"""Blocks that decide: questions, the probabilities of the answers, and what `sure` does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from enum import Enum, IntEnum
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import pytest
from programs import PlainProgram, Program, get_last_run
from pydantic import Field

import njrt
from njrt.data.decisions import Accept, PendingEffect, Reject
from njrt.effects import BindOutputs
from njrt.errors import ConfigurationError
from njrt.guests.approval.terminal import Approval
from njrt.testing import ModelMessage, Question, Reply, Scripted, run
from njrt.values.json_forms import make_json_form
from njrt.values.questions import (
    ESCAPE,
    check_probabilities,
    list_choices,
    make_decision,
    read_letters,
)


class Color(Enum):
    RED = "warm"
    BLUE = "BLUE"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Held:
    """A class without data."""


FEW = [
    (bool, ["True", "False"]),
    (bool | None, ["True", "False", "None"]),
    (Literal["a", "b"], ["a", "b"]),
    (Literal["a", 1, None], ["a", "1", "None"]),
    (Color, ["RED", "BLUE"]),
    (Color | None, ["RED", "BLUE", "None"]),
    (Color | Literal["other"], ["RED", "BLUE", "other"]),
    (Level, ["LOW", "HIGH"]),
    (Annotated[int, Field(ge=1, le=3)], ["1", "2", "3"]),
    (Annotated[int, Field(ge=1, le=19)], [str(number) for number in range(1, 20)]),
]
NOT_FEW = [
    str,
    int,
    float,
    list[bool],
    tuple[bool, bool],
    bool | str,
    Literal["only"],
    Literal[1, "1"],
    Literal["True"] | bool,
    Literal["", "x"],
    Literal["a\nb", "c"],
    Literal["a", " a"],
    Literal["x", "none of these can be said"],
    Annotated[int, Field(ge=1)],
    Annotated[int, Field(gt=-1, lt=2)],
    Annotated[int, Field(ge=0, lt=3)],
    Annotated[int, Field(ge=1, le=20)],
    Annotated[int, Field(ge=1, le=10**30)],
    Annotated[int, Field(ge=0, le=10, multiple_of=5)],
    Annotated[float, Field(ge=0, le=1)],
]


@pytest.mark.parametrize(("kind", "texts"), FEW, ids=str)
def test_types_with_a_few_values_are_listed(kind: Any, texts: list[str]) -> None:
    choices = list_choices((form := make_json_form(kind)).schema_with_members)
    assert [choice.text for choice in choices] == texts
    values = [form.decode(choice.value) for choice in choices]
    assert len({(type(value), value) for value in values}) == len(texts)


@pytest.mark.parametrize("kind", NOT_FEW, ids=str)
def test_other_types_are_not(kind: Any) -> None:
    assert list_choices(make_json_form(kind).schema_with_members) == ()


@pytest.mark.parametrize(
    ("objects", "texts"),
    [
        ([], []),
        ([Held()], []),
        ([Held(), "other", Held()], ["#1", "#3"]),
        ([Held()] * 20, []),
    ],
)
def test_objects_are_chosen_by_number(objects: list[Any], texts: list[str]) -> None:
    schema = make_json_form(Held, frozenset({Held})).schema_with_members
    assert [choice.text for choice in list_choices(schema, objects)] == texts


YES_NO, PAIR, TEXT = (
    make_json_form(kind).schema_with_members for kind in (bool, Literal["a", "b"], str)
)
BLOCKS: list[tuple[Mapping[str, Any], Any, list[str], list[str], bool]] = [
    ({"x": YES_NO}, None, [], [], True),
    ({"x": YES_NO, "y": PAIR, "z": PAIR}, None, [], [], True),
    ({"x": YES_NO, "y": PAIR, "z": PAIR, "w": PAIR}, None, [], [], False),
    ({"x": YES_NO, "y": PAIR, "z": PAIR}, None, ["break"], [], False),
    ({"x": YES_NO, "y": TEXT}, None, [], [], False),
    ({}, None, [], [], False),
    ({}, None, ["break"], [], True),
    ({}, None, [], ["ValueError"], True),
    ({}, None, ["bare_return"], [], True),
    ({}, PAIR, ["return"], [], True),
    ({}, TEXT, ["return"], [], False),
    ({}, None, ["return"], [], False),
]


@pytest.mark.parametrize(("outputs", "returned", "labels", "exceptions", "expected"), BLOCKS)
def test_blocks_of_at_most_three_questions_decide(
    outputs: Any, returned: Any, labels: list[str], exceptions: list[str], expected: bool
) -> None:
    made = make_decision(outputs, returned, labels, exceptions, ())
    assert (made is not None) is expected


TWO = Question("x", "Which is `x`?", ("a", "b", ESCAPE))
LETTERS: list[tuple[list[tuple[str, float]], tuple[float, ...] | None]] = [
    ([("A", -0.105360516), (" B", -2.302585093)], (0.9, 0.1, 0.0)),
    ([("A", -1.2039728), (" A", -1.2039728), ("a", -1.2039728)], (1.0, 0.0, 0.0)),
    ([("A", -0.69314718), ("The", -0.7)], (1.0, 0.0, 0.0)),
    ([("A", -0.9), ("<think>", -0.6)], None),
    ([("D", -0.01)], None),
    ([("Apple", -0.01)], None),
    ([], None),
    ([("A", float("nan"))], None),
    ([("A", 0.3)], None),
    ([("A", 0.0), ("B", 0.0)], None),
    ([("A", float("-inf")), ("C", -0.1)], (0.0, 0.0, 1.0)),
]


@pytest.mark.parametrize(("tokens", "expected"), LETTERS, ids=str)
def test_letters_are_read_only_if_they_are_the_answer(
    tokens: list[tuple[str, float]], expected: tuple[float, ...] | None
) -> None:
    found = read_letters(tokens, TWO)
    assert found == (expected if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("values", "is_fit"),
    [
        ((0.5, 0.3, 0.2), True),
        ((0.33, 0.33, 0.33), True),
        ((0.5, 0.5), False),
        ((0.5, 0.3, 0.4), False),
        ((0.5, 0.3, float("nan")), False),
        ((1.5, -0.5, 0.0), False),
        ((float("inf"), 0.0, 0.0), False),
        ((), False),
    ],
)
def test_numbers_are_checked(values: tuple[float, ...], is_fit: bool) -> None:
    assert (check_probabilities(values, TWO) is not None) is is_fit


# ── programs ─────────────────────────────────────────────────────────────────────────────────────

HEAD = """
from enum import Enum
from collections.abc import Sequence
from typing import Literal

class Kind(Enum):
    ORDER = "wants to buy"
    OTHER = "anything else"

class NoKind(ValueError): ...

class Item:
    def __init__(self, name): self.name = name
    def __repr__(self): return f"Item({self.name})"

APPLE, FRIES = Item("apple"), Item("fries")
"""
PROGRAMS = {
    "topic": '''
def f(mail: str):
    """natural{options}
    Put into <:topic: Literal["bills", "food"]> the topic of <mail>.
    """
    return topic
''',
    "two": '''
def f(mail: str):
    """natural{options}
    Put into <:kind: Kind> the kind of <mail>, and into <:urgent: bool> whether it is urgent.
    """
    return kind.name, urgent
''',
    "raise": '''
def f(mail: str):
    """natural{options}
    Put into <:kind: Kind> the kind of <mail>; raise <NoKind> if it has none.
    """
    return kind.name
''',
    "loop": '''
def f(mail: str):
    seen = []
    for word in mail.split():
        """natural{options}
        Break if <word> is a goodbye, continue if it is a greeting.
        """
        seen.append(word)
    return seen
''',
    "return": '''
def f(mail: str) -> Literal["spam", "ham"]:
    """natural{options}
    Return what <mail> is.
    """
''',
    "objects": '''
def f(mail: str, items: Sequence[Item] = (APPLE, FRIES)):
    """natural(effects="answer"{more})
    Put into <:best: Item | None> the one of <items> that fits <mail>.
    """
    return best
''',
    "assert": '''
def f(mail: str):
    """natural{options}
    Put into <:topic: Literal["bills", "food"]> the topic of <mail>.
    """
    assert topic in mail
    return topic
''',
}


def load(name: str, **options: Any) -> Program:
    """Compile a program with these options on its block."""
    given = ", ".join(f"{option}={value!r}" for option, value in options.items())
    text = PROGRAMS[name].replace("{options}", f"({given})" if given else "")
    text = text.replace("{more}", f", {given}" if given else "")
    return PlainProgram(HEAD + text)


DECIDED: list[tuple[str, list[Any], Any]] = [
    ("topic", [{"food": 0.9, "bills": 0.1}], "food"),
    ("two", [{"ORDER": 0.8}, {"False": 0.7}], ("ORDER", False)),
    ("raise", [{"none": 0.6}, {"OTHER": 1}], "OTHER"),
    ("raise", [{"raise NoKind": 0.6}], "NoKind"),
    ("loop", [{"continue": 1}, {"none": 1}, {"break": 1}], ["two"]),
    ("return", [{"return": 1}, {"ham": 1}], "ham"),
    ("objects", [{"#2": 0.9}], "Item(fries)"),
    ("objects", [{"None": 0.9}], "None"),
]


def play(program: Program, says: Any, mail: str = "one two three", **settings: Any) -> Any:
    """Return the result, or the name of the exception."""
    try:
        found = program.call("f", mail, says=says, **settings)
    except ValueError as error:
        return type(error).__name__
    return str(found) if "Item" in str(found) or found is None else found


@pytest.mark.parametrize(("name", "says", "expected"), DECIDED)
def test_blocks_decide_by_questions(name: str, says: list[Any], expected: Any) -> None:
    program = load(name, decide=True)
    assert play(program, says) == expected
    requests = program.model.requests
    assert len(requests) == len(says)
    assert all(it.question and it.max_reply_tokens == 1 and it.schema is None for it in requests)


def test_the_model_is_shown_the_values_and_then_the_answers() -> None:
    program = load("raise", decide=True)
    play(program, [{"none": 1}, {"ORDER": 1}])
    opening, further = program.told()
    assert opening.splitlines()[-6:] == [
        "`kind` is one of: ORDER (wants to buy), OTHER (anything else)",
        "Which jump does the instruction ask for here?",
        "A. none",
        "B. raise NoKind",
        "C. none of these can be said",
        "Reply with one letter.",
    ]
    assert further == (
        "Which is `kind`?\nA. ORDER: wants to buy\nB. OTHER: anything else\n"
        "C. none of these can be said\nReply with one letter."
    )
    first, second = program.model.requests
    assert second.messages[:2] == (*first.messages, ModelMessage("A"))


FALLBACKS: list[tuple[dict[str, Any], list[Any], str]] = [
    ({}, [{ESCAPE: 0.9}, {"topic": "food"}], "the model says that none fits"),
    ({}, ["B", {"topic": "food"}], "a reply without probabilities"),
    ({}, [Reply(ModelMessage("B"), probabilities=(0.1,)), {"topic": "food"}], "too few"),
    ({}, [Reply(ModelMessage("B"), probabilities=(2.0, 0, -1)), {"topic": "food"}], "no sum"),
    ({"authority": "strict"}, ["", {"topic": "food"}], "strict"),
]


@pytest.mark.parametrize(
    ("name", "says", "certainty"),
    [
        ("two", [{"ORDER": 0.75}, {"True": 0.5}], 0.5),
        ("topic", [{"food": 0.75}], 0.75),
        ("topic", [{ESCAPE: 0.9}, {"topic": "food"}], None),
        ("topic", ["?", {"topic": "food"}], None),
    ],
)
def test_the_certainty_is_the_least_of_all_answers(
    name: str, says: list[Any], certainty: float | None
) -> None:
    play(load(name, decide=True), says)
    assert get_last_run().certainty == certainty


@pytest.mark.parametrize(("options", "says", "why"), FALLBACKS)
def test_what_is_no_decision_is_asked_in_json(
    options: dict[str, Any], says: list[Any], why: str
) -> None:
    program = load("topic", decide=True, **options)
    assert play(program, says) == "food", why
    question = program.model.requests[0].question
    assert question is not None
    assert (ESCAPE in question.answers) is not bool(options)
    assert program.model.requests[1].schema is not None


def test_a_decision_that_breaks_an_assert_is_asked_in_json() -> None:
    program = load("assert", decide=True)
    assert play(program, [{"food": 1}, {"topic": "bills"}], "my bills") == "bills"
    assert "`topic in mail`" in program.told()[1]


def test_async_blocks_decide() -> None:
    text = PROGRAMS["topic"].replace("{options}", "(decide=True)")
    program = PlainProgram(HEAD + text.replace("def f", "async def f"))
    with program.saying([{"food": 1}]) as names:
        assert asyncio.run(names["f"]("x")) == "food"


# ── the numbers ──────────────────────────────────────────────────────────────────────────────────


def test_the_account_of_a_run_has_the_probabilities(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    with njrt.watch() as watch:
        load("two", decide=True).call(
            "f", "x", says=[{"ORDER": 0.75, "OTHER": 0.25}, {"True": 0.5}], trace=str(trace)
        )
    expected = {
        "kind": {"ORDER": 0.75, "OTHER": 0.25, ESCAPE: 0.0},
        "urgent": {"True": 0.5, "False": 0.25, ESCAPE: 0.25},
    }
    assert get_last_run().probabilities == watch.runs[0].probabilities == expected
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    replies = [it["reply"]["probabilities"] for it in events if it["event"] == "replied"]
    assert replies == [[0.75, 0.25, 0.0], [0.5, 0.25, 0.25]]


def test_a_replay_has_the_recorded_form_whatever_the_settings(tmp_path: Path) -> None:
    """Also the numbers are exact, and a recording in JSON stays one, without probabilities."""
    number = 1 - (0.1 + 0.2)
    for name, options, says in [
        ("letters", {"decide": True}, [{"food": number, "bills": 1 - number}]),
        ("json", {}, [{"topic": "food"}]),
        ("both", {"decide": True}, ["?", {"topic": "food"}]),
    ]:
        path = tmp_path / f"{name}.jsonl"
        assert play(load("topic", **options), says, record=str(path)) == "food"
        for other in ({"decide": True}, {}):
            replay = load("topic", **other)
            assert play(replay, [], record=njrt.Recorder(path, "none")) == "food"
            found = {"topic": {"bills": 1 - number, "food": number, ESCAPE: 0.0}}
            assert get_last_run().probabilities == (found if name == "letters" else {})


# ── what follows below `sure` ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "says", "expected"),
    [
        ("topic", [{"food": 0.9}], "food"),
        ("topic", [{"food": 0.89}], None),
        ("two", [{"ORDER": 1}, {"True": 0.8}], None),
        ("loop", [{"break": 0.95}], []),
        ("loop", [{"break": 0.5}], None),
        ("topic", [{ESCAPE: 1}], None),
        ("topic", ["no probability"], None),
    ],
)
def test_below_sure_nothing_is_bound(name: str, says: list[Any], expected: Any) -> None:
    program = load(name, sure=0.9)
    if expected is not None:
        assert play(program, says) == expected
        return
    with pytest.raises(njrt.Unsure) as caught:
        play(program, says)
    assert len(program.model.requests) == len(says)
    assert caught.value.probabilities == get_last_run().probabilities


def test_unsure_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for record in (str(path), njrt.Recorder(path, "none")):
        with pytest.raises(njrt.Unsure) as caught:
            play(load("topic", sure=0.9), [{"food": 0.7}], record=record)
        assert caught.value.probabilities["topic"]["food"] == 0.7


class NoDecisions(Scripted):
    can_decide = False


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("topic", {}),
        ("objects", {}),
        ("topic", {"effects": "direct"}),
        ("topic", {"unsure": "ask"}),
    ],
)
def test_where_no_probability_can_come_nothing_is_asked(name: str, options: dict[str, Any]) -> None:
    model = NoDecisions([{"topic": "food"}])
    function = load(name, sure=0.5, **options).load()["f"]
    with njrt.using(model=model), pytest.raises(ConfigurationError, match="sure"):
        function("x")
    assert model.requests == []


def ask_person(verdicts: list[Any], seen: list[PendingEffect]) -> Callable[[PendingEffect], Any]:
    """Return an interceptor like an approval, which asks no person about what is sure."""

    def decide(pending: PendingEffect) -> Any:
        if pending.is_sure:
            return Accept()
        seen.append(pending)
        return verdicts.pop(0)

    return decide


@pytest.mark.parametrize(
    ("says", "verdicts", "expected"),
    [
        ([{"food": 0.95}], [], "food"),
        ([{"food": 0.6}], [Accept()], "food"),
        ([{"food": 0.6}, {"topic": "bills"}], [Reject("it is a bill"), Accept()], "bills"),
        (["no probability", {"topic": "food"}], [Accept()], "food"),
        ([{ESCAPE: 1}, {"topic": "food"}], [Accept()], "food"),
    ],
)
def test_a_person_sees_the_answers_that_are_not_sure(
    says: list[Any], verdicts: list[Any], expected: str
) -> None:
    seen: list[PendingEffect] = []
    program = load("topic", sure=0.9, unsure="ask")
    left = [*verdicts]
    assert play(program, says, intercept=ask_person(left, seen)) == expected
    assert left == []
    assert [type(it.effect) for it in seen] == [BindOutputs] * len(verdicts)
    if len(verdicts) > 1:
        assert "it is a bill" in program.told()[1]


class Terminal:
    """A terminal on which a person says no more than yes."""

    def __init__(self) -> None:
        self.asked = 0

    def is_interactive(self) -> bool:
        return True

    def ask(self, prompt: str) -> str:
        self.asked += 1
        return "y"

    def write(self, text: str) -> None:
        pass


@pytest.mark.parametrize("calls", [False, True, ["pay"]])
@pytest.mark.parametrize(("probability", "times"), [(0.95, 0), (0.6, 1)])
def test_an_approval_asks_only_about_what_is_not_sure(
    calls: Any, probability: float, times: int
) -> None:
    """Also one that asks about calls, and would accept other answers."""
    terminal = Terminal()
    approval = Approval(cast(Any, terminal), calls)
    program = load("topic", sure=0.9, unsure="ask")
    assert play(program, [{"food": probability}], intercept=approval) == "food"
    assert terminal.asked == times


def test_code_in_place_of_an_answer_is_asked_about() -> None:
    seen: list[PendingEffect] = []
    program = load("topic", sure=0.9, unsure="ask")
    says = [{ESCAPE: 1}, {"needs_code": "it counts"}, run("topic = 'food'", done=True)]
    verdicts = [Accept(), Accept()]
    assert play(program, says, intercept=ask_person(verdicts, seen)) == "food"
    assert [type(it.effect).__name__ for it in seen] == ["NeedsCode", "Run"]


def test_the_decision_of_a_person_is_replayed(tmp_path: Path) -> None:
    path, seen = tmp_path / "a.jsonl", list[PendingEffect]()
    program = load("topic", sure=0.9, unsure="ask")
    with_person = ask_person([Accept()], seen)
    assert play(program, [{"food": 0.6}], record=str(path), intercept=with_person) == "food"
    assert seen[0].probabilities["topic"]["food"] == 0.6
    assert play(program, [], record=njrt.Recorder(path, "none")) == "food"


@pytest.mark.parametrize("says", [[{"food": 0.6}], ["no probability"], [{ESCAPE: 1}]])
def test_another_model_answers_what_is_not_sure(
    says: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    large = Scripted([{"topic": "bills"}], name="large")
    monkeypatch.setattr(
        "njrt.block.session.layered_model.choose_model", lambda options, environ: large
    )
    program = load("topic", sure=0.9, unsure="openai/large")
    assert play(program, says) == "bills"
    assert (len(program.model.requests), len(large.requests)) == (len(says), 1)
    assert large.requests[0].schema is not None


@pytest.mark.parametrize(
    ("option", "value"),
    [("sure", 1.5), ("sure", -0.1), ("sure", float("nan")), ("sure", "high"), ("decide", "yes")],
)
def test_the_options_are_checked(option: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=option), njrt.using(**{option: value}):
        pass
