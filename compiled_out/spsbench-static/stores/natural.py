# compiled by njc 0.1.0 from stores/natural.njpy (sha256 3ded1cfca0ea64ad, options cc2447ed8334793a, code 72581f1f1bd1cfa9, abi 1)
# do not edit: change stores/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local); passes 0 of 10 checks of its program (answered by a script)
"""A street of stores: each is described in words, and becomes a class of its own."""

from abc import ABC, abstractmethod


class Store(ABC):
    def __init__(self, name: str, prices: dict[str, float]) -> None:
        self.name = name
        self.prices = prices

    @abstractmethod
    def total(self, basket: list[str]) -> float:
        """What the goods in a basket cost here."""


def open_store(description: str) -> Store:
    # natural
    # Define a concrete subclass of <Store> whose `total` follows the <description>, and make of it the <:store>
    # with the name and the prices that the description gives.
    store = Store(
        description.split(" ")[0],
        {item: float(price) for item, price in description.split(": ")},
    )
    # end of natural block
    return store


def open_street(descriptions: list[str]) -> list[Store]:
    return [open_store(description) for description in descriptions]


# njc lines 1=1 4:1 21=17 28:21 33=26 sha256 03563f42cd30162a
