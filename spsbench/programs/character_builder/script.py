"""What a perfect model says for character_builder, and a slip."""

from spsbench.script import CaseScript, Mistake, Script

SCRIPT = Script(
    {
        "mirel": CaseScript(
            ({"name": "Mirel", "calling": "healer", "age": 60, "items": ["lantern", "flask"]},),
            ('character = Character("Mirel", "healer", 60, ["lantern", "flask"])',),
        )
    },
    Mistake(
        "mirel",
        CaseScript(
            ({"name": "Mirel", "calling": "wizard", "age": 60, "items": ["lantern"]},),
            ('character = Character("Mirel", "wizard", 60, ["lantern"])',),
        ),
        fails=("she is a healer", "she carries a lantern and a flask"),
    ),
)
