# compiled by njc 0.3.0 from sentiment/natural.njpy (sha256 020876c05fdb6c85, options cc2447ed8334793a, code bdeb4c5f64fe2d31, abi 1)
# do not edit: change sentiment/natural.njpy and build again
# no code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local) is used: the blocks run live
# pyright: reportUnboundVariable=false
"""The sentiment of a text."""

import njrt as _nj
from typing import Literal

Sentiment = Literal["positive", "neutral", "negative"]


def sentiment_of(text: str) -> Sentiment:
    sentiment: Sentiment
    _nj.run(
        """natural
    What feeling does the <text> express? Store it in <:sentiment: Sentiment>.
    """,
        lambda: (text, sentiment),
        writes="sentiment",
        types=lambda: {"sentiment": Sentiment},
        at="sentiment/natural.njpy:9",
        effects="answer",
    )
    return sentiment


# njc lines 1=1 5:1 7=3 8:3 15=9 17:10 19=9 25:12 26=13 sha256 1f286cbc8c368e9e
