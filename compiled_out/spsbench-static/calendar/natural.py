# compiled by njc 0.1.0 from calendar/natural.njpy (sha256 98b775da96e8cce5, options cc2447ed8334793a, code 65f6e97a350db29f, abi 1)
# do not edit: change calendar/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local); passes 0 of 3 checks of its program (answered by a script)
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
    # natural
    # It is <now>. Do what the <request> asks, by calling public methods of the <calendar> and nothing else.
    # Times are <datetime> objects; titles are short, such as "Dentist"; guests are first names.
    llm = _nj.llm_at("calendar/natural.njpy:37")
    if request == "list":
        print(calendar.events())
    elif request == "add":
        title = llm("What is the title of the event?", str)
        start = llm("When does the event start?", datetime)
        event = calendar.add(title, start)
        print(f"Event added: {event.title} at {event.start}")
    elif request == "move":
        event_id = llm("What is the ID of the event to move?", int)
        new_start = llm("When does the event start after moving?", datetime)
        calendar.move(event_id, new_start)
        print(f"Event moved: {event_id} to {new_start}")
    elif request == "cancel":
        event_id = llm("What is the ID of the event to cancel?", int)
        calendar.cancel(event_id)
        print(f"Event canceled: {event_id}")
    elif request == "invite":
        event_id = llm("What is the ID of the event to invite?", int)
        guest = llm("What is the name of the guest to invite?", str)
        calendar.invite(event_id, guest)
        print(f"Guest invited: {guest} to {event_id}")
    # end of natural block


# njc lines 1=1 4:1 6=3 7:3 42=37 67=41 sha256 3ca79078b98b9b15
