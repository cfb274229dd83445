"""What a perfect model says for battle, and a slip."""

from spsbench.script import CaseScript, Mistake, Script

NAMES = ("goblin", "orc", "bat")


def hits(*damages: int, code: str, stuns: bool = False) -> CaseScript:
    manual = [
        {"enemy": number, "damage": damage, "stuns": stuns} for number, damage in enumerate(damages)
    ]
    rewritten = ", ".join(
        f"Hit({name!r}, {damage}, {stuns})" for name, damage in zip(NAMES, damages, strict=False)
    )
    return CaseScript(({"hits": manual},), (code,), (f"hits = [{rewritten}]",))


SCRIPT = Script(
    {
        "one": hits(4, stuns=True, code="enemies[0].health -= 4\nenemies[0].stunned = True"),
        "all": hits(3, 3, 3, code="for enemy in enemies:\n    enemy.health -= 3"),
        "fallen": hits(
            *(15, 15, 15),
            code="for enemy in enemies:\n"
            "    enemy.health -= 15\n"
            "enemies[:] = [enemy for enemy in enemies if enemy.health > 0]",
        ),
    },
    Mistake(
        "all",
        hits(3, 3, code="for enemy in enemies[:2]:\n    enemy.health -= 3"),
        fails=("everybody is hurt by 3",),
    ),
)
