"""One enemy is hit, all are, and some fall."""

from types import ModuleType
from typing import Any

from spsbench.task import Case, Check, Task


def turn(action: str) -> Any:
    def play(program: ModuleType) -> tuple[list[Any], list[Any]]:
        enemies = [program.Enemy("goblin", 12), program.Enemy("orc", 40), program.Enemy("bat", 5)]
        before = list(enemies)
        program.take_turn(enemies, action)
        return enemies, before

    return play


def healths(enemies: list[Any]) -> dict[str, int]:
    return {enemy.name: enemy.health for enemy in enemies}


TASK = Task(
    "battle",
    (
        Case(
            "one",
            turn("I throw a stone at the goblin for 4 damage. It is stunned."),
            (
                Check(
                    "only the goblin is hurt and stunned",
                    lambda seen: (
                        healths(seen[0]) == {"goblin": 8, "orc": 40, "bat": 5}
                        and [enemy.stunned for enemy in seen[0]] == [True, False, False]
                    ),
                ),
            ),
        ),
        Case(
            "all",
            turn("I shout a word of power: everybody loses 3 health."),
            (
                Check(
                    "everybody is hurt by 3",
                    lambda seen: healths(seen[0]) == {"goblin": 9, "orc": 37, "bat": 2},
                ),
            ),
        ),
        Case(
            "fallen",
            turn("My fireball burns each of them for 15."),
            (
                Check(
                    "the orc, the same object as before, is alone in the list",
                    lambda seen: (
                        len(seen[0]) == 1 and seen[0][0] is seen[1][1] and seen[0][0].health == 25
                    ),
                ),
            ),
        ),
    ),
)
