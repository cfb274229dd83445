"""Values as text: expressions that make them again."""

from __future__ import annotations

import enum
import math
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from njrt.values.encode import NotEncodableError, decode_value, encode_value


class Color(enum.Enum):
    RED = 1


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Node:
    name: str
    edges: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class Slotted:
    value: Any


class Line(BaseModel):
    article: str
    nodes: list[Node] = []


class Private:
    __slots__ = ("__secret",)

    def __init__(self, secret: int) -> None:
        self.__secret = secret

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Private) and self.__secret == other.__secret

    __hash__ = None  # type: ignore[assignment]


def again(value: Any) -> Any:
    return decode_value(*encode_value(value))


@pytest.mark.parametrize(
    "value",
    [
        -2.5,
        math.inf,
        b"a\xff",
        "a\ud800'",
        [1, (2,), (), set(), {3}, frozenset(), frozenset({4})],
        {"a": {1: None}, (1, 2): True},
        Color.RED,
        Point(1, 2),
        Node("a", [Node("b")]),
        Slotted([1]),
        SimpleNamespace(a=[1]),
        Private(3),
        Line(article="mug", nodes=[Node("a")]),
        Counter("aab"),
        OrderedDict(a=1),
        defaultdict(list, {"a": [1]}),
        deque([1, 2], 5),
        range(1, 9, 2),
        1 + 2j,
        bytearray(b"ab"),
        date(2026, 3, 1),
        datetime(2026, 3, 1, 9, 30),
        timedelta(hours=3),
        Decimal("1.10"),
        Fraction(1, 3),
        PurePosixPath("a/b"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_are_made_again(value: Any) -> None:
    made = again(value)
    assert made == value
    assert type(made) is type(value)


def test_classes_and_functions_are_found_by_name() -> None:
    *made, error = again([Node, again, len, ValueError("x", 1)])
    assert made == [Node, again, len]
    assert error.args == ("x", 1)


def test_what_is_shared_is_equal_again() -> None:
    node = Node("a")
    first, second = again([node, node])
    assert first == second == node


def test_values_of_njc_0_2_share_their_parts_again() -> None:
    """It gave names to objects that occur more than once, also inside themselves."""
    text = "(_1 := [(_2 := Node(name='a', edges=[_2])), _1])"
    made: Any = decode_value(text, {"Node": __name__})
    assert made[1] is made
    assert made[0] is made[0].edges[0]


def test_texts_can_be_read() -> None:
    text, classes = encode_value([Node("x", [Color.RED]), [1.0, None]])
    assert text == "[Node(name='x', edges=[Color.RED]), [1.0, None]]"
    assert classes == {"Node": __name__, "Color": __name__}


class Graph(dict[str, int]):
    """A subclass of a built-in type."""


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ((item for item in ()), "a generator"),
        (sys.stdout, "a "),
        (lambda: 1, "the function "),
        (Graph(a=1), "a Graph"),
        (sys, "the module sys"),
        ([[number] for number in range(9000)], "more than 5,000 objects"),
    ],
)
def test_what_is_lost_is_said(value: Any, what: str) -> None:
    with pytest.raises(NotEncodableError) as said:
        encode_value([value])
    assert what in str(said.value)


def test_what_holds_itself_is_lost() -> None:
    items: list[Any] = []
    items.append(items)
    with pytest.raises(NotEncodableError, match=r"nested too deeply|more than"):
        encode_value(items)


def test_nothing_else_is_evaluated() -> None:
    for text in ("__import__('os').getpid()", "[item for item in (1,)]"):
        with pytest.raises((ValueError, KeyError)):
            decode_value(text, {})


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(plain)
def test_any_plain_value_is_made_again(value: Any) -> None:
    assert again(value) == value
