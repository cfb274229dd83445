# compiled by njc 0.1.0 from sentiment/natural.njpy (sha256 020876c05fdb6c85, abi 1)
# do not edit: change sentiment/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""The sentiment of a text."""

import njrt as _nj
from typing import Literal

Sentiment = Literal["positive", "neutral", "negative"]


def sentiment_of(text: str) -> Sentiment:
    sentiment: Sentiment
    try:
        _nj.run(
            """natural
    What feeling does the <text> express? Store it in <:sentiment: Sentiment>.
    """,
            lambda: (text, sentiment),
            writes="sentiment",
            types=lambda: {"sentiment": Sentiment},
            labels="return",
            at="sentiment/natural.njpy:9",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    return sentiment


# njc lines 1=1 4:1 6=3 7:3 14=9 17:10 19=9 27:12 28=13 sha256 63d675bd048ad665
