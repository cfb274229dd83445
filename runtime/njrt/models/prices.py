"""Prices of model calls in US dollars, from the data of the package genai-prices.

    compute_cost("openai/gpt-4.1", Usage(input=1_000_000, output=10_000))        ->  2.08
    compute_cost("openai/unknown", Usage(input=1_000_000, output=10_000))        ->  None

They are those at the package's release, for the standard tier.
"""

from __future__ import annotations

from njrt.data.records import replace
from njrt.messages import Usage


def compute_cost(name: str, usage: Usage, cache_writes: int = 0) -> float | None:
    """Return the price of one call of the model `name`, such as `openai/gpt-4.1`; None if unknown.

    `cache_writes` of the input tokens were written to the vendor's prompt cache.
    """
    try:
        import genai_prices  # takes 0.3 s
    except ImportError:
        return None
    provider, _, model = name.partition("/")
    if not model:
        return None
    tokens = genai_prices.Usage(
        input_tokens=usage.input,
        cache_read_tokens=usage.cached,
        cache_write_tokens=cache_writes,
        output_tokens=usage.output,
    )
    try:
        return float(genai_prices.calc_price(tokens, model, provider_id=provider).total_price)
    except (LookupError, ValueError):  # an unknown model, or counts that contradict each other
        return None


def add_price(name: str, usage: Usage, cache_writes: int) -> Usage:
    """Return the usage of one call with its price, if that is known."""
    return replace(usage, usd=compute_cost(name, usage, cache_writes))
