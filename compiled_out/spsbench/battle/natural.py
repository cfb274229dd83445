# compiled by njc 0.3.0 from battle/natural.njpy (sha256 8db6a8b993cb4f75, abi 1)
# do not edit: change battle/natural.njpy and build again
"""A turn in a game: the player says what they do, and the enemies feel it."""

import njrt as _nj
from dataclasses import dataclass


@dataclass
class Enemy:
    name: str
    health: int
    stunned: bool = False


def take_turn(enemies: list[Enemy], action: str) -> None:
    _nj.run(
        """natural
    The player's <action> happens to the <enemies>. Take the damage from the health of those it meets,
    note who is stunned by it, and remove from the list, in place, those with no health left.
    """,
        lambda: (action, enemies),
        at="battle/natural.njpy:14",
    )


# njc lines 1=1 3:1 5=3 6:3 18=14 19:15 22=14 25=18 sha256 f62a151cfb3c68e5
