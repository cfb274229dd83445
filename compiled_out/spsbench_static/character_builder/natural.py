# compiled by njc 0.3.0 from character_builder/natural.njpy (sha256 402220fecf970cc3, options cc2447ed8334793a, abi 1)
# do not edit: change character_builder/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""Build a character for a role-playing game from what the player imagines."""

import njrt as _nj
from dataclasses import dataclass, field
from typing import Literal

Calling = Literal["fighter", "wizard", "ranger", "healer"]


@dataclass
class Character:
    name: str
    calling: Calling
    age: int
    items: list[str] = field(default_factory=list)


def build(description: str) -> Character:
    character: Character
    _nj.run(
        """natural
    Create the <Character> that the player imagines in the <description>, with a <Calling> that fits and
    the items, in singular, that are mentioned. Store it in <:character: Character>.
    """,
        lambda: (Character, description, Calling, character),
        writes="character",
        types=lambda: {"character": Character},
        at="character_builder/natural.njpy:18",
        effects="answer",
    )
    return character


# njc lines 1=1 4:1 6=3 7:3 23=18 25:19 28=18 34:22 35=23 sha256 fd1646dee7a5ed18
