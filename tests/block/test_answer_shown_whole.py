"""A block that answers with data is shown its inputs whole, or the program learns that it was not.

A new kind of value is one line of a table.
"""

from __future__ import annotations

import array
import collections
import io
import itertools
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, Flag
from typing import Any, NamedTuple

import numpy as np
import pytest
from programs import PlainProgram
from pydantic import BaseModel, ConfigDict

import njrt
from njrt.testing import run

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


@dataclass(frozen=True)
class Mail:
    subject: str
    body: str
    tags: tuple[str, ...] = ()
    key: str = field(default="hidden", repr=False)


class Row(NamedTuple):
    cells: tuple[int, ...]


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")


class Bare:
    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


class Slotted:
    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class Level(Enum):
    HIGH = "somebody is called"
    LOW = 2


class Perm(Flag):
    READ = 1
    WRITE = 2


class Named(str):
    pass


LONG = "All is well. " * 200 + "I want a refund. " + "Goodbye. " * 200
PROGRAM = PlainProgram('''
    def judge(x):
        """natural(effects="answer")
        Put into <:y: bool> whether <x> is urgent.
        """
        return y
''')


def ask(value: Any, **settings: Any) -> str:
    """Return the first message about a value."""
    assert PROGRAM.call("judge", value, says=[{"y": True}], **settings) is True
    return PROGRAM.told()[0]


def nest(depth: int) -> Any:
    value: Any = ["the innermost"]
    for _ in range(depth):
        value = {"k": value}
    return value


WHOLE: dict[str, tuple[Any, str]] = {
    "text": (LONG, repr(LONG)),
    "bytes": (b"x" * 3_000 + b"end", "xend'"),
    "subclass of str": (Named(LONG), f"Named({LONG!r})"),
    "201 items": ([f"item {n}" for n in range(201)], "'item 199', 'item 200']"),
    "5,000 numbers": (list(range(5_000)), "4998, 4999]"),
    "tuple": (tuple(range(900)), "898, 899)"),
    "set": (set(range(500)), "498, 499}"),
    "frozenset": (frozenset(range(500)), "498, 499})"),
    "dict": ({f"key {n}": n for n in range(300)}, "'key 299': 299}"),
    "long keys": ({"k" * 400 + str(n): n for n in range(9)}, "k8': 8}"),
    "deque": (collections.deque(range(400)), "398, 399])"),
    "counter": (collections.Counter("abc" * 500), "'c': 500})"),
    "view": (dict.fromkeys(range(400)).keys(), "398, 399])"),
    "proxy": (types.MappingProxyType({n: n for n in range(400)}), "399: 399})"),
    "array": (array.array("i", range(900)), "898, 899])"),
    "bytearray": (bytearray(b"x" * 3_000 + b"end"), "xend')"),
    "dataclass": (Mail("s", LONG, tuple("abc")), f"body={LONG!r}, tags=('a', 'b', 'c'))"),
    "named tuple": (Row(tuple(range(500))), "498, 499))"),
    "nested": ([{"mails": (Mail("s", LONG),)}], f"body={LONG!r}, tags=())"),
    "pydantic": (Open(**{f"a{n}": n for n in range(1_200)}), "a1199=1199)"),
    "attributes": (Bare(**{f"a{n}": "x" * 20 for n in range(200)}), f"a199={'x' * 20!r})"),
    "slots": (Slotted(LONG), f"text={LONG!r})"),
    "40 levels": (nest(40), "['the innermost']" + "}" * 40),
    "error": (ValueError(LONG), f"ValueError({LONG!r})"),
    "numpy": (np.arange(3_000), "2998, 2999]"),
    "cycle": ((loop := [1]).append(loop) or loop, "[1, [...]]"),  # as in Python
}  # fmt: skip


@pytest.mark.parametrize("kind", WHOLE)
def test_values_are_shown_whole(kind: str) -> None:
    value, end = WHOLE[kind]
    with njrt.watch() as watch:
        shown = ask(value)
    assert end in shown
    assert shown.endswith('Reply with {"y": true | false}')
    assert watch.totals.needed_code == 0
    assert "hidden" not in shown


def make_generator() -> Any:
    yield 1


class Described:
    """An object whose `repr` a function gives."""

    def __init__(self, describe: Callable[[], Any]) -> None:
        self.describe = describe

    def __repr__(self) -> str:
        return str(self.describe())


