# compiled by njc 0.2.0 from get_enemy/natural.njpy (sha256 1a7623261c0cbcb1, options cc2447ed8334793a, code 494e2f1778edd586, abi 1)
# do not edit: change get_enemy/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local); passes 0 of 6 checks of its program (answered by a script)
"""An encounter: a function that knows an enemy which nobody wrote down."""

import njrt as _nj
from collections.abc import Callable
from typing import Any


def encounter() -> Callable[[], Any]:
    # natural
    # Invent an enemy for the player to fight: one object with a `name` and a `description`, both strings.
    # Define a function <:get_enemy> without parameters that returns this very object at every call.
    get_enemy = {
        "name": "Goblin",
        "description": "A small, agile creature with a sharp claws.",
    }
    _nj.check_type(
        "get_enemy/natural.njpy:8",
        "get_enemy",
        get_enemy,
        lambda: Callable[[], Any],
    )
    # end of natural block
    return get_enemy


# njc lines 1=1 4:1 6=3 7:3 13=8 26:12 27=13 sha256 da3c01de9f1c3c17
