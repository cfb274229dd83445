# compiled by njc 0.3.0 from character_builder/natural.njpy (sha256 402220fecf970cc3, options cc2447ed8334793a, code bdeb4c5f64fe2d31, abi 1)
# do not edit: change character_builder/natural.njpy and build again
# no code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local) is used: the blocks run live
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


# njc lines 1=1 5:1 7=3 8:3 24=18 26:19 29=18 35:22 36=23 sha256 65b0f0cc064b60fc
