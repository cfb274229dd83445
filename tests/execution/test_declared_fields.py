"""An attribute that code sets to something else than its declaration: refused, and as before, in each policy."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import pytest
from playing import carry_out
from pydantic import BaseModel

from njrt.execution.scope.declared_fields import read_field_types


@dataclass
class Enemy:
    name: str
    health: int
    mood: Literal["calm", "angry"] = "calm"
    tags: list[str] = field(default_factory=list)
    best: Enemy | None = None
    odd: int = None  # type: ignore[assignment]
    kinds: ClassVar[int] = 3

    def heal(self, by: Any) -> None:
        self.health = by


@dataclass(slots=True)
class Slotted:
    health: int = 1


class Mixed(Slotted):
    mood: str = "calm"


class Model(BaseModel):
    health: int = 1


class Plain:
    def __init__(self) -> None:
        self.health = 3


REFUSED = {
    "another type": ("given[0].health = 'none'", "`Enemy.health: int`: expected int, got str"),
    "another literal": ("given[0].mood = 'sad'", "`Enemy.mood: Literal['calm', 'angry']`: expected"),
    "another item type": ("given[0].tags = [1]", "at 0: expected str, got int"),
    "None": ("given[0].name = None", "expected str, got None"),
    "another class": ("given[1].best = 'Bo'", "expected Enemy | None, got str"),
    "an object below": ("given[0].best.health = 1.5", "`Enemy.health: int`"),
}  # fmt: skip


def make_enemies() -> list[Enemy]:
    return [Enemy("Al", 3, best=Enemy("Cy", 1)), Enemy("Bo", 2)]


@pytest.mark.parametrize(("code", "told"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused_and_as_before(code: str, told: str, policy: str) -> None:
    given = make_enemies()
    assert told in carry_out(code, policy, given=given)
    assert given == make_enemies()


@pytest.mark.parametrize(
    "code",
    [
        "given[0].health -= 1",
        "given[0].mood = 'angry'",
        "given[0].tags = ['a']",
        "given[1].best = given[0]",
        "given[0].odd = None",
        "given.pop()",
        "given[0].health = True or 1; given[0].health = 4",
    ],
)
def test_what_fits_is_accepted(code: str, policy: str) -> None:
    given = make_enemies()
    assert carry_out(code, policy, given=given) == ""
    assert given != make_enemies() or "odd" in code


def test_the_rest_of_guarded_code_stays() -> None:
    given = make_enemies()
    told = carry_out("given[0].health = 'none'\ngiven[1].health = 9", given=given)
    assert "the attribute is as before" in told
    assert [each.health for each in given] == [3, 9]


def test_what_a_method_of_the_program_sets_counts_too() -> None:
    given = make_enemies()
    assert "`Enemy.health: int`" in carry_out("given[0].heal('all')", given=given)
    assert given == make_enemies()


@pytest.mark.parametrize(
    "made", [Slotted(), Mixed(), Model()], ids=lambda made: type(made).__name__
)
def test_objects_of_other_kinds(made: Any) -> None:
    assert "expected int, got str" in carry_out("made.health = 'none'", made=made)
    assert made.health == 1


def test_an_attribute_without_a_declaration_is_free() -> None:
    given = Plain()
    assert carry_out("given.health = 'none'\ngiven.new = 1", given=given) == ""
    assert str(given.health) == "none"


def test_an_attribute_that_did_not_fit_before_is_free() -> None:
    given = Enemy("Al", "many")  # type: ignore[arg-type]
    assert carry_out("given.health = 'few'", given=given) == ""


def test_a_declaration_that_cannot_be_read_is_open() -> None:
    class Odd:
        a: Missing  # type: ignore[name-defined]  # noqa: F821
        b: int

    assert read_field_types(Odd) == {"a": Any, "b": int}
    assert sys.modules[Odd.__module__] is not None
