# compiled by njc 0.3.0 from calendar/natural.njpy (sha256 98b775da96e8cce5, options cc2447ed8334793a, code 1ac5d0ee8b4f3201, abi 1)
# do not edit: change calendar/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local)
"""A calendar that does what it is asked: each request becomes calls of its public methods."""

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
    # natural
    # It is <now>. Do what the <request> asks, by calling public methods of the <calendar> and nothing else.
    # Times are <datetime> objects; titles are short, such as "Dentist"; guests are first names.
    event = calendar.add(request, now)
    calendar.invite(event, request.split()[0])
    # end of natural block


# njc lines 1=1 4:1 41=37 46=41 sha256 a988c2b4b83875c0
