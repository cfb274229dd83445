# compiled by njc 0.2.0 from calendar/natural.njpy (sha256 d1b531a3837f9f75, options cc2447ed8334793a, code d1d7e05baa214be4, abi 1)
# do not edit: change calendar/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local); passes 0 of 3 checks of its program (answered by a script)
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
    events = calendar.events()
    # natural
    # It is <now>, and these are the <events> in the <calendar>. Do what the <request> asks, by calling public methods
    # of the calendar and nothing else. Times are <datetime> objects; titles are short, such as "Dentist"; guests are
    # first names.
    for event in events:
        if event.start <= now:
            if request == "attend":
                calendar.invite(event, request)
            elif request == "cancel":
                calendar.cancel(event)
            elif request == "move":
                calendar.move(event, request)
            else:
                raise ValueError("Invalid request")
    # end of natural block


# njc lines 1=1 4:1 42=38 56=43 sha256 76154292b99ed628
