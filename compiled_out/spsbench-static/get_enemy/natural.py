# compiled by njc 0.1.0 from get_enemy/natural.njpy (sha256 1a7623261c0cbcb1, options cc2447ed8334793a, code 5f8b22d2d756481d, abi 1)
# do not edit: change get_enemy/natural.njpy and build again
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


# njc lines 1=1 3:1 11=8 18:12 19=13 sha256 9cf84086de9a7f56
