# compiled by njc 0.1.0 from tiny_bookshop/natural.njpy (sha256 3316fb1b410918fd, abi 1)
# do not edit: change tiny_bookshop/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""A bookshop so small that one sentence is enough to find the right book."""

import njrt as _nj
from dataclasses import dataclass


@dataclass(frozen=True)
class Book:
    title: str
    author: str
    about: str
    price: float


def find_book(books: list[Book], request: str) -> Book | None:
    book: Book | None
    try:
        _nj.run(
            """natural
    Choose from <books> the <:book: Book | None> that suits the customer's <request> best, or None if none does.
    """,
            lambda: (books, book, request),
            writes="book",
            types=lambda: {"book": Book | None},
            labels="return",
            at="tiny_bookshop/natural.njpy:15",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    return book


# njc lines 1=1 4:1 6=3 7:3 20=15 23:16 25=15 33:18 34=19 sha256 4eb6386817207daf
