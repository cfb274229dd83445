# compiled by njc 0.1.0 from get_enemy/natural.njpy (sha256 1a7623261c0cbcb1, abi 1)
# do not edit: change get_enemy/natural.njpy and build again
"""An encounter: a function that knows an enemy which nobody wrote down."""

import njrt as _nj
from collections.abc import Callable
from typing import Any


def encounter() -> Callable[[], Any]:
    get_enemy: _nj.Any
    try:
        _nj.run(
            """natural
    Invent an enemy for the player to fight: one object with a `name` and a `description`, both strings.
    Define a function <:get_enemy> without parameters that returns this very object at every call.
    """,
            lambda: (get_enemy,),
            writes="get_enemy",
            labels="return",
            at="get_enemy/natural.njpy:8",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    return get_enemy


# njc lines 1=1 3:1 5=3 6:3 12=8 15:9 18=8 25:12 26=13 sha256 1b7b91326ef64022
