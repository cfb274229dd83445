"""Enemies that come to life from a description, and change with the story."""

from typing import Any

from pydantic import BaseModel

from spsbench.llm import llm


class Enemy:
    def __init__(self, name: str, health: int, attack: int) -> None:
        self.name = name
        self.health = health
        self.attack = attack

    def hurt(self, damage: int) -> bool:
        self.health = max(0, self.health - damage)
        return self.health > 0


class Description(BaseModel):
    name: str
    health: int
    attack: int


class Change(BaseModel):
    attribute: str
    value: int | str | bool


class Changes(BaseModel):
    changes: list[Change]


def spawn(description: str) -> Any:
    enemy = llm(f"Fill in the enemy of this description: {description}", Description)
    return Enemy(enemy.name, enemy.health, enemy.attack)


def tell(enemy: Any, event: str) -> None:
    story = llm(
        f"The attributes of an enemy in a story: {vars(enemy)}\nThis happens to it: {event}\n\n"
        "List the attributes that change, with their new values, and one more attribute, named by one word and "
        "true, for each new condition that the enemy is in.",
        Changes,
    )
    for change in story.changes:
        setattr(enemy, change.attribute, change.value)
