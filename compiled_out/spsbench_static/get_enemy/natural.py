# compiled by njc 0.2.0 from get_enemy/natural.njpy (sha256 1a7623261c0cbcb1, options cc2447ed8334793a, code de8c7cb0f531c171, abi 1)
# do not edit: change get_enemy/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local); passes 1 of 6 checks of its program (answered by a script)
"""An encounter: a function that knows an enemy which nobody wrote down."""

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
    # end of natural block
    return get_enemy


# njc lines 1=1 4:1 12=8 19:12 20=13 sha256 b474e707a1cdae22
