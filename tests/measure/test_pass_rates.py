"""Pass rates: the estimate of pass^k, intervals, and gates."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from njc.measure.pass_rates import (
    PassRate,
    compute_pass_interval,
    estimate_pass_power,
    parse_gate,
)
from njrt.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "read"),
    [("pass^3>=0.9", (3, 0.9)), ("pass >= 1", (1, 1.0)), (" pass^2>=50%", (2, 0.5))],
)
def test_gates_are_read(text: str, read: tuple[int, float]) -> None:
    gate = parse_gate(text, 3)
    assert (gate.power, gate.threshold) == read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *[(text, "is not a gate") for text in ("", "pass^3", "pass^0>=0.5", "pass^3>0.9")],
        *[(text, "is not a gate") for text in ("pass^3>=1.5", "fail>=0.5", "pass^3>=0.9.1")],
        ("pass^4>=0.5", r"pass\^4 needs 4 runs: --repeats 4"),
    ],
)
def test_what_is_no_gate_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        parse_gate(text, 3)


@pytest.mark.parametrize(
    ("groups", "gate", "described"),
    [
        ([(4, 6)], "pass^2>=0.4", "m: pass^2 >= 0.4 holds: 0.400 (95 % interval 0.090 to 0.816)"),
        ([(4, 6)], "pass^3>=0.5", "m: pass^3 >= 0.5 does not hold: 0.200 (95 % interval 0.027 to"),
        ([(1, 1), (0, 1)], "pass>=0.5", "m: pass^1 >= 0.5 holds: 0.500 (95 % interval 0.095 to"),
        ([(2, 2), (1, 1)], "pass^2>=0.1", "m: pass^2 >= 0.1 does not hold: 0.000 (95 % interval"),
    ],
)
def test_a_gate_holds(groups: list[tuple[int, int]], gate: str, described: str) -> None:
    read, found = parse_gate(gate, 9), PassRate(groups)
    assert read.describe("m", found).startswith(described)
    assert read.holds(found) == ("not hold" not in described)


@pytest.mark.parametrize(("runs", "power"), [(5, 3), (6, 2), (4, 1), (3, 3)])
def test_the_estimate_is_the_share_of_choices_of_runs_that_all_pass(runs: int, power: int) -> None:
    for passed in range(runs + 1):
        chosen = list(itertools.combinations([True] * passed + [False] * (runs - passed), power))
        assert estimate_pass_power(passed, runs, power) == sum(map(all, chosen)) / len(chosen)


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
