"""Sort the mail of a small company."""

from enum import Enum

from spsbench.llm import llm


class Category(Enum):
    ORDER = "wants to buy something"
    COMPLAINT = "is unhappy with something bought"
    INVOICE = "is about a bill or a payment"
    APPLICATION = "looks for a job here"


class NoFittingCategory(ValueError):
    """An e-mail fits none of the categories."""


def classify(email: str) -> Category:
    categories = "\n".join(f"{category.name}: {category.value}" for category in Category)
    name = llm(
        f"Which category fits the e-mail, or NONE if none does?\n\nCategories:\n{categories}\n\nE-mail:\n{email}",
        {"type": "string", "enum": [*Category.__members__, "NONE"]},
    )
    if name not in Category.__members__:
        raise NoFittingCategory(email)
    return Category[name]
