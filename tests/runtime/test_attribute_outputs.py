"""An attribute output must be set in this run, as `<:name>` must be bound in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

import njrt
from njrt.models.scripted import run


@dataclass
class Case:
    status: str = "open"
    parts: list[str] = field(default_factory=list)

    def close(self) -> None:
        self.status = "closed"


def carry_out(code: str, writes: str = "case.status", **arguments: Any) -> tuple[Case, int]:
    """The case after a block whose model writes some code, and then sets the attribute; and the number of requests."""
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
