"""What a perfect model says for get_enemy, and a slip."""

from spsbench.script import CaseScript, Mistake, Script


def invented(name: str, description: str) -> CaseScript:
    code = f"""
class Enemy:
    def __init__(self, name, description):
        self.name = name
        self.description = description

enemy = Enemy({name!r}, {description!r})

def get_enemy():
    return enemy
"""
    rewritten = f"enemy = Enemy({name!r}, {description!r})\ndef get_enemy():\n    return enemy"
    return CaseScript(({"name": name, "description": description},), (code,), (rewritten,))


MOTH = invented("Gloom Moth", "A moth the size of a barn that eats lamplight.")
KNIGHT = invented("Sir Rust", "An empty suit of armour with a grudge.")

SCRIPT = Script(
    {
        "one": MOTH,
        "two": CaseScript(
            MOTH.answers + KNIGHT.answers,
            MOTH.code + KNIGHT.code,
            MOTH.rewritten + KNIGHT.rewritten,
        ),
    },
    Mistake("one", invented("Gloom Moth", " "), fails=("the enemy has a description",)),
)
