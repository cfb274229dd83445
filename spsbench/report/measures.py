"""Summaries of trials: means with their spread, and the number of missing trials.

    summarize_method(setting, method, results, scope, uniform)
        -> MethodSummary("direct", rate=PassRate(0.71, sd=0.02, ...), run_seconds=Spread(...), ...)

Every program has the same weight: means are taken over each program's repeats, then over programs.
The standard deviation is over complete repeats, with n - 1. The interval is the middle 95 % of a
two-stage bootstrap: programs are drawn with replacement, then repeats of each. Not covered: the
model, the machine, and the choice of the checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TypeVar

from spsbench.results import TrialResult, group_by

Uniform = Callable[[], float]
"""Returns the next random number in [0, 1); seeded, so that reports are reproducible."""

BOOTSTRAP_ROUNDS, SEED = 2000, 2026

Sampled = TypeVar("Sampled")


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings shared by the methods in a comparison."""

    model: str
    temperature: float | None = None
    """None: the vendor's default, or 0 for plain-text models."""

    def __str__(self) -> str:
        return (
            self.model
            if self.temperature is None
            else f"{self.model}, temperature {self.temperature:g}"
        )


@dataclass(frozen=True, slots=True)
class MeasureScope:
    """The trials that a method should have: `repeats` for each program."""

    programs: tuple[str, ...]
    repeats: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a scope has been run."""

    scope: MeasureScope
    programs: int
    whole_repeats: int
    """The number of repeats that contain all programs of the scope."""
    trials: int

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        return self.trials == len(self.scope.programs) * self.scope.repeats


@dataclass(frozen=True, slots=True)
class PassRate:
    """A pass rate. `sd` is None with fewer than two complete repeats."""

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
    """One method in one setting, over all its trials, including failed ones."""

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
        """The number of calls answered by a cache, which have no tokens or cost."""
        return sum(result.reused_calls for result in self.results)

    @property
    def is_too_low(self) -> bool:
        """Whether trials ran live blocks as code although data would do, as before 2026-11-28."""
        return self.method == "auto" and any(each.started < "2026-11-28" for each in self.results)

    @property
    def tokens(self) -> float:
        """The mean tokens of a trial, input and output, including the build."""
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
    """Return the mean over programs of each program's mean over its repeats."""
    return fmean(map(fmean, values.values()))


def find_whole_repeats(results: Iterable[TrialResult], scope: MeasureScope) -> list[list[float]]:
    """Return the trials' shares for each repeat that contains all programs of the scope."""
    repeats = group_by(sorted(results, key=lambda each: each.repeat), lambda each: each.repeat)
    shares = [[result.share for result in group] for group in repeats.values()]
    return [each for each in shares if len(each) == len(scope.programs)]


def compute_bootstrap_interval(
    programs: Sequence[Sequence[float]], uniform: Uniform
) -> tuple[float, float]:
    """Return the middle 95 % of the means of programs drawn with replacement, repeats likewise."""
    means = sorted(  # `sum` adds floats differently before Python 3.12
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
    """Return the interval of `one`'s lead over `other` in pass rate, on their common programs.

    The interval is paired: programs are drawn, each with the difference of its two pass rates.
    """
    return compute_bootstrap_interval([[each] for each in list_leads(one, other)], uniform)


def list_leads(one: MethodSummary, other: MethodSummary) -> list[float]:
    """Return the lead of `one` in pass rate, for each program that both have."""
    rates, others = one.by_program, other.by_program
    return [rates[name] - others[name] for name in rates if name in others]


def sample_with_replacement(values: Sequence[Sampled], uniform: Uniform) -> list[Sampled]:
    """Return as many values as given, drawn with replacement."""
    return [values[int(uniform() * len(values))] for _ in values]


def format_coverage(coverage: Coverage) -> str:
    """Return a mean's number of trials as text, out of the expected number if some are missing."""
    scope = coverage.scope
    if coverage.is_whole:
        return f"{coverage.trials} trials"
    return (
        f"{coverage.programs} of {len(scope.programs)} programs, "
        f"{coverage.whole_repeats} of {scope.repeats} repeats whole "
        f"({coverage.trials} of {len(scope.programs) * scope.repeats} trials)"
    )
