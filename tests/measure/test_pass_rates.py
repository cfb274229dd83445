"""Pass rates and their intervals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from njc.measure.pass_rates import PassRate, compute_pass_interval


@pytest.mark.parametrize(
    ("groups", "interval"),
    [
        ([(4, 6)], (0.300, 0.903)),
        ([(1, 1), (0, 1)], (0.095, 0.905)),
        ([(2, 2), (2, 2)], (0.342, 1)),
    ],
)
def test_runs_of_a_case_are_not_independent(
    groups: list[tuple[int, int]], interval: tuple[float, float]
) -> None:
    assert PassRate(groups).interval == pytest.approx(interval, abs=1e-3)


@given(st.integers(1, 200), st.integers(0, 200))
def test_intervals_hold_the_rate(trials: int, passed: int) -> None:
    passed = min(passed, trials)
    low, high = compute_pass_interval(passed, trials)
    assert 0 <= low <= passed / trials <= high <= 1
    wider_low, wider_high = compute_pass_interval(passed, trials, z=2.58)
    assert wider_low <= low
    assert wider_high >= high


def test_known_intervals() -> None:
    assert compute_pass_interval(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert compute_pass_interval(0, 0) == (0.0, 1.0)
