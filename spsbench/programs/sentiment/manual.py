"""The sentiment of a text."""

from typing import Literal, get_args

from spsbench.llm import llm

Sentiment = Literal["positive", "neutral", "negative"]


def sentiment_of(text: str) -> Sentiment:
    sentiment: Sentiment = llm(
        f"What feeling does this text express? {text}",
        {"type": "string", "enum": [*get_args(Sentiment)]},
    )
    return sentiment
