"""The probability of an answer, from the log probabilities of its tokens.

    {"team": "billing"}, probability 0.97      the product over the tokens of "billing"

Servers with OpenAI's API return the tokens (`logprobs`). Only answers with a schema have a
probability; for free text it means little.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(?P<key>\s*:)?|-?\d[\d.eE+-]*|true|false|null')


def compute_probability(text: str, tokens: Iterable[tuple[str, float]]) -> float | None:
    """Return the probability of the values in the JSON `text`, from its tokens' log probabilities.

    Names and punctuation do not count, because a schema fixes them. None if the tokens do not
    contain the text; they may contain more, because some servers remove a fence from the text.
    """
    tokens = list(tokens)
    text = text.strip()
    start = "".join(token for token, _ in tokens).find(text)
    if start < 0:
        return None
    spans = [found.span() for found in _JSON_TOKEN.finditer(text) if not found["key"]]
    total, position = 0.0, -start
    for token, logarithm in tokens:
        end = position + len(token)
        if any(position < last and first < end for first, last in spans):
            total += logarithm
        position = end
    return round(math.exp(min(total, 0.0)), 6) if spans else None
