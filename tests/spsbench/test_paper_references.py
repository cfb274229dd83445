"""References to live objects: one level is shown, updates happen in place, and nobody's code is run."""

from __future__ import annotations

import collections
import enum
import json
import threading
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, NoReturn

import pytest
from heaps import open_heap

from spsbench.references import decode_wire, encode_level, encode_wire, format_wire, update_in_place


def ref(address: int, cls: str = "") -> dict[str, Any]:
    return {"type": "Ref", "addr": address} | ({"class": cls} if cls else {})


class Point:
    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def length(self) -> NoReturn:
        raise AssertionError("never called")

    @property
    def total(self) -> NoReturn:
        raise AssertionError("never evaluated")


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self) -> None:
        self.a = 1


class Colour(enum.Enum):
    RED = 1


@dataclass(frozen=True)
class Fixed:
    a: int


LEVELS: list[tuple[Any, Any]] = [
    (3, 3),
    ("text", "text"),
    ([1, "a", None, True, 2.5], [1, "a", None, True, 2.5]),
    ((1, [2]), {"type": "tuple", "items": [1, ref(1, "list")]}),
    (datetime(2025, 4, 11, 14), {"type": "datetime", "value": "2025-04-11T14:00:00"}),
    ([[1], [2]], [ref(1, "list"), ref(2, "list")]),
    ({"a": 1}, {"type": "dict", "items": [{"key": "a", "value": 1}]}),
    ({(1, 2): 3}, {"type": "dict", "items": [{"key": ref(1, "tuple"), "value": 3}]}),
    ({"b", "a"}, {"type": "set", "items": ["a", "b"]}),
    (frozenset([2, 1]), {"type": "set", "items": [1, 2]}),
    ([float("nan"), float("inf")], ["nan", "inf"]),
    ("x" * 3000, {"text": "x" * 2000, "length": 3000}),
    (Point(1, [2]), {"class": "Point", "attributes": {"x": 1, "y": ref(1, "list")}, "methods": ["length"]}),
    (Slotted(), {"class": "Slotted", "attributes": {"a": 1}, "methods": []}),
    ([Colour.RED], [ref(1, "Colour")]),
    (b"bytes", {"class": "bytes", "attributes": {}}),
]  # fmt: skip


@pytest.mark.parametrize(("value", "level"), LEVELS)
def test_deref_shows_one_level(value: Any, level: Any) -> None:
    shown = encode_level(value, open_heap())
    if isinstance(level, dict) and "class" in level and isinstance(shown, dict):
        shown = {key: shown[key] for key in level}
    assert shown == level


def test_long_collections_are_cut_and_counted() -> None:
    shown = encode_level(list(range(1000)), open_heap())
    assert (len(shown["items"]), shown["length"]) == (100, 1000)
    shown = encode_level(set(range(1000)), open_heap())
    assert (shown["items"][:3], shown["length"]) == ([0, 1, 10], 1000)


def test_a_number_that_json_cannot_hold_is_a_reference() -> None:
    assert encode_wire(10**5000, open_heap()) == ref(1, "int")
    assert format_wire(encode_wire(10**50, open_heap())) == str(10**50)


def test_an_object_keeps_its_number_and_its_identity() -> None:
    heap, held = open_heap(), [1]
    circle: list[Any] = [held, held]
    circle.append(circle)
    assert encode_level(circle, heap) == [ref(1, "list"), ref(1, "list"), ref(2, "list")]
    assert heap.read(1) is held
    assert heap.read(2) is circle
    assert decode_wire([ref(1), {"type": "tuple", "items": [ref(2)]}], heap) == [held, (circle,)]
    assert decode_wire(ref(1), heap) is held


UPDATES: list[tuple[Any, Any, Any]] = [
    ([1, 2], [3], [3]),
    ({1: 2}, {3: 4}, {3: 4}),
    ({1, 2}, [3, 3], {3}),
    (bytearray(b"ab"), b"c", bytearray(b"c")),
    (collections.OrderedDict(a=1), {"b": 2}, collections.OrderedDict(b=2)),
]


