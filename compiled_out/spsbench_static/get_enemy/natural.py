# compiled by njc 0.2.0 from get_enemy/natural.njpy (sha256 1eff41ff94dc4596, options cc2447ed8334793a, code 2a20f15ce8ae7fa4, abi 1)
# do not edit: change get_enemy/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local); passes 6 of 6 checks of its program (answered by a script)
"""An encounter: a function that knows an enemy which nobody wrote down."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Enemy:
    name: str
    description: str


def encounter() -> Callable[[], Enemy]:
    # natural
    # Invent an <Enemy> for the player to fight, and define a function <:get_enemy: Callable[[], Enemy]> without
    # parameters whose result is always this very object.
    get_enemy: Callable[[], Enemy]
    enemy = Enemy("Goblin", "A small, agile creature with a sharp claws.")
    get_enemy = lambda: enemy
    # end of natural block
    return get_enemy


# njc lines 1=1 4:1 18=14 24:18 25=19 sha256 c500fc3085678fdd
