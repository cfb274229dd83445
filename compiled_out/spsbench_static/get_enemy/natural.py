# compiled by njc 0.3.0 from get_enemy/natural.njpy (sha256 1a7623261c0cbcb1, options cc2447ed8334793a, abi 1)
# do not edit: change get_enemy/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""An encounter: a function that knows an enemy which nobody wrote down."""

import njrt as _nj
from collections.abc import Callable
from typing import Any


def encounter() -> Callable[[], Any]:
    get_enemy: Callable[[], Any]
    _nj.run(
        """natural
    Invent an enemy for the player to fight: one object with a `name` and a `description`, both strings.
    Define a function <:get_enemy> without parameters that returns this very object at every call.
    """,
        lambda: (get_enemy,),
        writes="get_enemy",
        types=lambda: {"get_enemy": Callable[[], Any]},
        at="get_enemy/natural.njpy:8",
    )
    return get_enemy


# njc lines 1=1 4:1 6=3 7:3 13=8 15:9 18=8 23:12 24=13 sha256 1820b149bdd3cf78