@pytest.mark.parametrize(("target", "value", "expected"), UPDATES)
def test_setref_updates_in_place(target: Any, value: Any, expected: Any) -> None:
    assert update_in_place(target, value) is None
    assert target == expected


def test_setref_updates_an_object_by_its_attributes() -> None:
    point = Point(1, 2)
    assert update_in_place(point, {"x": 5}) is None
    assert (point.x, point.y) == (5, 2)
    assert update_in_place(point, Point(7, 8)) is None
    assert (point.x, point.y) == (7, 8)


def test_an_object_can_be_set_to_itself() -> None:
    for held in ([1], {1: 2}, {1}):
        before = held.copy()
        assert update_in_place(held, held) is None
        assert held == before


@pytest.mark.parametrize(
    ("target", "value", "advice"),
    [
        ("a", "b", "a str cannot be changed in place; assign the variable instead"),
        (None, {}, "a NoneType cannot be changed in place"),
        ((1,), [2], "a tuple cannot be changed in place"),
        ([1], "ab", "a list can only become equal to another list"),
        ({}, [1], "a dict can only become equal to another dict"),
        (Point(1, 2), 3, "to update this Point, send a dict of its attributes"),
    ],
)
def test_what_cannot_be_updated_stays_as_it_is(target: Any, value: Any, advice: str) -> None:
    before = repr(target)
    assert advice in (update_in_place(target, value) or "")
    assert repr(target) == before


def fails(*_: Any, **__: Any) -> NoReturn:
    raise AssertionError("the program's own code was run")


SPECIAL = ("__len__", "__iter__", "__getitem__", "__str__", "__repr__", "__hash__", "__eq__", "__bool__",
           "__getattr__", "__dir__", "__contains__", "__lt__", "__call__", "__sizeof__")  # fmt: skip


class Meta(type):
    __dir__ = __len__ = __iter__ = __getattr__ = fails  # type: ignore[assignment]


def hostile(*bases: type) -> type:
    body: dict[str, Any] = dict.fromkeys(SPECIAL, fails) | {"__class__": property(fails)}
    if bases == (set,) or bases == (frozenset,):
        del body["__hash__"], body["__eq__"]
    return Meta("Hostile", bases, body)


@pytest.mark.parametrize(
    "base", [object, list, dict, str, int, tuple, set, float, bytes, Exception]
)
def test_none_of_the_programs_code_runs_when_an_object_is_shown(base: type) -> None:
    cls = hostile(base)
    value = base.__new__(cls)
    heap = open_heap()
    assert encode_wire(value, heap) == ref(1, "Hostile")
    assert json.loads(format_wire(encode_level(value, heap))) is not None
    assert encode_level([value], heap) == [ref(1, "Hostile")]
    assert "Hostile" in format_wire(encode_level(cls, heap))


@pytest.mark.parametrize(
    "value",
    [threading.Lock(), iter([1]), (n for n in [1]), open, len, json, Point, Point.length, Point(1, 2).length,
     int, type, object(), NotImplemented, ..., range(9), memoryview(b"x"), "\ud800", {"\ud800"}, Fixed(1)],
)  # fmt: skip
def test_anything_can_be_shown(value: Any) -> None:
    format_wire(encode_level(value, open_heap())).encode()
    format_wire(encode_wire(value, open_heap())).encode()


def test_the_same_state_is_shown_by_the_same_text() -> None:
    first, again = ({f"name{n}" for n in numbers} for numbers in (range(50), reversed(range(50))))
    assert format_wire(encode_level(first, open_heap())) == format_wire(
        encode_level(again, open_heap())
    )


def test_what_a_class_holds_can_be_changed_through_its_reference() -> None:
    class Limits:
        """How much."""

        steps: ClassVar = [1, 2]
        rate = 3

        def double(self) -> int: ...

        @property
        def half(self) -> int: ...

    heap = open_heap()
    level = encode_level(Limits, heap)
    assert level["attributes"] == {"steps": {"type": "Ref", "addr": 1, "class": "list"}, "rate": 3}
    assert update_in_place(heap.read(1), [5]) is None
    assert Limits.steps == [5]
    assert update_in_place(Limits, {"rate": 4}) is None
    assert Limits.rate == 4
