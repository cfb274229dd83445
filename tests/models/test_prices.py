"""What calls cost."""

from __future__ import annotations

import socket

import pytest

from njrt.messages import Usage
from njrt.models.prices import compute_cost
from processes import run_python

pytest.importorskip("genai_prices")


@pytest.mark.parametrize(
    ("name", "usage", "cache_writes", "dollars"),
    [
        ("openai/gpt-4.1", Usage(1_000_000, 10_000), 0, 2.08),
        ("openai/gpt-4.1", Usage(1_000_000, 0, cached=1_000_000), 0, 0.50),
        ("openai/gpt-4.1-2025-04-14", Usage(0, 1_000_000), 0, 8.00),
        ("anthropic/claude-sonnet-4-5-20250929", Usage(100_000, 0), 0, 0.30),
        ("anthropic/claude-sonnet-4-6", Usage(100_000, 0), 100_000, 0.375),
        ("openai/gpt-4.1", Usage(), 0, 0.0),
        ("openai/gpt-4.1", Usage(1, cached=2), 0, None),
        ("openai/unknown", Usage(1_000_000, 0), 0, None),
        ("unknown/gpt-4.1", Usage(1_000_000, 0), 0, None),
        ("gpt-4.1", Usage(1_000_000, 0), 0, None),
        ("the first model of http://127.0.0.1:8000/v1", Usage(1_000_000, 0), 0, None),
    ],
)
def test_cost(name, usage, cache_writes, dollars):
    assert compute_cost(name, usage, cache_writes) == (
        dollars if dollars is None else pytest.approx(dollars)
    )


def test_prices_need_no_network(monkeypatch):
    monkeypatch.setattr(socket.socket, "connect", None)
    assert compute_cost("openai/gpt-4.1", Usage(1_000_000)) == pytest.approx(2.0)


def test_without_the_package_no_price_is_known():
    code = (
        "import sys; sys.modules['genai_prices'] = None\n"
        "from njrt.messages import Usage\n"
        "from njrt.models.prices import compute_cost\n"
        "print(compute_cost('openai/gpt-4.1', Usage(1000)))\n"
    )
    ran = run_python("-c", code, check=True)
    assert ran.stdout == "None\n"
