"""Sharing: objects of every kind keep their identity, are changed in place, and come to no harm."""

# The variables that only snippets bind look undefined and unused to ruff, and lambdas late-bound.
# ruff: noqa: B023, F821

from __future__ import annotations

import asyncio
import collections
import dataclasses
import decimal
import enum
import fractions
import io
import logging
import pathlib
import sqlite3
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy
import pydantic
import pytest
from playing import aplay, play


class Color(enum.Enum):
    RED = 1


class Point(NamedTuple):
    x: int


@dataclasses.dataclass
class Order:
    items: list[str]


class Slotted:
    __slots__ = ("x",)


class Watched(type):
    def __call__(cls, *args: object) -> object:
        return super().__call__(*args)


class Player(metaclass=Watched):
    shared: list[int] = []  # noqa: RUF012

    def __init__(self, name: str = "p") -> None:
        self.name = name

    @property
    def broken(self) -> None:
        raise RuntimeError("never asked for")

    def greet(self) -> str:
        return f"I am {self.name}"


def cyclic() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


class Node:
    next: Node | None = None


def chain() -> Node:
    first = node = Node()
    for _ in range(100_000):
        node.next = Node()
        node = node.next
    return first


def unchain(node: Node) -> None:
    """Take a long chain apart, since its own deallocation would recurse."""
    while node.next is not None:
        node.next, node = None, node.next


VALUES = {
    "list": lambda: [1],
    "cycle": cyclic,
    "dict with object keys": lambda: {
        object(): 1,
        Color.RED: 2,
        b"b": 3,
        frozenset({1}): 4,
        (1, 2): 5,
    },
    "numpy array": lambda: numpy.arange(3),
    "file": io.StringIO,
    "generator": lambda: (x for x in [1]),
    "lock": threading.Lock,
    "path": lambda: pathlib.Path("a"),
    "decimal": lambda: decimal.Decimal("1.1"),
    "fraction": lambda: fractions.Fraction(1, 3),
    "named tuple": lambda: Point(1),
    "enum member": lambda: Color.RED,
    "dataclass": lambda: Order([]),
    "pydantic model": lambda: pydantic.create_model("Model", x=(int, ...))(x=1),
    "slots": Slotted,
    "property and metaclass": Player,
    "class": lambda: Player,
    "module": lambda: collections,
    "logger": lambda: logging.getLogger("x"),
    "database": lambda: sqlite3.connect(":memory:"),
    "exception": lambda: KeyError(1),
    "mapping proxy": lambda: types.MappingProxyType({}),
    "weak reference": lambda: __import__("weakref").ref(Player),
}


@pytest.mark.parametrize("kind", VALUES)
def test_identity_holds_both_ways(kind: str) -> None:
    def f(value):
        other: object
        kept = [value]
        source = "assert kept[0] is value\nother = value\nkept.append(other)"
        play(lambda: (value, kept, other), source, writes="other")
        return other is value and kept[1] is value

    assert f(VALUES[kind]())


def test_a_long_chain_of_objects_is_no_matter() -> None:
    def f(node):
        return play(lambda: (node,), "node") is node

    first = chain()
    assert f(first)
    unchain(first)


def test_changes_in_place_reach_every_alias() -> None:
    def f():
        data: dict[str, Any] = {"k": [1]}
        alias = data["k"]
        play(lambda: (data,), "data['k'].append(2)\ndata['self'] = data\ndel data['k'][0]")
        return data["self"] is data, alias, data["k"] is alias

    assert f() == (True, [2], True)


def test_objects_are_changed_by_their_own_means() -> None:
    slotted, player, order, array = Slotted(), Player(), Order([]), numpy.arange(3)

    def f(slotted, player, order, array):
        play(
            lambda: (slotted, player, order, array),
            "slotted.x = 1\nplayer.name = 'q'\norder.items += ['a']\narray[0] = 9\nplayer.shared.append(1)",
        )

    before = dict(vars(Player))
    f(slotted, player, order, array)
    assert (slotted.x, player.greet(), order.items, array[0]) == (1, "I am q", ["a"], 9)
    assert dict(vars(Player)) == before
    assert "shared" not in vars(player)


def test_a_generator_is_never_consumed_behind_its_back() -> None:
    def f():
        source = iter(range(5))
        first = play(lambda: (source,), "next(source)")
        return first, next(source)

    assert f() == (0, 1)


def test_named_tuples_stay_what_they_are() -> None:
    def f(point):
        return play(lambda: (point,), "point._replace(x=2)")

    assert type(f(Point(1))) is Point


def test_classes_made_by_a_block_are_ordinary() -> None:
    def f():
        kind: type
        n = 4
        source = "class kind:\n    limit = n\n    def get(self): return n"
        play(lambda: (kind, n), source, writes="kind")
        n = 5
        return kind.limit, kind().get(), kind.__module__, "get" in vars(kind())

    assert f() == (4, 5, __name__, False)


def test_a_generator_function_made_by_a_block_sees_later_rebindings() -> None:
    def f():
        step = 1
        count: object
        source = "def count():\n    n = 0\n    while True:\n        n += step\n        yield n"
        play(lambda: (step, count), source, writes="count")
        running = count()
        first = next(running)
        step = 10
        return first, next(running)

    assert f() == (1, 11)


# --- at the same time


def test_recursion_through_a_block() -> None:
    def f(n):
        found: int
        play(lambda: (n, f, found), "found = n + f(n - 1) if n else 0", writes="found")
        return found

    assert f(50) == 1275


def test_eight_threads_have_cells_of_their_own() -> None:
    def f(k):
        total = 0
        for i in range(20):
            play(lambda: (k, i, total), "total += k", writes="total")
        return total

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(f, range(16))) == [20 * k for k in range(16)]


def test_another_thread_changes_what_a_block_holds() -> None:
    def f():
        found: list[int] = []
        n = 0

        def work():
            nonlocal n
            found.append(1)
            n = 5

        def other():
            with ThreadPoolExecutor(1) as pool:
                pool.submit(work).result()

        source = "before = n\nother()\nn += 1\nbefore, n, found"
        seen = play(lambda: (found, n, other), source, writes="n")
        return seen, n, found

    assert f() == ((0, 6, [1]), 6, [1])


def test_a_hundred_async_blocks_on_one_thread() -> None:
    async def f(k):
        total: int
        source = "await asyncio.sleep(0.001 * (k % 3))\ntotal = k * 2"
        await aplay(lambda: (k, total, asyncio), source, writes="total")
        return total

    async def main():
        return await asyncio.gather(*(f(k) for k in range(100)))

    assert asyncio.run(main()) == [2 * k for k in range(100)]
