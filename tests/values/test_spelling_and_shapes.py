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

from njrt.values.encode import decode_values, encode_values


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


def again(**values: Any) -> dict[str, Any]:
    said = encode_values(values, __name__)
    assert said.lost == {}
    return decode_values(said.texts, vars(sys.modules[__name__]), said.classes)


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
    made = again(it=value)["it"]
    assert made == value
    assert type(made) is type(value)


def test_classes_and_functions_are_found_by_name() -> None:
    made = again(cls=Node, function=again, builtin=len, error=ValueError("x", 1))
    assert (made["cls"], made["function"], made["builtin"]) == (Node, again, len)
    assert made["error"].args == ("x", 1)


def test_what_is_shared_is_shared_again() -> None:
    node = Node("a")
    node.edges.append(node)
    items: list[Any] = [node]
    items.append(items)
    made = again(items=items, node=node, table={"it": node})
    assert made["items"][1] is made["items"]
    assert made["items"][0] is made["node"] is made["table"]["it"] is made["node"].edges[0]


def test_texts_can_be_read() -> None:
    texts = encode_values({"a": Node("x", [Color.RED]), "b": [1.0, None]}, __name__).texts
    assert texts == {"a": "Node(name='x', edges=[Color.RED])", "b": "[1.0, None]"}


class Graph(dict[str, int]):
    """A subclass of a built-in type."""


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ((item for item in ()), "a generator"),
        (sys.stdout, "a "),
        (
            lambda: 1,
            "the function test_spelling_and_shapes.<lambda>, which cannot be found by its name",
        ),
        (Graph(a=1), "a Graph"),
        (sys, "the module sys"),
        ([[number] for number in range(9000)], "more than 5,000 objects"),
    ],
)
def test_what_is_lost_is_said(value: Any, what: str) -> None:
    said = encode_values({"bad": [value], "good": 1}, __name__)
    assert said.texts == {"good": "1"}
    assert what.split(".<")[0].split(" test_")[0] in said.lost["bad"]


def test_nothing_else_is_evaluated() -> None:
    with pytest.raises((ValueError, KeyError)):
        decode_values({"it": "__import__('os').getpid()"}, {}, {})
    with pytest.raises((ValueError, KeyError)):
        decode_values({"it": "[item for item in (1,)]"}, {}, {})


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
    assert again(it=value)["it"] == value
