# compiled by njc 0.3.0 from enemy/natural.njpy (sha256 73eb6398314be778, abi 1)
# do not edit: change enemy/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""Enemies that come to life from a description, and change with the story."""

import njrt as _nj
from typing import Any


def spawn(description: str) -> Any:
    enemy: _nj.Any
    _nj.run(
        """natural
    Define a class for the enemy of this <description>, with the attributes `name`, `health` and `attack`, and
    a method `hurt(damage)` that lowers the health, never below 0, and returns whether the enemy still lives.
    Make the <:enemy> of that class.
    """,
        lambda: (description, enemy),
        writes="enemy",
        at="enemy/natural.njpy:7",
    )
    return enemy


def tell(enemy: Any, event: str) -> None:
    _nj.run(
        """natural
    In the story, this <event> happens to the <enemy>. Change the attributes that it changes, and give the
    enemy an attribute, named by one word and True, for each new condition that it is in.
    """,
        lambda: (event, enemy),
        at="enemy/natural.njpy:16",
    )


# njc lines 1=1 4:1 6=3 7:3 12=7 14:8 18=7 22:12 27=16 28:17 31=16 34=20 sha256 0a963bf5f3a412e9
