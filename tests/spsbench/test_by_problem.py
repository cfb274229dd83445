"""Rates over problems with several samples: pass@k, its interval, and paired differences."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from random import Random
from statistics import fmean

import pytest

from spsbench.report.by_problem import (
    compare_rates,
    count_samples,
    estimate_pass_at_k,
    estimate_rate,
    format_difference,
    format_rate,
)
from spsbench.report.document import describe_machines
from spsbench.results import Hardware


def test_pass_at_k_is_the_share_of_subsets_with_a_pass() -> None:
    for samples in range(1, 6):
        for passed, k in itertools.product(range(samples + 1), range(1, samples + 1)):
            subsets = list(
                itertools.combinations([True] * passed + [False] * (samples - passed), k)
            )
            expected = sum(map(any, subsets)) / len(subsets)
            assert estimate_pass_at_k(samples, passed, k) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"no pass@3 from 1 of 2"):
        estimate_pass_at_k(2, 1, 3)


PASSES = {"a": [True, True, False], "b": [False, False, False], "c": [True, True, True]}


@pytest.mark.parametrize(
    ("k", "rate", "text"),
    [
        (1, 5 / 9, ("0.556", "0.151 to 0.898")),
        (2, 2 / 3, ("0.667", "0.208 to 0.939")),
        (3, 2 / 3, ("0.667", "0.208 to 0.939")),
    ],
)
def test_a_rate_is_the_mean_over_problems(k: int, rate: float, text: tuple[str, str]) -> None:
    found = estimate_rate(PASSES, k)
    assert (found.problems, found.rate) == (3, pytest.approx(rate))
    assert format_rate(found) == text
    assert count_samples(PASSES) == 3


def test_an_interval_is_not_empty_where_all_problems_have_the_same_rate() -> None:
    for passed in (True, False):
        found = estimate_rate({f"p{number}": [passed] * 5 for number in range(10)}, 5)
        assert found.high - found.low == pytest.approx(0.278, abs=0.001)


def test_intervals_of_pass_at_k_cover_the_true_rate() -> None:
    """Of problems with chances of their own, drawn again and again, at least 95 % of the intervals have the mean."""
    random = Random(5)
    chances = [random.random() ** 2 for _ in range(2000)]
    truth = {k: fmean(1 - (1 - chance) ** k for chance in chances) for k in (1, 3)}
    for k in (1, 3):
        inside = 0
        for _ in range(300):
            drawn = {
                str(number): [random.random() < chance for _ in range(4)]
                for number, chance in enumerate(random.sample(chances, 25))
            }
            found = estimate_rate(drawn, k)
            inside += found.low <= truth[k] <= found.high
        assert inside >= 285


def test_a_difference_is_paired_by_problem() -> None:
    one = {"a": [True], "b": [True, False], "c": [True], "only": [False]}
    other = {"a": [False], "b": [False, True], "c": [True], "rest": [True]}
    found = compare_rates(one, other)
    assert found is not None
    assert (found.problems, found.difference, found.better, found.worse) == (3, 1 / 3, 1, 0)
    assert format_difference(found) == ("3", "+0.333", "+0.000 to +1.000", "1", "0")
    alike = compare_rates(one, one)
    assert alike is not None
    assert format_difference(alike) == ("4", "+0.000", "-", "0", "0")
    assert compare_rates({"a": [True]}, {"b": [True]}) is None


@dataclass(frozen=True)
class MachineRun:
    jobs: int
    executor: str
    hardware: Hardware
    system: str = "Linux"


def test_a_machine_is_named_once() -> None:
    small, large = Hardware("A", 2, 24.0), Hardware("B", 16, 127.6)
    runs = [
        *(MachineRun(jobs, "threads", small) for jobs in (6, 1, 6)),
        MachineRun(3, "dask", small),
        MachineRun(1, "threads", large),
    ]
    assert describe_machines(runs, "trials") == (
        "A, 2 cores, 24 GiB, Linux; trials at a time: 1, 6 (threads); 3 (dask); "
        "B, 16 cores, 128 GiB, Linux; trials at a time: 1 (threads)"
    )
