"""What a perfect model says for battle, and a slip."""

from spsbench.script import CaseScript, Mistake, Script


def hits(*damages: int, stuns: bool = False) -> dict[str, object]:
    return {
        "hits": [
            {"enemy": number, "damage": damage, "stuns": stuns}
            for number, damage in enumerate(damages)
        ]
    }


SCRIPT = Script(
    {
        "one": CaseScript(
            (hits(4, stuns=True),), ("enemies[0].health -= 4\nenemies[0].stunned = True",)
        ),
        "all": CaseScript((hits(3, 3, 3),), ("for enemy in enemies:\n    enemy.health -= 3",)),
        "fallen": CaseScript(
            (hits(15, 15, 15),),
            (
                "for enemy in enemies:\n"
                "    enemy.health -= 15\n"
                "enemies[:] = [enemy for enemy in enemies if enemy.health > 0]",
            ),
        ),
    },
    Mistake(
        "all",
        CaseScript((hits(3, 3),), ("for enemy in enemies[:2]:\n    enemy.health -= 3",)),
        fails=("everybody is hurt by 3",),
    ),
)