HIDDEN: dict[str, tuple[Callable[[], Any], str]] = {
    "generator": (make_generator, "`x` (generator) holds `<generator make_generator>`"),
    "map": (lambda: map(str, [1]), "`x` (map) holds `<map>`"),
    "iterator in a list": (lambda: [iter("ab")], "holds `<str_ascii_iterator>`"),
    "file": (lambda: io.StringIO("text"), "holds `<StringIO>`"),
    "function in a dict": (lambda: {"f": ask}, "holds `<function ask>`"),
    "other proxy": (
        lambda: types.MappingProxyType(collections.OrderedDict(a=1)),
        "holds `<mappingproxy>`",
    ),
    "memory": (lambda: memoryview(b"ab"), "holds `<memory>`"),
    "broken": (
        lambda: Described(lambda: 1 / 0),
        "whose __repr__ raised ZeroDivisionError: division by zero>`",
    ),
    "in brackets": (lambda: Described(lambda: "<Order 5>"), "holds `<Order 5>`"),
    "huge number": (lambda: 10**700, "holds `<int of 2,326 bits>`"),
    "60 levels": (lambda: nest(60), "is nested more than 50 levels deep"),
    "long text": (lambda: "x" * 30_000, "`x` (str, 30,000 characters) is too long"),
    "many items": (lambda: ["item"] * 9_000, "`x` (list, 9,000 items) is too long"),
    "many attributes": (lambda: Bare(**{f"a{n}": 1 for n in range(1_001)}), "is too long"),
    "file in a set": (lambda: {njrt.Image(PNG)}, "holds `<Image image/png, 48 bytes"),
    "file far down": (lambda: [[[[[[njrt.Image(PNG)]]]]]], "holds `<Image image/png, 48 bytes"),
}


@pytest.mark.parametrize("kind", HIDDEN)
def test_the_program_learns_of_a_value_that_is_not_shown(kind: str) -> None:
    make, reason = HIDDEN[kind]
    if kind == "iterator in a list":
        reason = f"holds `<{type(iter('ab')).__name__}>`"
    with pytest.raises(njrt.PolicyError) as caught:
        ask(make(), authority="strict")
    assert reason in str(caught.value)
    assert "; pass " in str(caught.value)
    assert PROGRAM.told() == []


@pytest.mark.parametrize("kind", HIDDEN)
def test_a_block_runs_as_code_if_it_may(kind: str) -> None:
    value = HIDDEN[kind][0]()
    with njrt.watch() as watch:
        assert PROGRAM.call("judge", value, says=[run("y = False", done=True)]) is False
    assert (watch.totals.calls, watch.totals.needed_code) == (1, 1)
    assert "y: bool, to be bound" in PROGRAM.told()[0]


def test_reading_a_generator_is_left_to_the_program() -> None:
    generator = make_generator()
    with pytest.raises(njrt.PolicyError):
        ask(generator, authority="strict")
    assert list(generator) == [1]
    endless = itertools.count()
    assert "x = count(0)" in ask(endless)


def test_the_whole_prompt_is_limited() -> None:
    program = PlainProgram('''
        def judge(a: str, b: str, c: str):
            """natural(authority="strict", max_prompt_chars=1000)
            Put into <:y: bool> whether <a>, <b> or <c> is urgent.
            """
            return y
    ''')
    assert program.call("judge", "a" * 290, "b" * 290, "c" * 290, says=[{"y": True}])
    with pytest.raises(njrt.PolicyError, match=r"`b` \(str, 390 characters\) makes a prompt of"):
        program.call("judge", "a" * 290, "b" * 390, "c" * 290, says=[])
    assert program.call("judge", "a", "b" * 2_000, "c", says=[{"y": True}], max_prompt_chars=9_000)


def test_a_long_text_of_the_block_counts_too() -> None:
    program = PlainProgram('''
        def judge(a: str):
            f"""natural(authority="strict")
            Put into <:y: bool> whether this is urgent: {a}
            """
            return y
    ''')
    assert program.call("judge", "a" * 20_000, says=[{"y": True}])
    with pytest.raises(njrt.PolicyError, match=r"its prompt has 31,\d+ characters"):
        program.call("judge", "a" * 31_000, says=[])


def test_files_are_attached_and_not_counted() -> None:
    image = njrt.Image(PNG + bytes(100_000))
    text = ask({"front": image}, max_prompt_chars=500)
    assert "<Image image/png, 100,048 bytes" in text
    (opening,) = PROGRAM.model.requests[0].messages
    assert [file.name for file in opening.attachments] == ["x['front']"]


def test_show_chars_is_for_code() -> None:
    assert repr(LONG) in ask(LONG, show_chars=10)
    PROGRAM.call("judge", LONG, says=[run("y = True", done=True)], effects="direct", show_chars=100)
    assert len(PROGRAM.told()[0]) < 300


# ── attributes ───────────────────────────────────────────────────────────────────────────────────

ATTRIBUTES = '''
    import dataclasses
    from dataclasses import dataclass, field

    @dataclass(frozen=True)
    class Order:
        name: str
        token: str = "s3cr3t-0f-0rder"
        notes: str = field(default="unseen", repr=False)

        @property
        def total(self) -> float:
            return len(self.name) * 1.5

        @property
        def broken(self) -> str:
            raise LookupError("no such order")

    def judge(order: Order):
        """natural
        Put into <:y: bool> whether %s is urgent.
        """
        return y
'''


