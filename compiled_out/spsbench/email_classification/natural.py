# compiled by njc 0.3.0 from email_classification/natural.njpy (sha256 8cd653c0862463a0, abi 1)
# do not edit: change email_classification/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""Sort the mail of a small company."""

import njrt as _nj
from enum import Enum


class Category(Enum):
    ORDER = "wants to buy something"
    COMPLAINT = "is unhappy with something bought"
    INVOICE = "is about a bill or a payment"
    APPLICATION = "looks for a job here"


class NoFittingCategory(ValueError):
    """An e-mail fits none of the categories."""


def classify(email: str) -> Category:
    category: Category
    _nj.run(
        """natural
    Find the <:category: Category> of <Category> that fits the <email>.
    Raise <NoFittingCategory> if none of them does.
    """,
        lambda: (category, Category, email, NoFittingCategory),
        writes="category",
        types=lambda: {"category": Category},
        at="email_classification/natural.njpy:18",
        effects="answer",
    )
    return category


# njc lines 1=1 4:1 6=3 7:3 23=18 25:19 28=18 34:22 35=23 sha256 c6f9cbbf1b9f81aa
