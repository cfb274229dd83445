"""Orders from plain to crooked, checked detail by detail, and three that the shop cannot serve."""

from types import ModuleType
from typing import Any

from spsbench.task import Case, Check, Task, catch_exception_name


def order(name: str, words: str, details: dict[str, Any]) -> Case:
    """One order, and what each `path.to.a.detail` of its lines must be (`len`: how many lines)."""

    def play(program: ModuleType) -> Any:
        taken = program.take_order(words)
        return taken.model_dump()["lines"] if isinstance(taken, program.Order) else None

    return Case(name, play, tuple(detail(path, value) for path, value in details.items()))


def detail(path: str, expected: Any) -> Check:
    def holds(lines: Any) -> bool:
        found = lines
        for step in path.split("."):
            found = len(found) if step == "len" else found[int(step) if step.isdigit() else step]
        return bool(found == expected)

    return Check(f"{path} is {expected!r}", holds)


def refused(name: str, words: str) -> Case:
    return Case(
        name,
        lambda program: catch_exception_name(lambda: program.take_order(words)),
        (Check("NotOnTheMenu is raised", lambda error: error == "NotOnTheMenu"),),
    )


def extra(key: str, what: str, amount: str = "regular") -> list[dict[str, str]]:
    return [{key: what, "amount": amount}]


TASK = Task(
    "coffeeshop",
    (
        order(
            "latte",
            "Hi, a large oat latte with a light caramel syrup, please.",
            {
                "len": 1,
                "0.quantity": 1,
                "0.item.name": "latte",
                "0.item.size": "large",
                "0.item.milk": "oat",
                "0.item.syrups": extra("flavour", "caramel", "light"),
                "0.item.heat": "hot",
            },
        ),
        order(
            "two",
            "Two double espressos, one of them decaf, and a warm croissant with butter.",
            {
                "len": 3,
                "0.item.shots": 2,
                "1.item.shots": 2,
                "2.item.name": "croissant",
                "2.item.warmed": True,
                "2.item.spread": "butter",
            },
        ),
        order(
            "iced",
            "Three small iced americanos with honey. No milk for anyone!",
            {
                "len": 1,
                "0.quantity": 3,
                "0.item.name": "americano",
                "0.item.heat": "iced",
                "0.item.sweeteners": extra("name", "honey"),
                "0.item.milk": None,
            },
        ),
        order(
            "changed mind",
            "A mocha. No, wait, make that a chai with almond milk and extra sugar.",
            {
                "len": 1,
                "0.item.name": "chai",
                "0.item.milk": "almond",
                "0.item.sweeteners": extra("name", "sugar", "extra"),
            },
        ),
        order(
            "topping",
            "An extra hot cappuccino, lots of cinnamon on top.",
            {"0.item.heat": "extra hot", "0.item.toppings": extra("name", "cinnamon", "extra")},
        ),
        refused("pizza", "A flat white and a slice of pizza."),
        refused("syrup", "A vanilla latte, but with rose syrup instead of the vanilla."),
        refused("nonsense", "Flibber me a wozzle, quick."),
    ),
)
