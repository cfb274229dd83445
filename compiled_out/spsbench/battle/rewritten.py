# compiled by njc 0.3.0 from battle/rewritten.njpy (sha256 46308b887b22a982, abi 1)
# do not edit: change battle/rewritten.njpy and build again
# pyright: reportUnboundVariable=false
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
    hits: list[Hit]
    _nj.run(
        """natural
    The player's <action> happens to the enemies of these <names>. List in <:hits: list[Hit]> those that it meets,
    each by its name, with the damage and whether it is stunned.
    """,
        lambda: (action, names, hits),
        writes="hits",
        types=lambda: {"hits": list[Hit]},
        at="battle/rewritten.njpy:22",
        effects="answer",
    )
    for enemy in enemies:
        for hit in hits:
            if hit.enemy == enemy.name:
                enemy.health -= hit.damage
                enemy.stunned |= hit.stuns
    enemies[:] = [enemy for enemy in enemies if enemy.health > 0]


# njc lines 1=1 4:1 6=3 7:3 27=22 29:23 32=22 38:26 44=32 sha256 fbd50386b16b8e72
