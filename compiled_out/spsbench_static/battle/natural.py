# compiled by njc 0.3.0 from battle/natural.njpy (sha256 8db6a8b993cb4f75, options cc2447ed8334793a, code 779600b390b6916b, abi 1)
# do not edit: change battle/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local)
"""A turn in a game: the player says what they do, and the enemies feel it."""

from dataclasses import dataclass


@dataclass
class Enemy:
    name: str
    health: int
    stunned: bool = False


def take_turn(enemies: list[Enemy], action: str) -> None:
    # natural
    # The player's <action> happens to the <enemies>. Take the damage from the health of those it meets,
    # note who is stunned by it, and remove from the list, in place, those with no health left.
    for enemy in enemies:
        if enemy.stunned:
            continue
        if action == "attack":
            enemy.health -= 10
            if enemy.health <= 0:
                enemies.remove(enemy)
        elif action == "heal":
            enemy.health += 20
            if enemy.health > enemy.max_health:
                enemy.health = enemy.max_health
    # end of natural block


# njc lines 1=1 4:1 18=14 32=18 sha256 b8fb44d7f8d90e64
