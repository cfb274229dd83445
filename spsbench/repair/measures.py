"""Pass rates of repairs: pass@1 and pass@k of each condition, and the differences between conditions.

    summarize_conditions(results)            ->  ConditionSummary("local", "trace", rates=(RateEstimate(1, ...), ...), ...)
    compare_conditions(results, uniform)     ->  ("local", "trace", "test", PairedDifference(31, 0.08, ...)), ...

The estimators and the intervals are those of `spsbench.report.by_problem`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from spsbench.repair.results import CONDITIONS, Condition, RepairResult
from spsbench.report.by_problem import (
    PairedDifference,
    RateEstimate,
    compare_rates,
    count_samples,
    estimate_rate,
)
from spsbench.report.measures import Uniform


@dataclass(frozen=True, slots=True)
class ConditionSummary:
    """The repairs of one model under one condition."""

    model: str
    condition: Condition
    samples: int
    """Of each problem; the least, where they differ."""
    rates: tuple[RateEstimate, ...]
    """pass@1, and with several samples pass@k for as many."""
    without_code: int
    """Repairs in which no reply had code."""
    calls: float
    """Means of a repair, here and below."""
    input_tokens: float
    output_tokens: float
    seconds: float


def summarize_conditions(results: Iterable[RepairResult]) -> list[ConditionSummary]:
    """Summarize each model and condition."""
    groups = group_results(results)
    return [_summarize(*key, groups[key]) for key in sort_keys(groups)]


def _summarize(
    model: str, condition: Condition, results: Sequence[RepairResult]
) -> ConditionSummary:
    passes = group_by_problem(results)
    samples = count_samples(passes)
    return ConditionSummary(
        model,
        condition,
        samples,
        tuple(estimate_rate(passes, k) for k in sorted({1, samples})),
        sum(not any(reply.code for reply in result.replies) for result in results),
        fmean(len(result.replies) for result in results),
        fmean(result.input_tokens for result in results),
        fmean(result.output_tokens for result in results),
        fmean(result.seconds for result in results),
    )


def compare_conditions(
    results: Iterable[RepairResult], uniform: Uniform
) -> Iterator[tuple[str, Condition, Condition, PairedDifference]]:
    """Compare all pairs of conditions of each model that have problems in common."""
    groups = group_results(results)
    for (model, one), (other_model, other) in combinations(sort_keys(groups), 2):
        if model == other_model:
            first, second = (group_by_problem(groups[model, name]) for name in (one, other))
            if found := compare_rates(first, second, uniform):
                yield model, one, other, found


def group_results(
    results: Iterable[RepairResult],
) -> dict[tuple[str, Condition], list[RepairResult]]:
    """Return the results by model and condition."""
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
