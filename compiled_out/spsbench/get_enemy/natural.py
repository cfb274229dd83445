# compiled by njc 0.2.0 from get_enemy/natural.njpy (sha256 627e049a49c4ffe0, abi 1)
# do not edit: change get_enemy/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""An encounter: a function that knows an enemy which nobody wrote down."""

import njrt as _nj
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Enemy:
    name: str
    description: str


def encounter() -> Callable[[], Enemy]:
    enemy: Enemy
    _nj.run(
        """natural
    Invent an <:enemy: Enemy> for the player to fight.
    """,
        lambda: (enemy,),
        writes="enemy",
        types=lambda: {"enemy": Enemy},
        at="get_enemy/natural.njpy:14",
        effects="answer",
    )
    get_enemy: Callable[[], Enemy]
    _nj.run(
        """natural
    Define a function <:get_enemy: Callable[[], Enemy]> without parameters whose result is always this very <enemy>.
    """,
        lambda: (get_enemy, enemy),
        writes="get_enemy",
        types=lambda: {"get_enemy": Callable[[], Enemy]},
        at="get_enemy/natural.njpy:17",
    )
    return get_enemy


# njc lines 1=1 4:1 6=3 7:3 19=14 21:15 23=14 29:17 30=17 32:18 34=17 39:20 40=21 sha256 8b59d2b09376ea99
