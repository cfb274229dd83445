"""Three orders: one dish, three of one, and one that says what it does not want."""

from types import ModuleType
from typing import Any

from spsbench.task import Case, Check, Task

STOCK = {"sushi": 10, "ramen": 5, "sashimi": 7, "salad": 4}


def order(words: str) -> Any:
    def play(program: ModuleType) -> dict[str, int]:
        inventory = dict(STOCK)
        program.sell(words, inventory)
        return inventory

    return play


TASK = Task(
    "menu",
    (
        Case(
            "one",
            order("Good evening! A portion of sushi for me, please."),
            (
                Check("one sushi is sold", lambda inventory: inventory["sushi"] == 9),
                Check(
                    "nothing else is sold",
                    lambda inventory: inventory == STOCK | {"sushi": inventory["sushi"]},
                ),
            ),
        ),
        Case(
            "three",
            order("Hello, I'd like to pick up three sashimis at seven."),
            (
                Check(
                    "three sashimis are sold",
                    lambda inventory: inventory == STOCK | {"sashimi": 4},
                ),
            ),
        ),
        Case(
            "without",
            order("A couple of ramens, and forget about the salad."),
            (
                Check(
                    "two ramens and no salad are sold",
                    lambda inventory: inventory == STOCK | {"ramen": 3},
                ),
            ),
        ),
    ),
)
