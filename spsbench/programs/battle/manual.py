"""A turn in a game: the player says what they do, and the enemies feel it."""

from dataclasses import dataclass

from pydantic import BaseModel

from spsbench.llm import llm


@dataclass
class Enemy:
    name: str
    health: int
    stunned: bool = False


class Hit(BaseModel):
    enemy: int
    damage: int
    stuns: bool


class Turn(BaseModel):
    hits: list[Hit]


def take_turn(enemies: list[Enemy], action: str) -> None:
    lines = "\n".join(f"{number}: {enemy}" for number, enemy in enumerate(enemies))
    turn = llm(
        f"The enemies, by number:\n{lines}\n\nThe player's action: {action}\n\n"
        "List the enemies that the action meets, each with the damage and whether it is stunned.",
        Turn,
    )
    for hit in turn.hits:
        enemies[hit.enemy].health -= hit.damage
        enemies[hit.enemy].stunned |= hit.stuns
    enemies[:] = [enemy for enemy in enemies if enemy.health > 0]
