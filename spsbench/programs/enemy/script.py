"""What a perfect model says for enemy, and a slip."""

from spsbench.script import CaseScript, Mistake, Script

TROLL = """
class Troll:
    def __init__(self, name, health, attack):
        self.name, self.health, self.attack = name, health, attack

    def hurt(self, damage):
        self.health = max(0, self.health - damage)
        return self.health > 0

enemy = Troll("Grumm", 30, 7)
"""
GRUMM = CaseScript(({"name": "Grumm", "health": 30, "attack": 7},), (TROLL,))

SCRIPT = Script(
    {
        "spawned": GRUMM,
        "fought": GRUMM,
        "enchanted": CaseScript(
            (
                {
                    "changes": [
                        {"attribute": "attack", "value": 12},
                        {"attribute": "invisible", "value": True},
                    ]
                },
            ),
            ("enemy.attack *= 2\nenemy.invisible = True",),
        ),
    },
    Mistake(
        "enchanted",
        CaseScript(
            (
                {
                    "changes": [
                        {"attribute": "attack", "value": 12},
                        {"attribute": "health", "value": 36},
                    ]
                },
            ),
            ("enemy.attack *= 2\nenemy.health *= 2",),
        ),
        fails=("it is invisible", "name and health are the same"),
    ),
)
