"""A bookshop so small that one sentence is enough to find the right book."""

from dataclasses import dataclass

from spsbench.llm import llm


@dataclass(frozen=True)
class Book:
    title: str
    author: str
    about: str
    price: float


def find_book(books: list[Book], request: str) -> Book | None:
    shelf = "\n".join(f"{number}: {book}" for number, book in enumerate(books))
    number = llm(
        f"Books, by number:\n{shelf}\n\nWhich book suits the customer's request best, or -1 if none does? {request}",
        {"type": "integer"},
    )
    return books[number] if number >= 0 else None
