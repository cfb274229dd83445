"""What calls cost."""

from __future__ import annotations

import pytest

from njrt.messages import Usage
from njrt.models.prices import PRICES, Price, compute_cost


@pytest.mark.parametrize(
    ("name", "usage", "written", "dollars"),
    [
        ("openai/gpt-4.1", Usage(1_000_000, 10_000), 0, 2.08),
        ("openai/gpt-4.1", Usage(1_000_000, 0, cached=1_000_000), 0, 0.50),
        ("openai/gpt-4.1-2025-04-14", Usage(0, 1_000_000), 0, 8.00),
        ("anthropic/claude-sonnet-4-5-20250929", Usage(1_000_000, 0), 0, 3.00),
        ("anthropic/claude-sonnet-4-6", Usage(1_000_000, 0), 1_000_000, 3.75),
        ("openai/gpt-4.1", Usage(), 0, 0.0),
        ("openai/unheard-of", Usage(1_000_000, 0), 0, None),
        ("gpt-4.1", Usage(1_000_000, 0), 0, None),
    ],
)
def test_cost(name, usage, written, dollars):
    assert compute_cost(name, usage, written) == (
        dollars if dollars is None else pytest.approx(dollars)
    )


def test_prices_of_ones_own():
    prices = PRICES | {"openai/local": Price(1.0, 2.0)}
    usage = Usage(1_000_000, 1_000_000, cached=500_000)
    assert compute_cost("openai/local", usage, 100_000, prices) == pytest.approx(3.0)


@pytest.mark.parametrize(("name", "price"), PRICES.items(), ids=PRICES)
def test_the_data_is_plausible(name, price):
    assert name.startswith(("openai/", "anthropic/"))
    assert 0 < (price.cached or price.input) <= price.input < price.output
