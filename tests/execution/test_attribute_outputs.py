"""An attribute output must be set in this run, as `<:name>` must be bound in it."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field
from typing import Any

import pytest

import njrt
from njrt.testing import run

pytestmark = pytest.mark.usefixtures("guarded")


@dataclass
class Case:
    status: str = "open"
    parts: list[str] = field(default_factory=list)

    def close(self) -> None:
        self.status = "closed"


def count_requests(owner: Any, codes: list[str], path: str, **arguments: Any) -> int:
    """Return the number of requests of a block with an output `path` of an object; its model runs these codes in turn."""
    model = njrt.Scripted([run(code, done=True) for code in codes])
    with njrt.using(model=model):
        njrt.run("natural\nSet it.", lambda: (owner,), writes=path, at="p.njpy:1", **arguments)
    return len(model.requests)


@pytest.mark.parametrize(
    "code",
    [
        *("owner.status = 'done'", "owner.status = 'open'", "owner.status += '!'", "owner.close()"),
        *("other = owner; other.status = 'open'", "if True:\n    owner.status = 'open'"),
        "for owner.status in ['open']: pass",
    ],
)
def test_what_sets_the_attribute_is_enough(code: str) -> None:
    assert count_requests(Case(), [code], "owner.status") == 1


@pytest.mark.parametrize("code", ["1", "owner.parts.append('a')", "text = owner.status"])
def test_a_value_from_before_does_not_count(code: str) -> None:
    case = Case()
    assert count_requests(case, [code, "owner.status = 'late'"], "owner.status") == 2
    assert case.status == "late"


def test_a_value_from_before_counts_where_the_text_reads_the_attribute_too() -> None:
    assert count_requests(Case(), ["1"], "owner.status", reads="owner.status") == 1


def test_an_object_that_is_changed_in_place_counts() -> None:
    assert count_requests(Case(), ["owner.parts.append('a')"], "owner.parts") == 1


class Plain:
    status = "open"

    def reopen(self) -> None:
        self.status = "open"


class Derived(Plain):
    pass


@dataclass(slots=True)
class Slotted:
    status: str = "open"


class Computed:
    """The attribute is a property, or any name at all."""

    def __init__(self) -> None:
        self.kept = ["open"]

    @property
    def status(self) -> str:
        return self.kept[-1]

    @status.setter
    def status(self, status: str) -> None:
        self.kept[-1] = status

    def reopen(self) -> None:
        self.kept.append("open")

    def __getattr__(self, name: str) -> str:
        if name != "other":
            raise AttributeError(name)
        return self.kept[-1]


class Unset:
    __slots__ = ("status",)

    def reopen(self) -> None:
        self.status = "open"


class Holder:
    @property
    def case(self) -> Slotted:
        return self.held

    def __init__(self) -> None:
        self.held = Slotted()


@pytest.mark.parametrize(
    ("make", "path"),
    [
        *[(make, "owner.status") for make in (Plain, Derived, Slotted, Computed)],
        *[(lambda: Plain, "owner.status"), (lambda: Derived, "owner.status")],
        *[(Computed, "owner.other"), (Computed, "owner.reopen"), (Holder, "owner.case.status")],
    ],
)
def test_a_value_from_before_does_not_count_wherever_it_is_kept(make: Any, path: str) -> None:
    assert count_requests(make(), [f"{path}; 1", f"{path} = 'open'"], path) == 2


@pytest.mark.parametrize("make", [Plain, Computed, Unset])
def test_a_method_that_sets_the_attribute_is_enough(make: Any) -> None:
    assert count_requests(make(), ["owner.reopen()"], "owner.status") == 1


def test_a_field_of_a_named_tuple_cannot_be_an_output() -> None:
    point = namedtuple("point", "status")("open")
    with pytest.raises(njrt.NaturalError):
        count_requests(point, ["1", "owner.status"], "owner.status")
