"""What all tests share: the switch that rewrites expected outputs, and hypothesis's profiles."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester"]

THOROUGH = bool(os.environ.get("NJC_THOROUGH"))

settings.register_profile(
    "modest",
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough", settings.get_profile("modest"), max_examples=3000, derandomize=False
)
settings.load_profile("thorough" if THOROUGH else "modest")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-cases",
        action="store_true",
        help="write what the compiler says today into the expected outputs under tests/cases",
    )


@pytest.fixture
def update_cases(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-cases"))
