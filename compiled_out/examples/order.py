# compiled by njc 0.1.0 from order.njpy (sha256 1819ba1f21fc2f6c, abi 1)
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
    try:
        _nj.run(
            """natural
    If <letter> only says thanks, raise <NothingOrdered>.
    Otherwise bind <:order: Order> to what it orders, with a <Line> for each article.
    """,
            lambda: (letter, NothingOrdered, order, Line),
            writes="order",
            types=lambda: {"order": Order},
            labels="return",
            at="order.njpy:21",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
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


# njc lines 1=1 4:1 6=3 7:3 26=21 29:22 32=21 40:25 54=39 sha256 ab6e6cf67e592a9d
