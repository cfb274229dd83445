# compiled by njc 0.3.0 from chosen_objects.njpy (sha256 9e5151d211255db2, abi 1)
# do not edit: change chosen_objects.njpy and build again
# pyright: reportUnboundVariable=false
"""An output that inputs hold, and that is not data: it is chosen from them."""

import njrt as _nj
from dataclasses import dataclass


class Survey:
    @dataclass
    class Room:
        name: str
        seats: int


def book(rooms: list[Survey.Room], people: int) -> Survey.Room:
    room: Survey.Room
    _nj.run(
        """natural(effects="answer")
    Put into <:room: Survey.Room> the smallest of <rooms> with seats for <people> people.
    """,
        lambda: (room, rooms, people),
        writes="room",
        types=lambda: {"room": Survey.Room},
        at="chosen_objects.njpy:14",
        chooses="room",
        effects="answer",
    )
    return room


# njc lines 1=1 4:1 6=3 7:3 19=14 21:15 23=14 30:17 31=18 sha256 543f552215084275
