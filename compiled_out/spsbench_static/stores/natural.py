# compiled by njc 0.3.0 from stores/natural.njpy (sha256 3ded1cfca0ea64ad, options cc2447ed8334793a, abi 1)
# do not edit: change stores/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""A street of stores: each is described in words, and becomes a class of its own."""

import njrt as _nj
from abc import ABC, abstractmethod


class Store(ABC):
    def __init__(self, name: str, prices: dict[str, float]) -> None:
        self.name = name
        self.prices = prices

    @abstractmethod
    def total(self, basket: list[str]) -> float:
        """What the goods in a basket cost here."""


def open_store(description: str) -> Store:
    store: Store
    _nj.run(
        """natural
    Define a concrete subclass of <Store> whose `total` follows the <description>, and make of it the <:store>
    with the name and the prices that the description gives.
    """,
        lambda: (Store, description, store),
        writes="store",
        types=lambda: {"store": Store},
        at="stores/natural.njpy:17",
    )
    return store


def open_street(descriptions: list[str]) -> list[Store]:
    return [open_store(description) for description in descriptions]


# njc lines 1=1 4:1 6=3 7:3 22=17 24:18 27=17 32:21 37=26 sha256 d230a46bf4e54af9
