# compiled by njc 0.3.0 from tiny_bookshop/natural.njpy (sha256 83642600ab1e6dcd, options cc2447ed8334793a, code bdeb4c5f64fe2d31, abi 1)
# do not edit: change tiny_bookshop/natural.njpy and build again
# no code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local) is used: the blocks run live
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


# njc lines 1=1 5:1 7=3 8:3 22=16 24:17 26=16 32:19 33=20 sha256 755b2a325831e54f
