# compiled by njc 0.3.0 from email_classification/natural.njpy (sha256 8cd653c0862463a0, options cc2447ed8334793a, code 1e02e499ccb4bb51, abi 1)
# do not edit: change email_classification/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local)
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
    # natural
    # Find the <:category: Category> of <Category> that fits the <email>.
    # Raise <NoFittingCategory> if none of them does.
    category: Category
    llm = _nj.llm_at("email_classification/natural.njpy:18")
    for category in Category:
        if (
            llm(f"Is this email about {category.name}?\n\n{email}", Category)
            == category
        ):
            category = category
            break
    else:
        raise NoFittingCategory
    _nj.check_type(
        "email_classification/natural.njpy:18",
        "category",
        category,
        lambda: Category,
    )
    # end of natural block
    return category


# njc lines 1=1 4:1 6=3 7:3 23=18 43:22 44=23 sha256 4004126fd1a17805
