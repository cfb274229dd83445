# compiled by njc 0.1.0 from tiny_bookshop/natural.njpy (sha256 3316fb1b410918fd, options cc2447ed8334793a, code b68c5db8af253ab4, abi 1)
# do not edit: change tiny_bookshop/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local); passes 0 of 3 checks of its program (answered by a script)
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


# njc lines 1=1 4:1 6=3 7:3 20=15 27:18 28=19 sha256 b5b122bded8d9272
