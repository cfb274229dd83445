"""Rates over problems that have several samples each.

    estimate_pass_at_k(10, 3, 5)                       0.917: from 10 samples, 3 of them passed
    estimate_rate({"gcd": [True, False], ...}, 2)      RateEstimate(k=2, problems=31, rate=0.6, ...)

pass@k is the unbiased estimator of Chen et al. (2021, arXiv:2107.03374): 1 - C(n - c, k) / C(n, k)
for n samples, c of them passing, averaged over problems. Its interval is Wilson's (1927) at 95 %,
with the number of problems as the sample size, because the samples of one problem are not
independent. The interval of a difference is paired: the middle 95 % of a bootstrap over the common
problems. It is missing if the difference is the same for all problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from statistics import fmean
from typing import Protocol, TypeVar

from njc.measure.pass_rates import compute_pass_interval
from spsbench.report.measures import compute_bootstrap_interval
from spsbench.results import group_by

SamplesByProblem = Mapping[str, Sequence[bool]]
"""Whether each sample of each problem passed."""


class PassedOrNot(Protocol):
    """A result for a problem."""

    @property
    def passed(self) -> bool:
        """Whether the result is right."""


Item = TypeVar("Item", bound=PassedOrNot)


@dataclass(frozen=True, slots=True)
class RateEstimate:
    """pass@k over problems."""

    k: int
    problems: int
    rate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """How much higher the first pass rate is than the second, over their common problems."""

    problems: int
    difference: float
    interval: tuple[float, float] | None
    """None if all problems have the same difference."""
    better: int
    """The number of problems with a higher rate in the first."""
    worse: int


def estimate_pass_at_k(samples: int, passed: int, k: int) -> float:
    """Estimate the chance that at least one of `k` samples passes, from `passed` of `samples`."""
    if not 0 <= passed <= samples or not 1 <= k <= samples:
        raise ValueError(f"no pass@{k} from {passed} of {samples} samples")
    return 1.0 - comb(samples - passed, k) / comb(samples, k)


def estimate_rate(passes: SamplesByProblem, k: int = 1) -> RateEstimate:
    """Estimate pass@k; each problem must have at least `k` samples."""
    found = [estimate_pass_at_k(len(samples), sum(samples), k) for samples in passes.values()]
    low, high = compute_pass_interval(sum(found), len(found))
    return RateEstimate(k, len(found), fmean(found), low, high)


def count_samples(passes: SamplesByProblem) -> int:
    """Return the smallest number of samples of any problem."""
    return min(map(len, passes.values()))


def compare_rates(one: SamplesByProblem, other: SamplesByProblem) -> PairedDifference | None:
    """Compare pass@1; return None if there are no common problems."""
    differences = [fmean(one[name]) - fmean(other[name]) for name in one if name in other]
    if not differences:
        return None
    alike = len(set(differences)) == 1
    return PairedDifference(
        len(differences),
        fmean(differences),
        None if alike else compute_bootstrap_interval([[one] for one in differences]),
        sum(difference > 0 for difference in differences),
        sum(difference < 0 for difference in differences),
    )


def group_passes(results: Iterable[Item], problem: Callable[[Item], str]) -> SamplesByProblem:
    """Return which samples passed, by problem."""
    groups = group_by(results, problem)
    return {name: [result.passed for result in group] for name, group in groups.items()}


def list_difference_rows(
    groups: Mapping[tuple[str, ...], Sequence[Item]],
    problem: Callable[[Item], str],
) -> list[tuple[str, ...]]:
    """Return a row per pair of conditions, which end their keys: both keys, and the difference."""
    passes = {key: group_passes(group, problem) for key, group in groups.items()}
    return [
        (*one, other[-1], *format_difference(found))
        for one, other in combinations(passes, 2)
        if one[:-1] == other[:-1]
        if (found := compare_rates(passes[one], passes[other]))
    ]


def format_rate(estimate: RateEstimate) -> tuple[str, str]:
    """Return a rate and its interval as text."""
    return f"{estimate.rate:.3f}", f"{estimate.low:.3f} to {estimate.high:.3f}"


def list_rate_cells(passes: SamplesByProblem) -> tuple[str, ...]:
    """Return cells: problems, samples each, pass@1 and interval, pass@k for several samples."""
    samples = count_samples(passes)
    several = format_rate(estimate_rate(passes, samples)) if samples > 1 else ("", "")
    once = format_rate(estimate_rate(passes))
    return (f"{len(passes)}", f"{samples}", *once, *several)


def format_difference(found: PairedDifference) -> tuple[str, ...]:
    """Return a difference as cells: problems, difference, interval, better on, worse on."""
    return (
        f"{found.problems}",
        f"{found.difference:+z.3f}",
        f"{found.interval[0]:+z.3f} to {found.interval[1]:+z.3f}" if found.interval else "-",
        f"{found.better}",
        f"{found.worse}",
    )
