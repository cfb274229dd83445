"""An event is added with a guest, one is moved, one is cancelled; always by public methods."""

from datetime import datetime
from types import ModuleType
from typing import Any

from spsbench.task import Case, Check, Task

NOW = datetime(2026, 3, 2, 9)  # a Monday
VERBS = ("add", "move", "cancel", "invite")


def request(text: str) -> Any:
    """Play a request on a calendar that keeps account of the methods called on it."""

    def play(program: ModuleType) -> tuple[list[Any], list[str]]:
        called = []

        class Calendar(program.Calendar):  # type: ignore[misc, name-defined]
            def __getattribute__(self, name: str) -> Any:
                if name in VERBS:
                    called.append(name)
                return super().__getattribute__(name)

        calendar = Calendar()
        calendar.add("Standup", datetime(2026, 3, 3, 10))
        calendar.add("Lunch", datetime(2026, 3, 4, 12))
        called.clear()
        program.attend_to(calendar, text, NOW)
        return calendar.events(), called

    return play


def summary(events: list[Any]) -> list[tuple[str, datetime, set[str]]]:
    return [(event.title, event.start, event.guests) for event in events]


STANDUP = ("Standup", datetime(2026, 3, 3, 10), set[str]())
LUNCH = ("Lunch", datetime(2026, 3, 4, 12), set[str]())

TASK = Task(
    "calendar",
    (
        Case(
            "add",
            request("Put a review on Thursday at 3 pm and invite Ada."),
            (
                Check(
                    "a review with Ada is added by `add` and `invite`",
                    lambda seen: (
                        summary(seen[0])
                        == [STANDUP, LUNCH, (seen[0][2].title, datetime(2026, 3, 5, 15), {"Ada"})]
                        and "review" in seen[0][2].title.lower()
                        and seen[1] == ["add", "invite"]
                    ),
                ),
            ),
        ),
        Case(
            "move",
            request("I can't make lunch on Wednesday, make it the same time on Friday."),
            (
                Check(
                    "lunch is moved by `move`",
                    lambda seen: (
                        summary(seen[0]) == [STANDUP, ("Lunch", datetime(2026, 3, 6, 12), set())]
                        and seen[1] == ["move"]
                    ),
                ),
            ),
        ),
        Case(
            "cancel",
            request("No standup tomorrow, please."),
            (
                Check(
                    "the standup is cancelled by `cancel`",
                    lambda seen: summary(seen[0]) == [LUNCH] and seen[1] == ["cancel"],
                ),
            ),
        ),
    ),
    needs_python=True,
)
