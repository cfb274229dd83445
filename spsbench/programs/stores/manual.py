"""A street of stores: each is described in words, and becomes a class of its own."""

from abc import ABC, abstractmethod

from pydantic import BaseModel

from spsbench.llm import llm


class Store(ABC):
    def __init__(self, name: str, prices: dict[str, float]) -> None:
        self.name = name
        self.prices = prices

    @abstractmethod
    def total(self, basket: list[str]) -> float:
        """What the goods in a basket cost here."""


class Price(BaseModel):
    item: str
    price: float


class Description(BaseModel):
    class_name: str
    name: str
    prices: list[Price]
    percent_off: float
    percent_off_from_total: float
    one_free_of: int | None
    fee: float


def open_store(description: str) -> Store:
    read = llm(
        "Read the description of a store: a Python name for its class, its name, its prices, the percentage off "
        "and the total from which it is taken off (0 if always), of how many equal items one is free (null if "
        f"none), and the fee added to each purchase (0 if none).\n\n{description}",
        Description,
    )

    def total(self: Store, basket: list[str]) -> float:
        paid = 0.0
        for item in set(basket):
            count = basket.count(item)
            free = count // read.one_free_of if read.one_free_of else 0
            paid += (count - free) * self.prices[item]
        if paid >= read.percent_off_from_total:
            paid *= 1 - read.percent_off / 100
        return paid + read.fee

    kind = type(read.class_name, (Store,), {"total": total})
    store: Store = kind(read.name, {price.item: price.price for price in read.prices})
    return store


def open_street(descriptions: list[str]) -> list[Store]:
    return [open_store(description) for description in descriptions]
