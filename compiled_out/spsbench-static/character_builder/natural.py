# compiled by njc 0.1.0 from character_builder/natural.njpy (sha256 402220fecf970cc3, options cc2447ed8334793a, code 07127f4bd570175a, abi 1)
# do not edit: change character_builder/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local); passes 0 of 4 checks of its program (answered by a script)
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
    # natural
    # Create the <Character> that the player imagines in the <description>, with a <Calling> that fits and
    # the items, in singular, that are mentioned. Store it in <:character: Character>.
    character: Character
    llm = _nj.llm_at("character_builder/natural.njpy:18")
    name = llm(f"What is the name of this character?\n\n{description}", str)
    calling = llm(f"What is the calling of this character?\n\n{description}", Calling)
    age = llm(f"What is the age of this character?\n\n{description}", int)
    items = llm(f"What are the items of this character?\n\n{description}", list[str])
    character = Character(name, calling, age, items)
    # end of natural block
    return character


# njc lines 1=1 4:1 6=3 7:3 23=18 33:22 34=23 sha256 e5742f7e773893be
