"""A troll is made, hurt, slain; another one is enchanted."""

from types import ModuleType, SimpleNamespace
from typing import Any

from spsbench.task import Case, Check, Task

GRUMM = "Grumm is a troll with 30 health, and hits for 7."


def spawned(program: ModuleType) -> Any:
    return program.spawn(GRUMM)


def fought(program: ModuleType) -> tuple[bool, int, bool, int]:
    enemy = program.spawn(GRUMM)
    return enemy.hurt(10), enemy.health, enemy.hurt(50), enemy.health


def enchanted(program: ModuleType) -> Any:
    enemy = SimpleNamespace(name="Oona", health=18, attack=6)
    program.tell(enemy, "A witch doubles the attack, and makes the enemy invisible.")
    return enemy


TASK = Task(
    "enemy",
    (
        Case(
            "spawned",
            spawned,
            (
                Check("its name is Grumm", lambda enemy: enemy.name == "Grumm"),
                Check("its health is 30", lambda enemy: enemy.health == 30),
                Check("its attack is 7", lambda enemy: enemy.attack == 7),
            ),
        ),
        Case(
            "fought",
            fought,
            (
                Check("10 damage leave it alive", lambda seen: seen[0] is True),
                Check("10 damage leave it 20 health", lambda seen: seen[1] == 20),
                Check("50 more damage kill it", lambda seen: seen[2] is False and seen[3] == 0),
            ),
        ),
        Case(
            "enchanted",
            enchanted,
            (
                Check("its attack is doubled", lambda enemy: enemy.attack == 12),
                Check("it is invisible", lambda enemy: getattr(enemy, "invisible", False) is True),
                Check(
                    "name and health are the same",
                    lambda enemy: enemy.name == "Oona" and enemy.health == 18,
                ),
            ),
        ),
    ),
    needs_python=True,
)
