# compiled by njc 0.3.0 from calendar/rewritten.njpy (sha256 d1b531a3837f9f75, abi 1)
# do not edit: change calendar/rewritten.njpy and build again
"""A calendar that does what it is asked: each request becomes calls of its public methods."""

import njrt as _nj
from dataclasses import dataclass, field
from datetime import datetime


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


def attend_to(calendar: Calendar, request: str, now: datetime) -> None:
    events = calendar.events()
    _nj.run(
        """natural
    It is <now>, and these are the <events> in the <calendar>. Do what the <request> asks, by calling public methods
    of the calendar and nothing else. Times are <datetime> objects; titles are short, such as "Dentist"; guests are
    first names.
    """,
        lambda: (now, events, calendar, request, datetime),
        at="calendar/rewritten.njpy:38",
    )


# njc lines 1=1 3:1 5=3 6:3 42=38 43:39 47=38 50=43 sha256 76a4052f105a8092
