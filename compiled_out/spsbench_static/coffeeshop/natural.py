# compiled by njc 0.3.0 from coffeeshop/natural.njpy (sha256 6b36325ce30075cd, options cc2447ed8334793a, abi 1)
# do not edit: change coffeeshop/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""A coffee shop: what a customer says becomes an order of what the menu has."""

import njrt as _nj
from typing import Literal

from pydantic import BaseModel, Field

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


def take_order(words: str) -> Order:
    order: Order
    _nj.run(
        """natural
    Turn the customer's <words> into an <Order> of <Line>s, each a <Coffee>, <MilkDrink>, <Tea> or <Pastry>
    with what is said of its <Syrup>, <Sweetener> and <Topping>, and the defaults where nothing is said.
    Raise <NotOnTheMenu>, naming the thing, if any of it is not on the menu; else save the <:order: Order>.
    """,
        lambda: (
            words,
            Order,
            Line,
            Coffee,
            MilkDrink,
            Tea,
            Pastry,
            Syrup,
            Sweetener,
            Topping,
            NotOnTheMenu,
            order,
        ),
        writes="order",
        types=lambda: {"order": Order},
        at="coffeeshop/natural.njpy:83",
        effects="answer",
    )
    return order


# njc lines 1=1 4:1 6=3 7:3 88=83 90:84 94=83 113:88 114=89 sha256 21eb314720ae4615
