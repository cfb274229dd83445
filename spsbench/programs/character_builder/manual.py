"""Build a character for a role-playing game from what the player imagines."""

from dataclasses import dataclass, field
from typing import Literal

from pydantic import TypeAdapter

from spsbench.llm import llm

Calling = Literal["fighter", "wizard", "ranger", "healer"]


@dataclass
class Character:
    name: str
    calling: Calling
    age: int
    items: list[str] = field(default_factory=list)


def build(description: str) -> Character:
    sheet = llm(
        f"Fill in the character that the player imagines here: {description}\n"
        "Choose a calling that fits, and list the items, in singular, that are mentioned.",
        TypeAdapter(Character).json_schema(),
    )
    return Character(**sheet)
