"""What a model is told to write after a mistake, and the classes that it may use because it was shown them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import njrt
from njrt.errors import LimitError, ReplyError
from njrt.messages import Request, UserMessage
from njrt.models.scripted import Scripted
from njrt.rendering.shown_classes import find_shown_classes


class Store(ABC):
    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def total(self, basket: list[str]) -> float: ...


class Word(NamedTuple):
    text: str
    tag: str


@dataclass
class Later:
    line: Line | None = None


@dataclass
class Line:
    word: Word
    later: Later | None = None


def play(*codes: str, given: Any = None, types: Any = None) -> tuple[Any, list[str]]:
    """Carry out a block over <given> and <:made>: what it made, None if it gave up, and what the model was told."""
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
    except (LimitError, ReplyError):
        made = None
    return made, [told(request) for request in model.requests[1:]]


def told(request: Request) -> str:
    last = request.messages[-1]
    assert isinstance(last, UserMessage)
    return last.text


SUBCLASS = "write `class NAME(Store):` and define `total` in it"

ADVICE: list[tuple[Any, str, str]] = [
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
    (1, "pass", "`made` is not bound yet; bind what is missing: `made = ...`"),
    (1, "made = Enemy('orc')", "no such class is there; define it first (`class Enemy:`)"),
    (Word("a", "b"), "made = Worb('a', 'b')", "did you mean `Word`?"),
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


def test_no_refusal_is_read_three_times() -> None:
    for given, code, _ in ADVICE:
        wrong = [f"{code}\n# attempt {number}" for number in range(6)]
        _, texts = play(*wrong, given=given)
        assert len(texts) == 5
        assert max(Counter(texts).values()) <= 2
        assert texts[1].startswith("again: ")
        assert "made = ..." in texts[1]
        assert texts[2].startswith("refused 3 times: ")


def test_the_second_refusal_shows_the_form_of_the_code() -> None:
    _, texts = play("made = given('x')", "made = given('y')", "made = 1", given=Store)
    assert texts[1].endswith(
        "Write all of it anew, in this form:\n"
        "class NAME(given):\n    def total(self, ...): ...\nmade = ..."
    )


def test_the_same_reply_again_is_not_shown_twice() -> None:
    model = Scripted(
        ["```python\nnothing\n```"] * 3 + ["```python\nmade = 1\n```"], protocol="text"
    )
    made = None
    with njrt.using(model=model):
        njrt.run("natural\n<:made>", lambda: (made,), writes="made", at="case.njpy:1")
    assert [len(request.messages) for request in model.requests] == [1, 3, 3, 3]
    assert len({told(request) for request in model.requests}) == 4


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


def test_a_class_that_is_only_written_down_again_is_the_programs_own() -> None:
    code = (
        "from dataclasses import dataclass\n\n@dataclass\nclass Word:\n    text: str\n    tag: str\n\n"
        "made = Word('a', 'b')"
    )
    made, texts = play(code, given=[Word("x", "y")])
    assert (type(made), texts) == (Word, [])
    init = "class Store:\n    def __init__(self, name):\n        self.name = name\nmade = Store"
    made, texts = play(init, types=lambda: {"made": type[Store]})
    assert (made, texts) == (Store, [])


@pytest.mark.parametrize("more", ["size: int", "def total(self): return 0", "tag = print()"])
def test_a_class_with_something_of_its_own_is_refused(more: str) -> None:
    _, (text,) = play(f"class Word:\n    {more}\nmade = Word", "made = 1", given=Word("a", "b"))
    assert "`Word` exists already" in text
