# compiled by njc 0.3.0 from order.njpy (sha256 1819ba1f21fc2f6c, abi 1)
# do not edit: change order.njpy and build again
# pyright: reportUnboundVariable=false
"""Turn letters into orders: a typed output, and an exception where there is nothing to order."""

import njrt as _nj
from pydantic import BaseModel


class Line(BaseModel):
    article: str
    quantity: int


class Order(BaseModel):
    customer: str
    lines: list[Line]


class NothingOrdered(Exception):
    """The letter is none of our business."""


def read_order(letter: str) -> Order:
    order: Order
    _nj.run(
        """natural
    If <letter> only says thanks, raise <NothingOrdered>.
    Otherwise bind <:order: Order> to what it orders, with a <Line> for each article.
    """,
        lambda: (letter, NothingOrdered, order, Line),
        writes="order",
        types=lambda: {"order": Order},
        at="order.njpy:21",
        effects="answer",
    )
    return order


LETTERS = [
    "Please send me three teapots and a blue mug. Yours, Ida Berg",
    "The teapots arrived safely. Thank you very much! Ida Berg",
]

if __name__ == "__main__":
    for letter in LETTERS:
        try:
            print(repr(read_order(letter)))
        except NothingOrdered as reason:
            print(f"NothingOrdered: {reason}")


# njc lines 1=1 4:1 6=3 7:3 26=21 28:22 31=21 37:25 51=39 sha256 a7e2dbb5eb9be68d
