"""A calendar that does what it is asked: each request becomes calls of its public methods."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from spsbench.llm import llm


@dataclass
class Event:
    title: str
    start: datetime
    guests: set[str] = field(default_factory=set)


class Calendar:
    def __init__(self) -> None:
        self._events: list[Event] = []

    def events(self) -> list[Event]:
        return sorted(self._events, key=lambda event: event.start)

    def add(self, title: str, start: datetime) -> Event:
        event = Event(title, start)
        self._events.append(event)
        return event

    def move(self, event: Event, start: datetime) -> None:
        event.start = start

    def cancel(self, event: Event) -> None:
        self._events.remove(event)

    def invite(self, event: Event, guest: str) -> None:
        event.guests.add(guest)


class Action(BaseModel):
    verb: Literal["add", "move", "cancel", "invite"]
    event: int | None
    title: str | None
    start: datetime | None
    guests: list[str]


class Plan(BaseModel):
    actions: list[Action]


def attend_to(calendar: Calendar, request: str, now: datetime) -> None:
    events = calendar.events()
    listed = "\n".join(f"{number}: {event}" for number, event in enumerate(events))
    plan = llm(
        f"It is {now}. The events in a calendar, by number:\n{listed}\n\nRequest: {request}\n\n"
        "List the actions that the request asks for. To add an event, give its title, a short one such as "
        '"Dentist", its start, and its guests by their first names. To move, cancel or invite to an event, '
        "give its number, and its new start or its new guests.",
        Plan,
    )
    for action in plan.actions:
        match action:
            case Action(verb="add", title=str(title), start=datetime() as start):
                events.append(calendar.add(title, start))
                for guest in action.guests:
                    calendar.invite(events[-1], guest)
            case Action(verb="move", event=int(number), start=datetime() as start):
                calendar.move(events[number], start)
            case Action(verb="cancel", event=int(number)):
                calendar.cancel(events[number])
            case Action(verb="invite", event=int(number)):
                for guest in action.guests:
                    calendar.invite(events[number], guest)
