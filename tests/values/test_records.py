"""Records: they behave as frozen dataclasses with slots do, but for assignments at run time."""

from __future__ import annotations

import copy
import math
from dataclasses import FrozenInstanceError, dataclass, is_dataclass
from typing import Any

import pytest

from njrt.data.records import asdict, astuple, field, fields, record, replace


def make_classes(decorate: Any) -> tuple[Any, ...]:
    @decorate
    class Point:
        """A point."""

        x: float
        note: str = field(default="", compare=False, repr=False)

    @decorate
    class Named(Point):
        name: str = "p"
        parts: tuple[Any, ...] = ()

        @property
        def title(self) -> str:
            return f"{self.name} at {self.x}"

    @decorate
    class Own:
        items: list[int] = field(default_factory=list)

        def __eq__(self, other: object) -> bool:
            return isinstance(other, int)

        def __repr__(self) -> str:
            return "own"

    @decorate
    class Hashed:
        key: str
        rest: dict[str, int] = field(default_factory=dict)

        def __hash__(self) -> int:
            return 7

    @decorate
    class Empty:
        pass

    return Point, Named, Own, Hashed, Empty


def describe(classes: tuple[Any, ...]) -> list[object]:
    """Return what a program can see of the objects of the classes."""
    point, named, own, hashed, empty = classes
    holder = [named(1.0, parts=([],))]
    holder[0].parts[0].append(holder[0])  # an object that contains itself
    with pytest.raises(TypeError) as missing:
        point()
    with pytest.raises(TypeError) as unhashable:
        hash(named(1.0, parts=([],)))
    return [
        *(repr(each).rpartition("<locals>.")[2] for each in (point(1.0, "n"), named(2.0), empty(), own())),
        repr(holder[0]).count("..."),
        point(1.0, "a") == point(1.0, "b"),
        point(1.0) == point(1),
        point(1.0) != point(2.0),
        point(1.0) == named(1.0),
        point(1.0) == 1.0,
        point(1.0).__eq__(1.0),
        hash(point(1.0, "a")) == hash(point(1, "b")),
        len({named(1.0), named(1.0), named(2.0)}),
        own() == 3,
        hash(hashed("k")),
        hashed("k", {}) == hashed("k"),
        empty() == empty(),
        hash(empty()) == hash(empty()),
        str(missing.value).rpartition("<locals>.")[2],
        str(unhashable.value),
        named(1.0).title,
        point.__match_args__,
        [each.name for each in fields(named)],
        astuple(named(1.0)),
        asdict(named(1.0, name="q")),
        replace(named(1.0), name="r").title,
        copy.deepcopy(named(1.0, parts=(1,))) == named(1.0, parts=(1,)),
        point.__doc__,
        point.__slots__,
        is_dataclass(empty),
    ]  # fmt: skip


def test_records_behave_as_frozen_dataclasses() -> None:
    frozen = make_classes(dataclass(frozen=True, slots=True))
    assert describe(make_classes(record)) == describe(frozen)
    with pytest.raises(FrozenInstanceError):
        frozen[0](1.0).x = 2.0


def test_a_record_compares_its_fields_as_a_tuple() -> None:
    """As dataclasses do before Python 3.13: the same object is equal to itself."""
    point = make_classes(record)[0]
    assert point(math.nan) == point(math.nan)


def test_a_record_has_no_other_attributes() -> None:
    point = make_classes(record)[0](1.0)
    with pytest.raises(AttributeError):
        point.z = 2.0
