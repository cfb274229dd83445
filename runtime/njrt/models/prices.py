"""What a model call costs, in US dollars.

    cost("openai/gpt-4.1", Usage(input=1_000_000, output=10_000))   ->  2.08

The prices are data of one day (`PRICES_DATE`) for the vendors' standard tier and for prompts of normal length.
For other prices, or other models, hand in a mapping of your own:

    cost(name, usage, prices=PRICES | {"openai/local": Price(0.1, 0.1)})
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from njrt.messages import Usage

PRICES_DATE = "2026-11-05"
PRICES_SOURCE = "the vendors' public price lists, as quoted in public documentation on that day; check yours before you bill by it"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float
    cached: float | None = None
    """Input read from the prompt cache; as other input where None."""
    written: float | None = None
    """Input written to the prompt cache; as other input where None."""


def _make_anthropic_price(input: float, output: float, cached: float) -> Price:
    return Price(input, output, cached, written=input * 1.25)


PRICES: Mapping[str, Price] = {
    "openai/gpt-4o": Price(2.50, 10.00, 1.25),
    "openai/gpt-4o-mini": Price(0.15, 0.60, 0.075),
    "openai/gpt-4.1": Price(2.00, 8.00, 0.50),
    "openai/gpt-4.1-mini": Price(0.40, 1.60, 0.10),
    "openai/gpt-4.1-nano": Price(0.10, 0.40, 0.025),
    "openai/o3": Price(2.00, 8.00, 0.50),
    "openai/o4-mini": Price(1.10, 4.40, 0.275),
    "openai/gpt-5": Price(1.25, 10.00, 0.125),
    "openai/gpt-5-mini": Price(0.25, 2.00, 0.025),
    "openai/gpt-5-nano": Price(0.05, 0.40, 0.005),
    "openai/gpt-5.1": Price(1.25, 10.00, 0.125),
    "openai/gpt-5.4": Price(2.50, 15.00, 0.25),
    "openai/gpt-5.4-mini": Price(0.75, 4.50, 0.075),
    "openai/gpt-5.4-nano": Price(0.20, 1.25, 0.02),
    "openai/gpt-5.5": Price(5.00, 30.00, 0.50),
    "openai/gpt-6-astra": Price(10.00, 50.00, 1.00),
    "openai/gpt-6-sol": Price(2.00, 10.00, 0.20, 2.50),
    "openai/gpt-6-luna": Price(0.10, 0.50, 0.01, 0.125),
    "openai/gpt-6.1-sol": Price(2.00, 10.00, 0.10, 2.50),
    "anthropic/claude-haiku-4-5": _make_anthropic_price(1.00, 5.00, 0.10),
    "anthropic/claude-sonnet-4-5": _make_anthropic_price(3.00, 15.00, 0.30),
    "anthropic/claude-sonnet-4-6": _make_anthropic_price(3.00, 15.00, 0.30),
    "anthropic/claude-sonnet-5": _make_anthropic_price(2.00, 10.00, 0.20),
    "anthropic/claude-sonnet-5-5": _make_anthropic_price(2.00, 10.00, 0.20),
    "anthropic/claude-opus-4-5": _make_anthropic_price(5.00, 25.00, 0.50),
    "anthropic/claude-opus-4-6": _make_anthropic_price(5.00, 25.00, 0.50),
    "anthropic/claude-opus-4-7": _make_anthropic_price(5.00, 25.00, 0.50),
    "anthropic/claude-opus-4-8": _make_anthropic_price(5.00, 25.00, 0.50),
    "anthropic/claude-opus-5": _make_anthropic_price(5.00, 25.00, 0.50),
    "anthropic/claude-opus-5-5": _make_anthropic_price(4.00, 20.00, 0.20),
    "anthropic/claude-fable-5-1": _make_anthropic_price(10.00, 50.00, 0.25),
}

_DATE_SUFFIX = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")


def compute_cost(
    name: str, usage: Usage, written: int = 0, prices: Mapping[str, Price] = PRICES
) -> float | None:
    """The price of one call of the model `name`, `openai/gpt-4.1` or a dated version of it; None if unknown.

    `written` of the input tokens were written to the vendor's prompt cache.
    """
    price = prices.get(name) or prices.get(_DATE_SUFFIX.sub("", name))
    if price is None:
        return None
    cached = price.input if price.cached is None else price.cached
    write = price.input if price.written is None else price.written
    plain = usage.input - usage.cached - written
    dollars = plain * price.input + usage.cached * cached + written * write
    return (dollars + usage.output * price.output) / 1_000_000
