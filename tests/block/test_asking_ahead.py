"""What a loop that asks ahead looks at: copies of iterators, values shown without code."""

from __future__ import annotations

import datetime
import enum
from collections import OrderedDict, UserList, deque
from collections.abc import Callable, Iterator
from contextvars import copy_context
from dataclasses import dataclass, field
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from njrt.block.session.ahead import Loop, copy_iterator
from njrt.values.rendering.whole import CannotShow, WholeWriter
from njrt.values.rendering.writer import refuses_code

COPIED: list[Callable[[], Any]] = [
    lambda: [1, 2, 3],
    lambda: (1, 2, 3),
    lambda: range(3),
    lambda: range(2**70, 2**70 + 3),
    lambda: {1: "a", 2: "b"},
    lambda: {1: "a", 2: "b"}.items(),
    lambda: {1: "a", 2: "b"}.values(),
    lambda: enumerate([1, 2, 3], 5),
    lambda: zip([1, 2, 3], {4: 5, 6: 7}.items(), strict=False),
    lambda: zip(enumerate((1, 2)), range(2), strict=True),
    lambda: iter([1, 2, 3]),
]


@pytest.mark.parametrize("make", COPIED)
def test_a_copy_is_at_the_same_place_and_leaves_the_original(make: Callable[[], Any]) -> None:
    for taken in range(3):
        iterator, expected = iter(make()), list(make())[taken:]
        for _ in range(taken):
            next(iterator)
        copied = copy_iterator(iterator)
        assert copied is not None
        assert list(copied) == expected
        assert list(iterator) == expected


class Own(list[int]):
    """A list that counts how often it is gone through."""

    seen = 0

    def __iter__(self) -> Iterator[int]:
        self.seen += 1
        return (number for number in (1, 2))


UNCOPIED: list[Callable[[], Any]] = [
    lambda: Own([1]),
    lambda: {1, 2},
    lambda: "ab",
    lambda: map(int, "12"),
    lambda: reversed([1, 2]),
    lambda: enumerate(map(int, "12")),
    lambda: zip([1, 2], map(int, "12"), strict=False),
    lambda: UserList([1, 2]),
    lambda: OrderedDict({1: 2}),
]


@pytest.mark.parametrize("make", UNCOPIED)
def test_other_iterators_are_left_alone(make: Callable[[], Any]) -> None:
    iterator = iter(make())
    assert copy_iterator(iterator) is None
    assert list(iterator) == list(make())
    assert list(Loop(make(), "item", 8)) == list(make())


def test_a_loop_goes_through_its_items_once() -> None:
    own = Own([1])
    assert list(Loop(own, "item", 8)) == [1, 2]
    assert own.seen == 1
    with pytest.raises(TypeError, match="not iterable"):
        list(Loop(3, "item", 8))  # type: ignore[arg-type]


class Color(enum.Enum):
    RED = 1


@dataclass
class Point:
    x: int
    tags: list[Any] = field(default_factory=list)

    @property
    def double(self) -> int:
        return 2 * self.x


@dataclass
class Shown(Point):
    def __repr__(self) -> str:
        return "shown"


class Text(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "text"


WITHOUT_CODE = [
    None, 1, "a", b"a", 1.5, [1, ("a", {2})], {"a": frozenset({1})}, Color.RED,
    Point(1, [Point(2)]), datetime.date(2026, 1, 2), Decimal("1.5"),
]  # fmt: skip
BY_CODE = [
    Shown(1), [Shown(1)], Point(1, [Shown(2)]), {Text("a"): 1}, UserList([Shown(1)]),
    SimpleNamespace(shown=Shown(1)), deque([Shown(1)]),
]  # fmt: skip


@pytest.mark.parametrize("value", WITHOUT_CODE, ids=lambda value: type(value).__name__)
def test_data_is_shown_without_code_of_the_program(value: object) -> None:
    shown = WholeWriter(1_000).write(value)
    context = copy_context()
    context.run(refuses_code.set, True)
    assert context.run(WholeWriter(1_000).write, value) == shown


@pytest.mark.parametrize("value", BY_CODE, ids=lambda value: type(value).__name__)
def test_what_a_repr_shows_is_refused(value: object) -> None:
    assert WholeWriter(1_000).write(value)
    context = copy_context()
    context.run(refuses_code.set, True)
    with pytest.raises(CannotShow):
        context.run(WholeWriter(1_000).write, value)
