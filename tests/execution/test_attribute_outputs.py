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


def carry_out(code: str, writes: str = "case.status", **arguments: Any) -> tuple[Case, int]:
    """Return the case after a block whose model writes some code, and then sets the attribute; and the number of requests."""
    case = Case()
    model = njrt.Scripted([run(code, done=True), run("case.status = 'late'", done=True)])
    with njrt.using(model=model):
        njrt.run("natural\nSet it.\n", lambda: (case,), writes=writes, at="p.njpy:1", **arguments)
    return case, len(model.requests)


@pytest.mark.parametrize(
    "code",
    [
        *("case.status = 'done'", "case.status = 'open'", "case.status += '!'", "case.close()"),
        *("other = case; other.status = 'open'", "if True:\n    case.status = 'open'"),
        "for case.status in ['open']: pass",
    ],
)
def test_what_sets_the_attribute_is_enough(code: str) -> None:
    assert carry_out(code)[1] == 1


@pytest.mark.parametrize("code", ["1", "case.parts.append('a')", "text = case.status"])
def test_a_value_from_before_does_not_count(code: str) -> None:
    case, requests = carry_out(code)
    assert (case.status, requests) == ("late", 2)


def test_a_value_from_before_counts_where_the_text_reads_the_attribute_too() -> None:
    assert carry_out("1", reads="case.status")[1] == 1


def test_an_object_that_is_changed_in_place_counts() -> None:
    assert carry_out("case.parts.append('a')", "case.parts")[1] == 1


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


def count_requests(owner: Any, codes: list[str], path: str) -> int:
    """Return the number of requests of a block with an output `path` of an object; its model runs these codes in turn."""
    model = njrt.Scripted([run(code, done=True) for code in codes])
    with njrt.using(model=model):
        njrt.run("natural\nSet it.\n", lambda: (owner,), writes=path, at="p.njpy:1")
    return len(model.requests)


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
