"""Pass rates of repairs: pass@1 and pass@k of each condition, and the differences between conditions.

    summarize_conditions(results, uniform)   ->  ConditionSummary("trace", problems=31, pass_at={1: 0.42, 5: 0.6}, ...)
    compare_conditions(results, uniform)     ->  ConditionDifference("trace", "test", 0.08, low=-0.02, high=0.18, ...)

pass@k is the unbiased estimator of Chen et al. (2021, arXiv:2107.03374): 1 - C(n - c, k) / C(n, k) for a problem with
n samples of which c pass, averaged over problems. An interval is the middle 95 % of a bootstrap over problems; that
of a difference is paired: problems are drawn, each with the difference of its two pass rates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from statistics import fmean

from spsbench.repair.results import CONDITIONS, Condition, RepairResult
from spsbench.report.measures import Uniform, compute_bootstrap_interval


@dataclass(frozen=True, slots=True)
class ConditionSummary:
    """The repairs of one model under one condition."""

    model: str
    condition: Condition
    problems: int
    samples: int
    """Of each problem; the least, where they differ."""
    pass_at: Mapping[int, float]
    """pass@k by k: 1 and `samples`."""
    low: float
    """Of the interval of pass@1."""
    high: float
    without_code: int
    """Repairs in which no reply had code."""
    calls: float
    """Means of a repair, here and below."""
    input_tokens: float
    output_tokens: float
    seconds: float


@dataclass(frozen=True, slots=True)
class ConditionDifference:
    """How much more the first condition passes than the second, over the problems that both have."""

    model: str
    first: Condition
    second: Condition
    problems: int
    difference: float
    low: float
    high: float
    only_first: int
    """Problems with a higher pass rate under the first condition."""
    only_second: int


def estimate_pass_at_k(samples: int, passed: int, k: int) -> float:
    """The chance that at least one of `k` samples passes, estimated from `samples` of which `passed` did."""
    if not 0 <= passed <= samples or not 1 <= k <= samples:
        raise ValueError(f"no pass@{k} from {passed} of {samples} samples")
    return 1.0 - comb(samples - passed, k) / comb(samples, k)


def summarize_conditions(
    results: Iterable[RepairResult], uniform: Uniform
) -> list[ConditionSummary]:
    """Summarize each model and condition."""
    groups = group_results(results)
    return [
        _summarize(model, condition, groups[model, condition], uniform)
        for model, condition in sort_keys(groups)
    ]


def _summarize(
    model: str, condition: Condition, results: Sequence[RepairResult], uniform: Uniform
) -> ConditionSummary:
    passes = group_by_problem(results)
    samples = min(map(len, passes.values()))
    low, high = compute_bootstrap_interval([[fmean(found)] for found in passes.values()], uniform)
    return ConditionSummary(
        model,
        condition,
        len(passes),
        samples,
        {
            k: fmean(estimate_pass_at_k(len(found), sum(found), k) for found in passes.values())
            for k in sorted({1, samples})
        },
        low,
        high,
        sum(not any(reply.code for reply in result.replies) for result in results),
        fmean(len(result.replies) for result in results),
        fmean(result.input_tokens for result in results),
        fmean(result.output_tokens for result in results),
        fmean(result.seconds for result in results),
    )


def compare_conditions(
    results: Iterable[RepairResult], uniform: Uniform
) -> list[ConditionDifference]:
    """Compare all pairs of conditions of each model."""
    groups = group_results(results)
    keys = sort_keys(groups)
    return [
        _compare(one, other[1], groups[one], groups[other], uniform)
        for one, other in combinations(keys, 2)
        if one[0] == other[0]
    ]


def _compare(
    key: tuple[str, Condition],
    second: Condition,
    ones: Sequence[RepairResult],
    others: Sequence[RepairResult],
    uniform: Uniform,
) -> ConditionDifference:
    one, other = group_by_problem(ones), group_by_problem(others)
    differences = [fmean(one[name]) - fmean(other[name]) for name in one if name in other]
    low, high = (
        compute_bootstrap_interval([[difference] for difference in differences], uniform)
        if differences
        else (0.0, 0.0)
    )
    return ConditionDifference(
        *key,
        second,
        len(differences),
        fmean(differences) if differences else 0.0,
        low,
        high,
        sum(difference > 0 for difference in differences),
        sum(difference < 0 for difference in differences),
    )


def group_results(
    results: Iterable[RepairResult],
) -> dict[tuple[str, Condition], list[RepairResult]]:
    """The results by model and condition."""
    groups: dict[tuple[str, Condition], list[RepairResult]] = {}
    for result in results:
        groups.setdefault((result.model, result.condition), []).append(result)
    return groups


def sort_keys(groups: Iterable[tuple[str, Condition]]) -> list[tuple[str, Condition]]:
    """Models by name, the conditions of each in their order."""
    return sorted(groups, key=lambda key: (key[0], CONDITIONS.index(key[1])))


def group_by_problem(results: Iterable[RepairResult]) -> dict[str, list[bool]]:
    """Which samples passed, by problem."""
    found: dict[str, list[bool]] = {}
    for result in sorted(results, key=lambda result: (result.problem, result.sample)):
        found.setdefault(result.problem, []).append(result.passed)
    return found
