# compiled by njc 0.2.0 from battle/natural.njpy (sha256 46308b887b22a982, options cc2447ed8334793a, code 77a88d4afae62283, abi 1)
# do not edit: change battle/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local); passes 0 of 3 checks of its program (answered by a script)
"""A turn in a game: the player says what they do, and the enemies feel it."""

import njrt as _nj
from dataclasses import dataclass


@dataclass
class Enemy:
    name: str
    health: int
    stunned: bool = False


@dataclass(frozen=True)
class Hit:
    enemy: str
    damage: int
    stuns: bool


def take_turn(enemies: list[Enemy], action: str) -> None:
    names: tuple[str, ...] = tuple(enemy.name for enemy in enemies)
    # natural
    # The player's <action> happens to the enemies of these <names>. List in <:hits: list[Hit]> those that it meets,
    # each by its name, with the damage and whether it is stunned.
    hits: list[Hit]
    llm = _nj.llm_at("battle/natural.njpy:22")
    hits = llm(
        f"List all hits that the player can make on the enemies.\n\n{action}", list[Hit]
    )
    # end of natural block
    for enemy in enemies:
        for hit in hits:
            if hit.enemy == enemy.name:
                enemy.health -= hit.damage
                enemy.stunned |= hit.stuns
    enemies[:] = [enemy for enemy in enemies if enemy.health > 0]


# njc lines 1=1 4:1 6=3 7:3 27=22 35:26 41=32 sha256 fad86ad8dd38d08f
