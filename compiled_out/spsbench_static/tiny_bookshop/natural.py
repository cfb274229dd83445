# compiled by njc 0.3.0 from tiny_bookshop/natural.njpy (sha256 83642600ab1e6dcd, options cc2447ed8334793a, abi 1)
# do not edit: change tiny_bookshop/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""A bookshop so small that one sentence is enough to find the right book."""

import njrt as _nj
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Book:
    title: str
    author: str
    about: str
    price: float


def find_book(books: Sequence[Book], request: str) -> Book | None:
    book: Book | None
    _nj.run(
        """natural
    Choose from <books> the <:book: Book | None> that suits the customer's <request> best, or None if none does.
    """,
        lambda: (books, book, request),
        writes="book",
        types=lambda: {"book": Book | None},
        at="tiny_bookshop/natural.njpy:16",
        effects="answer",
    )
    return book


# njc lines 1=1 4:1 6=3 7:3 21=16 23:17 25=16 31:19 32=20 sha256 6363289d8da948ee
