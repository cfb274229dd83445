"""What a model is told to write after a mistake, and the classes that it may use because it was shown them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from playing import carry_out

import njrt
from njrt.testing import Request, Scripted, UserMessage, run
from njrt.values.rendering.shown_classes import find_shown_classes

pytestmark = pytest.mark.usefixtures("guarded")


class Store(ABC):
    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def total(self, basket: list[str]) -> float: ...


class Word(NamedTuple):
    text: str
    tag: str


class Guests: ...


@dataclass
class Later:
    line: Line | None = None


@dataclass
class Line:
    word: Word
    later: Later | None = None


def play(*codes: str, given: Any = None, types: Any = None) -> tuple[Any, list[str]]:
    """Carry out a block over <given> and <:made>: what it made, None if it gave up, and what the model was told."""
    made, requests = request_replies(*codes, given=given, types=types)
    return made, list(map(told, requests[1:]))


def request_replies(*codes: str, given: Any = None, types: Any = None) -> tuple[Any, list[Request]]:
    """Return the same, with all that the model was asked."""
    model = Scripted([f"```python\n{code}\n```" for code in codes], protocol="text")
    made = None
    del made
    try:
        with njrt.using(model=model, max_calls=len(codes)):
            njrt.run(
                "natural\nUse <given>, make <:made>.",
                lambda: (given, made),
                writes="made",
                types=types,
                at="case.njpy:1",
            )
    except (njrt.LimitError, njrt.ReplyError):
        made = None
    return made, model.requests


def told(request: Request) -> str:
    last = request.messages[-1]
    assert isinstance(last, UserMessage)
    return last.text


SUBCLASS = "write `class NAME(Store):` and define `total` in it"


ADVICE: list[tuple[Any, str, str]] = [
    (Line(Word("a", "b"), None), "made = given.words", "a `Line` has `word`, `later`"),
    (datetime, "made = given.datetime(2026, 3, 2)", "write `datetime(...)`"),
    (1, "made = later", "`later` is not visible"),
    (1, "made = made", "assign a value to `made` first"),
    (Store, "made = given('Bag End')", SUBCLASS),
    (Store, "class given:\n    def total(self): return 0", "write `class NAME(given):` and define `total`"),
    (Word, "made = given('a')", "write `Word(text: str, tag: str)`"),
    (Word, "class given:\n    size: int", "`given(...)`, or `class NAME(given):` for a subclass"),
    (Line, "made = given()", "write `Line(word: Word, later: Later | None = None)`"),
    ([1], "given = [2]", "change the object itself, as by `given.append(ITEM)` or `given[:] = ITEMS`"),
    ({1: 2}, "given = {}", "as by `given[KEY] = VALUE`"),
    ({1}, "given = set()", "as by `given.add(ITEM)`"),
    (3, "given = 4", "bind another name instead"),
    ("two teas", "made = int(given.split()[0])", "read it yourself, and write what it says as literals"),
    (1, "pass", "`made` is not bound yet; assign a value to `made`"),
    (1, "made = Enemy('orc')", "no such class is there. Visible are"),
    (Word("a", "b"), "made = Wrod('a', 'b')", "did you mean `Word`?"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "code", "advice"), ADVICE)
def test_a_refusal_says_what_to_write(given: Any, code: str, advice: str) -> None:
    _, (text,) = play(code, "made = 1", given=given)
    assert advice in text


NAMES = ("Enemy", "enemy", "Lenn", "lenn", "Stor", "stor", "Valueerror", "ENEMIES")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("own", NAMES)
def test_only_a_name_of_the_same_kind_is_suggested(name: str, own: str) -> None:
    _, (text,) = play(f"made = {name}\n{own} = 1" if name != own else f"made = {name}", "made = 1")
    suggested = text.partition("did you mean `")[2].partition("`")[0]
    assert not suggested or suggested[0].isupper() == name[0].isupper()


@pytest.mark.parametrize(("given", "code", "_"), ADVICE)
def test_a_repeated_mistake_begins_the_block_anew(given: Any, code: str, _: str) -> None:
    wrong = [f"{code}\n# attempt {number}" for number in range(3)]
    _, requests = request_replies(*wrong, "made = 1", given=given)
    opening, *texts = map(told, requests)
    assert "Use <given>" not in texts[0]
    for request, text, refusal in zip(
        requests[2:], texts[1:], ("again: ", "refused 3 times: "), strict=True
    ):
        assert text.startswith(opening.partition("---")[0])
        assert f"\n\n{refusal}" in text
        assert len(request.messages) == 1, "the code that failed is not shown"
    assert "made = VALUE" in texts[1]


def test_what_the_model_has_looked_at_stays() -> None:
    wrong = [run("made = nothing", done=True)] * 2
    model = Scripted([run("given", done=False), *wrong, run("made = 1", done=True)])
    given, made = 3, None
    with njrt.using(model=model):
        njrt.run("natural\n<given> <:made>", lambda: (given, made), writes="made", at="case.njpy:1")
    assert [len(request.messages) for request in model.requests] == [1, 3, 5, 5]


def test_the_second_refusal_shows_the_form_of_the_code() -> None:
    _, texts = play("made = given('x')", "made = given('y')", "made = 1", given=Store)
    assert texts[1].endswith(
        "Write all of it anew, in this form:\n"
        "class NAME(given):\n    def total(self, ...): ...\nmade = VALUE"
    )


def test_the_same_reply_again_is_not_shown_twice() -> None:
    _, requests = request_replies("nothing", "nothing", "nothing", "made = 1")
    assert [len(request.messages) for request in requests] == [1, 3, 1, 1]
    assert len({told(request) for request in requests}) == 4


# --- shown classes


@pytest.mark.parametrize(
    ("values", "types", "found"),
    [
        ([Word("a", "b")], [], [Word]),
        ([[Word("a", "b")]], [], [Word]),
        ([{1: Word("a", "b")}], [], [Word]),
        ([], [list[Word] | None], [Word]),
        ([], [Line], [Line, Word, Later]),
        ([Line], [], [Line, Word, Later]),
        ([3, "a", None], [int, list[str]], []),
    ],
)
def test_shown_classes_are_found(values: list[Any], types: list[Any], found: list[type]) -> None:
    assert find_shown_classes(values, types) == found


def test_shown_classes_can_be_used() -> None:
    made, _ = play("made = Word(text=given[0].text, tag='c')", given=[Word("a", "b")])
    assert made == Word("a", "c")
    made, _ = play("made = Line(Word('a', 'b'), Later())", types=lambda: {"made": Line})
    assert made == Line(Word("a", "b"), Later())
    made, texts = play("made = Word('a', 'b')", "made = 2")
    assert made == 2
    assert "`Word` is not visible" in texts[0]


def test_a_name_that_the_program_uses_for_something_else_stays_hidden() -> None:
    shown = type("njrt", (), {"__module__": __name__})()
    _, (text,) = play("made = njrt()", "made = 1", given=shown)
    assert "`njrt` is not visible" in text


@pytest.mark.parametrize("more", ["text: str", "size: int", "def total(self): return 0"])
def test_a_class_that_is_written_down_again_is_refused(more: str) -> None:
    _, (text,) = play(f"class Word:\n    {more}\nmade = Word", "made = 1", given=Word("a", "b"))
    assert "`Word` exists already" in text


def test_definitions_of_what_exists_are_named_at_once() -> None:
    def sell() -> None: ...

    def buy() -> None: ...

    text = carry_out("def sell(): ...\ndef buy(): ...", sell=sell, buy=buy)
    assert "`sell` exists already, and so does `buy`: leave these" in text


VALUE_OF_A_NAME = [
    ("made", None, "", True),
    ("made", None, "object", False),
    ("made", None, "type(...)", False),
    ("made", None, "Missing", False),
    ("given.made", SimpleNamespace(made=None), "", True),
]


@pytest.mark.parametrize(("path", "given", "type_", "is_refused"), VALUE_OF_A_NAME)
def test_an_ellipsis_is_the_value_only_of_an_output_whose_type_admits_it(
    path: str, given: Any, type_: str, is_refused: bool
) -> None:
    made = None
    model = Scripted([run(f"{path} = ...", done=True), run(f"{path} = 1", done=True)])
    types = (lambda: {path: eval(type_, {})}) if type_ else None
    with njrt.using(model=model):
        njrt.run(f"natural\n<:{path}>", lambda: (given, made), writes=path, types=types, at="a:1")
    assert (len(model.requests) == 2) == is_refused


class Box:
    def find(self, key: Later, *others: Line) -> list[Word]:
        raise LookupError

    @classmethod
    def make(cls) -> Store:
        raise LookupError

    def _hidden(self) -> Guests:
        raise LookupError


def test_code_may_use_the_classes_of_shown_signatures() -> None:
    _, texts = play("Later, Line, Word, Store\nmade = Guests", "made = 1", given=Box())
    assert "`Guests` is not visible" in texts[0]
    assert "`Store`" not in texts[0]
