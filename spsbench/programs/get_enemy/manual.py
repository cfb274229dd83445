"""An encounter: a function that knows an enemy which nobody wrote down."""

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from spsbench.llm import llm


class Enemy(BaseModel):
    name: str
    description: str


def encounter() -> Callable[[], Any]:
    enemy = llm("Invent an enemy for the player of a game to fight.", Enemy)

    def get_enemy() -> Enemy:
        return enemy

    return get_enemy
