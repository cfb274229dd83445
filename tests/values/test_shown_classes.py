"""Objects that a block may change: their classes are shown once, with the types of fields and the signatures of methods."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

import njrt
from njrt.testing import Scripted, UserMessage, run


@dataclass
class Event:
    title: str
    guests: list[str] = field(default_factory=list)

    def invite(self, guest: str) -> None:
        """Add a guest."""


@dataclass
class Day:
    """A day."""

    events: list[Event]
    notes: str = ""


class Calendar:
    def __init__(self) -> None:
        self.owner = "Ann"

    def find(self, title: str) -> Event:
        return Event(title)


def show(**values: Any) -> list[str]:
    """Return the lines below the instruction of a block that reads these values."""
    a, b = values.get("a"), values.get("b")
    model = Scripted([run("pass", done=True)])
    with njrt.using(model=model):
        njrt.run("natural\nChange <a> and <b>.", lambda: (a, b), at="a.njpy:1")
    message = model.requests[0].messages[0]
    assert isinstance(message, UserMessage)
    return message.text.splitlines()[2:]


EVENT = ["Event: class Event", "    .invite(guest: str) -> None  # Add a guest."]
SHOWN = {
    "an object": (Event("x"), None, EVENT),
    "in a list": ([Event("x")], None, EVENT),
    "in a dict": ({"k": Event("x")}, None, EVENT),
    "in a field": (Day([]), None, [*EVENT, "Day: class Day", "    Day: A day."]),
    "in a signature": (Calendar(), None, [*EVENT, "    .find(title: str) -> Event"]),
    "twice": (Event("x"), [Event("y")], EVENT),
    "named": (Event, Event("x"), ["a: class Event", "    .invite(guest: str) -> None  # Add a guest."]),
}  # fmt: skip


@pytest.mark.parametrize(("a", "b", "expected"), SHOWN.values(), ids=SHOWN)
def test_a_class_is_shown_once(a: Any, b: Any, expected: list[str]) -> None:
    lines = show(a=a, b=b)
    assert all(lines.count(line) == 1 for line in expected), lines
    assert sum(line.startswith("    Event(title: str, guests: list[str]") for line in lines) == 1


def test_values_have_no_members_of_their_own() -> None:
    assert show(a=Event("x"), b=3)[-2:] == ["a: Event = Event(title='x', guests=[])", "b: int = 3"]


def test_no_class_is_shown_with_plain_values() -> None:
    assert show(a=[1], b="x") == ["a: list[int], 1 item = [1]", "b: str = 'x'"]


def test_many_classes_have_limited_room() -> None:
    classes = [
        type(f"Kind{n}", (), {"__module__": "shop", "__annotations__": {f"x{i}": int for i in range(50)}})
        for n in range(30)
    ]  # fmt: skip
    lines = show(a=[cls() for cls in classes], b=None)
    assert len("\n".join(lines)) < 4_000
