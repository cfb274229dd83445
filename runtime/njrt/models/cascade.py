"""Ask a second model if the first is not sure of its answer.

    CascadeModel(small, large, 0.9)

    {"team": "billing"}, probability 0.97      used
    {"team": "billing"}, probability 0.55      the second model is asked

An answer's probability is the product of the probabilities of its values' tokens, as servers with OpenAI's API return
them (`logprobs`). Only answers with a schema are judged; for free text the probability means little.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from njrt.errors import ConfigurationError
from njrt.messages import Reply, Request
from njrt.models.model import Model
from njrt.models.wrapped import Attempts, Calls, WrappedModel, adapt_model, require_numbers


class CascadeModel(WrappedModel):
    """The model `first`, and also `second` if the probability of the first model's answer is below `below`.

    Raises:
        ConfigurationError: the first model's server returns no probabilities.
    """

    def __init__(self, first: Any, second: Any, below: float) -> None:
        self.first: Model = adapt_model(first)
        self.second: Model = adapt_model(second)
        self.models = (self.first, self.second)
        require_numbers("CascadeModel", {}, {"below": below})
        if not 0 <= below <= 1:
            raise ConfigurationError(f"CascadeModel: below is a probability, 0 to 1, not {below!r}")
        self.below = below

    @property
    def name(self) -> str:
        return f"cascade({self.first.name},{self.second.name})"

    async def answer(self, request: Request, calls: Calls) -> Reply:
        attempts = Attempts(request, calls)
        is_judged = request.schema is not None
        reply = await attempts.ask(self.first, wants_probability=is_judged)
        if not (isinstance(reply, Reply) and is_judged):
            return attempts.finish(reply)
        if reply.probability is None and reply.message.text.strip():
            raise attempts.fail(
                ConfigurationError(
                    f"{self.first.name} gives no probabilities of its tokens, so `second_below` cannot be used with it"
                )
            )
        if (reply.probability or 0.0) >= self.below:
            return attempts.finish(reply)
        better = await attempts.ask_again(self.second, wants_probability=False, on_text=None)
        return attempts.finish(better or reply, "unsure")


_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(?P<key>\s*:)?|-?\d[\d.eE+-]*|true|false|null')


def compute_probability(text: str, tokens: Iterable[tuple[str, float]]) -> float | None:
    """Return the probability of the values in the JSON `text`, from its tokens and their log probabilities.

    Names and punctuation do not count, because a schema fixes them. None if the tokens do not contain the text; they
    may contain more, because some servers remove a fence from the text.
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
