"""Summaries of trials: means with their spread, and how many trials are missing.

    summarize_method(setting, method, results, scope, uniform)
        -> MethodSummary("direct", rate=PassRate(0.71, sd=0.02, low=0.60, high=0.81), run_seconds=Spread(8.1, 0.9, 61.0), ...)

Every program has the same weight: a mean is over programs, and for each over its repeats. The deviation is over the
whole repeats, with n - 1. The interval is the middle 95 % of a bootstrap in two stages: programs are drawn with
replacement, and of each its repeats. Not covered: the model, the machine, and how the checks were chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TypeVar

from spsbench.results import TrialResult, group_by

Uniform = Callable[[], float]
"""Returns the next random number from 0 up to 1; seeded, so that a report is reproducible."""

BOOTSTRAP_ROUNDS, SEED = 2000, 2026

Sampled = TypeVar("Sampled")


@dataclass(frozen=True, slots=True)
class Setting:
    """The common settings of the methods in a comparison."""

    model: str
    temperature: float | None = None
    """None: the vendor's default, and 0 for models of plain text."""

    def __str__(self) -> str:
        return (
            self.model
            if self.temperature is None
            else f"{self.model}, temperature {self.temperature:g}"
        )


@dataclass(frozen=True, slots=True)
class MeasureScope:
    """The trials that a method should have: `repeats` of each program."""

    programs: tuple[str, ...]
    repeats: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a scope has been run."""

    scope: MeasureScope
    programs: int
    whole_repeats: int
    """Repeats that have all programs of the scope."""
    trials: int

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        return self.trials == len(self.scope.programs) * self.scope.repeats


@dataclass(frozen=True, slots=True)
class PassRate:
    """A pass rate. `sd` is None with fewer than two whole repeats."""

    mean: float
    sd: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Spread:
    """A mean, and the smallest and the largest value."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class MethodSummary:
    """One method in one setting, over all of its trials, also failed ones."""

    setting: Setting
    method: str
    coverage: Coverage
    rate: PassRate
    run_seconds: Spread
    build_seconds: Spread
    seconds: Spread
    effects: Spread
    calls: Spread
    build_calls: Spread
    input_tokens: Spread
    cached_tokens: Spread
    output_tokens: Spread
    build_tokens: Spread
    cost: Spread | None
    """US dollars of a trial; None if a call has no known price."""
    by_program: Mapping[str, float]
    """The pass rate of each program that has trials."""
    results: tuple[TrialResult, ...]

    @property
    def reused_calls(self) -> int:
        """Calls that a cache answered, without tokens and cost."""
        return sum(result.reused_calls for result in self.results)

    @property
    def tokens(self) -> float:
        """Tokens of a trial, in and out, building included."""
        return self.input_tokens.mean + self.output_tokens.mean + self.build_tokens.mean


def summarize_method(
    setting: Setting,
    method: str,
    results: Sequence[TrialResult],
    scope: MeasureScope,
    uniform: Uniform,
) -> MethodSummary:
    """Summarize the trials of one method; there must be at least one."""
    shares = group_by_program(results, lambda result: result.share)

    def spread(value: Callable[[TrialResult], float]) -> Spread:
        values = [value(result) for result in results]
        mean = compute_program_mean(group_by_program(results, value))
        return Spread(mean, min(values), max(values))

    whole = list(map(fmean, find_whole_repeats(results, scope)))
    sd = stdev(whole) if len(whole) > 1 else None
    interval = compute_bootstrap_interval(list(shares.values()), uniform)
    is_priced = all(result.cost is not None for result in results)
    return MethodSummary(
        setting,
        method,
        Coverage(scope, len(shares), len(whole), len(results)),
        PassRate(compute_program_mean(shares), sd, *interval),
        run_seconds=spread(lambda result: result.run_seconds),
        build_seconds=spread(lambda result: result.build_seconds),
        seconds=spread(lambda result: result.run_seconds + result.build_seconds),
        effects=spread(lambda result: result.effects),
        calls=spread(lambda result: result.calls),
        build_calls=spread(lambda result: result.build_calls),
        input_tokens=spread(lambda result: result.usage.input),
        cached_tokens=spread(lambda result: result.usage.cached),
        output_tokens=spread(lambda result: result.usage.output),
        build_tokens=spread(lambda result: result.build_usage.input + result.build_usage.output),
        cost=spread(lambda result: result.cost or 0.0) if is_priced else None,
        by_program={program: fmean(values) for program, values in shares.items()},
        results=tuple(results),
    )


def group_by_program(
    results: Iterable[TrialResult], value: Callable[[TrialResult], float]
) -> dict[str, list[float]]:
    """Return a value of each trial, by program."""
    ordered = sorted(results, key=lambda result: (result.program, result.repeat))
    groups = group_by(ordered, lambda result: result.program)
    return {program: list(map(value, group)) for program, group in groups.items()}


def compute_program_mean(values: Mapping[str, Sequence[float]]) -> float:
    """Return the mean over programs of each one's mean over its repeats."""
    return fmean(map(fmean, values.values()))


def find_whole_repeats(results: Iterable[TrialResult], scope: MeasureScope) -> list[list[float]]:
    """Return the shares of the trials of each repeat that has all programs of the scope."""
    repeats = group_by(sorted(results, key=lambda each: each.repeat), lambda each: each.repeat)
    shares = [[result.share for result in group] for group in repeats.values()]
    return [each for each in shares if len(each) == len(scope.programs)]


def compute_bootstrap_interval(
    programs: Sequence[Sequence[float]], uniform: Uniform
) -> tuple[float, float]:
    """Return the middle 95 % of the means of programs drawn with replacement, each with repeats drawn likewise."""
    means = sorted(  # `sum` of floats is not the same before Python 3.12
        fmean(
            fmean(sample_with_replacement(repeats, uniform))
            for repeats in sample_with_replacement(programs, uniform)
        )
        for _ in range(BOOTSTRAP_ROUNDS)
    )
    cut = round(BOOTSTRAP_ROUNDS * 0.025)
    return means[cut], means[-1 - cut]


def compute_difference_interval(
    one: MethodSummary, other: MethodSummary, uniform: Uniform
) -> tuple[float, float]:
    """Return the interval of how much more `one` passes than `other`, over the programs that both have.

    Paired: programs are drawn, each with the difference of its two pass rates.
    """
    return compute_bootstrap_interval([[each] for each in list_leads(one, other)], uniform)


def list_leads(one: MethodSummary, other: MethodSummary) -> list[float]:
    """Return how much more `one` passes of each program that both have."""
    rates, others = one.by_program, other.by_program
    return [rates[name] - others[name] for name in rates if name in others]


def sample_with_replacement(values: Sequence[Sampled], uniform: Uniform) -> list[Sampled]:
    """Return as many values as given, drawn with replacement."""
    return [values[int(uniform() * len(values))] for _ in values]


def format_coverage(coverage: Coverage) -> str:
    """Return the number of trials behind a mean, as text, or the share of them if some are missing."""
    scope = coverage.scope
    if coverage.is_whole:
        return f"{coverage.trials} trials"
    return (
        f"{coverage.programs} of {len(scope.programs)} programs, "
        f"{coverage.whole_repeats} of {scope.repeats} repeats whole "
        f"({coverage.trials} of {len(scope.programs) * scope.repeats} trials)"
    )
