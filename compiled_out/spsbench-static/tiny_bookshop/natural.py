# compiled by njc 0.1.0 from tiny_bookshop/natural.njpy (sha256 3316fb1b410918fd, options cc2447ed8334793a, code 9e0425985c55b4c2, abi 1)
# do not edit: change tiny_bookshop/natural.njpy and build again
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
    # natural
    # Choose from <books> the <:book: Book | None> that suits the customer's <request> best, or None if none does.
    book: Book | None
    llm = _nj.llm_at("tiny_bookshop/natural.njpy:15")
    book = llm(
        f"Which book is suitable for the customer's request?\n\n{request}", Book | None
    )
    # end of natural block
    return book


# njc lines 1=1 3:1 5=3 6:3 19=15 26:18 27=19 sha256 5fe92ff03dc625b3
