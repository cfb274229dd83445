# compiled by njc 0.3.0 from enemy/natural.njpy (sha256 73eb6398314be778, options cc2447ed8334793a, code 594cc9556399409d, abi 1)
# do not edit: change enemy/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local)
# pyright: reportUnboundVariable=false
"""Enemies that come to life from a description, and change with the story."""

import njrt as _nj
from typing import Any


def spawn(description: str) -> Any:
    enemy: _nj.Any
    _nj.run(
        """natural
    Define a class for the enemy of this <description>, with the attributes `name`, `health` and `attack`, and
    a method `hurt(damage)` that lowers the health, never below 0, and returns whether the enemy still lives.
    Make the <:enemy> of that class.
    """,
        lambda: (description, enemy),
        writes="enemy",
        at="enemy/natural.njpy:7",
    )
    return enemy


def tell(enemy: Any, event: str) -> None:
    # natural
    # In the story, this <event> happens to the <enemy>. Change the attributes that it changes, and give the
    # enemy an attribute, named by one word and True, for each new condition that it is in.
    if event == "attack":
        enemy.is_attacking = True
    elif event == "defend":
        enemy.is_defending = True
    elif event == "heal":
        enemy.is_healing = True
    elif event == "die":
        enemy.is_dead = True
    # end of natural block


# njc lines 1=1 5:1 7=3 8:3 13=7 15:8 19=7 23:12 28=16 39=20 sha256 062527d512919ab4
