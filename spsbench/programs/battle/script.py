"""What a perfect model says for battle, and a slip."""

from spsbench.script import CaseScript, Mistake, Script

NAMES = ("goblin", "orc", "bat")


def hits(*damages: int, stuns: bool = False) -> CaseScript:
    manual = [
        {"enemy": number, "damage": damage, "stuns": stuns} for number, damage in enumerate(damages)
    ]
    natural = ", ".join(
        f"Hit({name!r}, {damage}, {stuns})" for name, damage in zip(NAMES, damages, strict=False)
    )
    return CaseScript(({"hits": manual},), (f"hits = [{natural}]",))


SCRIPT = Script(
    {"one": hits(4, stuns=True), "all": hits(3, 3, 3), "fallen": hits(15, 15, 15)},
    Mistake("all", hits(3, 3), fails=("everybody is hurt by 3",)),
)
