"""A coffee shop: what a customer says becomes an order of what the menu has."""

from typing import Literal

from pydantic import BaseModel, Field

from spsbench.llm import llm

Size = Literal["small", "medium", "large"]
Heat = Literal["hot", "extra hot", "iced"]
Milk = Literal["whole", "skimmed", "oat", "soy", "almond"]
Amount = Literal["no", "light", "regular", "extra"]


class Syrup(BaseModel):
    flavour: Literal["vanilla", "caramel", "hazelnut", "toffee"]
    amount: Amount = "regular"


class Sweetener(BaseModel):
    name: Literal["sugar", "honey", "stevia"]
    amount: Amount = "regular"


class Topping(BaseModel):
    name: Literal["cinnamon", "cocoa", "foam", "whipped cream"]
    amount: Amount = "regular"


class Coffee(BaseModel):
    kind: Literal["coffee"] = "coffee"
    name: Literal["filter coffee", "americano", "espresso", "macchiato", "long black"]
    size: Size = "medium"
    heat: Heat = "hot"
    shots: int = Field(default=1, ge=1, le=4)
    decaf: bool = False
    milk: Milk | None = None
    syrups: list[Syrup] = []
    sweeteners: list[Sweetener] = []


class MilkDrink(BaseModel):
    kind: Literal["milk drink"] = "milk drink"
    name: Literal["latte", "cappuccino", "flat white", "mocha", "hot chocolate"]
    size: Size = "medium"
    heat: Heat = "hot"
    shots: int = Field(default=1, ge=0, le=4)
    decaf: bool = False
    milk: Milk = "whole"
    syrups: list[Syrup] = []
    sweeteners: list[Sweetener] = []
    toppings: list[Topping] = []


class Tea(BaseModel):
    kind: Literal["tea"] = "tea"
    name: Literal["black tea", "green tea", "mint tea", "chai"]
    size: Size = "medium"
    heat: Heat = "hot"
    milk: Milk | None = None
    sweeteners: list[Sweetener] = []


class Pastry(BaseModel):
    kind: Literal["pastry"] = "pastry"
    name: Literal["croissant", "scone", "brownie", "lemon cake", "bagel"]
    warmed: bool = False
    spread: Literal["butter", "jam", "cream cheese"] | None = None


class Line(BaseModel):
    quantity: int = Field(ge=1)
    item: Coffee | MilkDrink | Tea | Pastry = Field(discriminator="kind")


class Order(BaseModel):
    lines: list[Line]


class NotOnTheMenu(ValueError):
    """The customer asked for something that the shop does not have."""


class Understood(BaseModel):
    lines: list[Line]
    not_on_the_menu: list[str]


def take_order(words: str) -> Order:
    understood = llm(
        "Turn the words of a customer in a coffee shop into the lines of an order, with the defaults where "
        "nothing is said. Whatever is not on the menu goes into not_on_the_menu, in the customer's words.\n\n"
        f"Customer: {words}",
        Understood,
    )
    if understood.not_on_the_menu:
        raise NotOnTheMenu(", ".join(understood.not_on_the_menu))
    return Order(lines=understood.lines)
