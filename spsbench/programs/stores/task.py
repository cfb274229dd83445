"""Three stores with three rules, each tried with two baskets."""

from types import ModuleType
from typing import Any

from spsbench.task import Case, Check, Task

DESCRIPTIONS = (
    "Alder Street Greens sells apples for 2 and leeks for 1.50 each. Of any three of a kind one is free.",
    "The Paper Boat has notebooks for 4 and pens for 1. It takes 10 percent off when the goods cost 20 or more.",
    "Nightowl Deliveries brings noodles for 9 and soup for 6, and adds a fee of 3 to every purchase.",
)


def street(program: ModuleType) -> tuple[Any, list[Any]]:
    return program.Store, program.open_street(list(DESCRIPTIONS))


def total(store: int, basket: list[str], expected: float) -> Check:
    return Check(
        f"{', '.join(basket)} cost {expected} in store {store + 1}",
        lambda seen: abs(seen[1][store].total(basket) - expected) < 1e-6,
    )


TASK = Task(
    "stores",
    (
        Case(
            "street",
            street,
            (
                Check("three stores are open", lambda seen: len(seen[1]) == 3),
                Check(
                    "each is a Store",
                    lambda seen: all(isinstance(store, seen[0]) for store in seen[1]),
                    is_operation=True,
                ),
                Check(
                    "each is of a class of its own",
                    lambda seen: len({type(store) for store in seen[1]} - {seen[0]}) == 3,
                    is_operation=True,
                ),
                Check(
                    "they have their names",
                    lambda seen: (
                        [store.name for store in seen[1]]
                        == ["Alder Street Greens", "The Paper Boat", "Nightowl Deliveries"]
                    ),
                ),
                total(0, ["leeks", "apples", "leeks", "leeks"], 5.0),
                total(0, ["apples", "leeks"], 3.5),
                total(1, ["notebooks"] * 5, 18.0),
                total(1, ["notebooks", "pens"], 5.0),
                total(2, ["soup", "noodles"], 18.0),
                total(2, ["noodles"], 12.0),
            ),
        ),
    ),
    needs_python=True,
)
