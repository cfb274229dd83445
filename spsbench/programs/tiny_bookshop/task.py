"""Two customers find their book, the very object on the shelf, and one does not."""

from types import ModuleType
from typing import Any

from spsbench.task import Case, Check, Task

SHELF = (
    ("The Salt Road", "I. Vance", "a caravan crosses a desert that remembers", 12.5),
    ("Soup for Strangers", "M. Okoro", "forty soups for cold evenings", 18.0),
    ("Small Engines", "P. Lindqvist", "how to repair mopeds and chainsaws", 22.0),
)


def customer(request: str) -> Any:
    def play(program: ModuleType) -> tuple[Any, list[Any]]:
        books = [program.Book(*facts) for facts in SHELF]
        return program.find_book(books, request), books

    return play


TASK = Task(
    "tiny_bookshop",
    (
        Case(
            "cook",
            customer("My brother likes to cook in winter. What could I give him?"),
            (Check("it is the book about soup", lambda seen: seen[0] is seen[1][1]),),
        ),
        Case(
            "dreamer",
            customer("A novel for a long train ride, at most 15 euros."),
            (Check("it is the novel", lambda seen: seen[0] is seen[1][0]),),
        ),
        Case(
            "lawyer",
            customer("I need a commentary on tax law."),
            (Check("there is none", lambda seen: seen[0] is None),),
        ),
    ),
)
