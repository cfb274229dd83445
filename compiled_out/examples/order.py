# compiled by njc 0.1.0 from order.njpy (sha256 41d9ac485bb5d7cc, abi 1)
# do not edit: change order.njpy and build again
"""Turn a letter into an order: a typed output, and an exception where it cannot be delivered."""

import njrt as _nj
from pydantic import BaseModel


class Line(BaseModel):
    article: str
    quantity: int


class Order(BaseModel):
    customer: str
    lines: list[Line]


class OutOfStock(Exception):
    """More is ordered than there is."""


def read_order(letter: str, stock: dict[str, int]) -> Order:
    order: Order
    try:
        _nj.run(
            """natural
    Bind <:order: Order> to what <letter> orders, with a <Line> for each article.
    """,
            lambda: (order, letter, Line),
            writes="order",
            types=lambda: {"order": Order},
            labels="return",
            at="order.njpy:21",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    try:
        _nj.run(
            """natural
    Raise <OutOfStock> if a line of <order> asks for more than <stock> has.
    """,
            lambda: (OutOfStock, order, stock),
            labels="return",
            at="order.njpy:24",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    return order


if __name__ == "__main__":
    letter = "Please send me three teapots and a blue mug. Yours, Ida Berg"
    for stock in ({"teapots": 24, "blue mug": 9}, {"teapots": 2, "blue mug": 9}):
        try:
            print(repr(read_order(letter, stock)))
        except OutOfStock as reason:
            print(f"OutOfStock: {reason}")


# njc lines 1=1 3:1 5=3 6:3 25=21 28:22 30=21 38:24 39=24 41:25 43=24 49:27 59=37 sha256 0405428e4c71d34f
