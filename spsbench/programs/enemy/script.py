"""What a perfect model says for enemy, and a slip."""

from spsbench.script import Lines, Script, Slip

TROLL = """
class Troll:
    def __init__(self, name, health, attack):
        self.name, self.health, self.attack = name, health, attack

    def hurt(self, damage):
        self.health = max(0, self.health - damage)
        return self.health > 0

enemy = Troll("Grumm", 30, 7)
"""
GRUMM = Lines(({"name": "Grumm", "health": 30, "attack": 7},), (TROLL,))

SCRIPT = Script(
    {
        "spawned": GRUMM,
        "fought": GRUMM,
        "enchanted": Lines(
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
    Slip(
        "enchanted",
        Lines(
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
