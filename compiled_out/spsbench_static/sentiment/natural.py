# compiled by njc 0.3.0 from sentiment/natural.njpy (sha256 020876c05fdb6c85, options cc2447ed8334793a, abi 1)
# do not edit: change sentiment/natural.njpy and build again
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


# njc lines 1=1 4:1 6=3 7:3 14=9 16:10 18=9 24:12 25=13 sha256 0d41ffb6bbf2a92a
