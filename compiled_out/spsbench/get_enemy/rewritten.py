# compiled by njc 0.3.0 from get_enemy/rewritten.njpy (sha256 1eff41ff94dc4596, abi 1)
# do not edit: change get_enemy/rewritten.njpy and build again
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
    get_enemy: Callable[[], Enemy]
    _nj.run(
        """natural
    Invent an <Enemy> for the player to fight, and define a function <:get_enemy: Callable[[], Enemy]> without
    parameters whose result is always this very object.
    """,
        lambda: (Enemy, get_enemy),
        writes="get_enemy",
        types=lambda: {"get_enemy": Callable[[], Enemy]},
        at="get_enemy/rewritten.njpy:14",
    )
    return get_enemy


# njc lines 1=1 4:1 6=3 7:3 19=14 21:15 24=14 29:18 30=19 sha256 ca8c54cedb00b03f