@pytest.mark.parametrize(
    ("read", "shown"),
    [
        ("<order.name>", ["order.name = 'tea'"]),
        ("<order.total>", ["order.total = 4.5"]),
        ("<order.total> of <order.name>", ["order.total = 4.5", "order.name = 'tea'"]),
        ("<order.name> of <order>", ["order = Order(name='tea', token=<redacted>)"]),
        ("<order.token>", ["order.token = <redacted>"]),
        ("<order.notes>", ["order.notes = <redacted>"]),
    ],
)
def test_the_attributes_that_a_text_names_are_shown(read: str, shown: list[str]) -> None:
    program = PlainProgram(ATTRIBUTES % read)
    with program.saying([{"y": True}]) as names:
        names["judge"](names["Order"]("tea"))
    assert program.told()[0].splitlines()[2:] == [*shown, 'Reply with {"y": true | false}']


def test_a_property_fails_in_the_program() -> None:
    program = PlainProgram(ATTRIBUTES % "<order.broken>")
    with program.saying([]) as names, pytest.raises(LookupError, match="no such order"):
        names["judge"](names["Order"]("tea"))


def test_a_large_object_is_no_obstacle_to_a_small_attribute() -> None:
    program = PlainProgram('''
        class Inbox:
            def __init__(self, name: str, mails):
                self.name = name
                self.mails = mails

            def judge(self):
                """natural(authority="strict")
                Put into <:y: bool> whether <self.name> is polite.
                """
                return y
    ''')
    with program.saying([{"y": True}]) as names:
        assert names["Inbox"]("support", ["mail"] * 100_000).judge()
    assert "self.name = 'support'\n" in program.told()[0]


# ── classes and enums ────────────────────────────────────────────────────────────────────────────

ENUMS = '''
    import typing
    from collections.abc import Sequence
    from dataclasses import dataclass
    from enum import Enum

    class Level(Enum):
        """How urgent it is.

        HIGH wakes somebody up.
        """
        HIGH = "call at once"
        LOW = 2

    @dataclass(frozen=True)
    class Rating:
        level: Level
        why: str

    Levels = dict[str, Level | None]

    class Limits:
        WORDS = ("a" * 60, "b" * 60)
        MOST: typing.ClassVar[int] = 5

    Big = Enum("Big", [("m" + str(n), "value " + str(n)) for n in range(150)])

    def judge(x: %s):
        """natural%s
        %s
        """
        return y
'''
DOC = "Level: How urgent it is. HIGH wakes somebody up."
MEMBERS = "Level members: HIGH = 'call at once', LOW = 2"


@pytest.mark.parametrize(
    ("kind", "value", "text", "shown"),
    [
        ("str", "'a'", "Rate <x>: <:y: Level>", [DOC, '- "HIGH": call at once']),
        ("str", "'a'", "Rate <x>: <:y: list[Level]>", [DOC, '- "HIGH": call at once']),
        ("str", "'a'", "Rate <x>: <:y: Level | None>", [DOC, '- "HIGH": call at once']),
        ("str", "'a'", "Rate <x>: <:y: Rating>", [DOC, '- "HIGH": call at once']),
        ("str", "'a'", "Rate <x>: <:y: Levels>", [DOC, '- "HIGH": call at once']),
        ("str", "'a'", "Rate <x> by <Level>: <:y: Rating>", [DOC, '- "HIGH": call at once']),
        ("Level", "Level.LOW", "Explain <x>: <:y: str>", [DOC, MEMBERS, "x = Level.LOW"]),
        ("Rating", "Rating(Level.LOW, 'b')", "Explain <x.level>: <:y: str>", [DOC, MEMBERS]),
        ("Sequence[Rating]", "[Rating(Level.LOW, 'b')]", "Explain <x>: <:y: str>", [DOC, MEMBERS]),
        ("str", "'a'", "Compare <x> with <Level.LOW>: <:y: str>", [DOC, "Level.LOW = Level.LOW"]),
        ("str", "'a'", "Compare <x> with <Level>: <:y: str>", ["    " + DOC, "    " + MEMBERS]),
        ("str", "'a'", "Is <x> within <Limits>? <:y: bool>",
         [f"    .WORDS = ('{'a' * 60}', '{'b' * 60}')", "    .MOST = 5"]),
        ("str", "'a'", "Is <x> of <Big>? <:y: bool>", [", m149 = 'value 149'"]),
    ],
)  # fmt: skip
def test_the_meanings_of_classes_are_shown(
    kind: str, value: str, text: str, shown: list[str]
) -> None:
    options = '(effects="answer")' if "Big" in text else ""
    program = PlainProgram(ENUMS % (kind, options, text))
    says = [{"raise": "ValueError", "message": "enough"}]
    with program.saying(says) as names, pytest.raises(ValueError, match="enough"):
        names["judge"](eval(value, names))
    opening = program.told()[0]
    for part in shown:
        assert part in opening if part.startswith(",") else part in opening.splitlines()
    assert opening.count(DOC) <= 1


def test_flags_and_members_are_values() -> None:
    assert "x = [Level.HIGH, Perm.READ]" in ask([Level.HIGH, Perm.READ])
