"""Summaries of trials: means with their spread, and the number of missing trials.

    summarize_method(setting, method, results, programs=25, repeats=5)
        -> MethodSummary("direct", shares={"menu": [1.0, ...], ...}, interval=(0.58, 0.84), ...)

Every program has the same weight: means are taken over each program's repeats, then over programs.
The standard deviation is over complete repeats, with n - 1. The interval is the middle 95 % of a
two-stage bootstrap: programs are drawn with replacement, then repeats of each. Not covered: the
model, the machine, and the choice of the checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean, stdev
from typing import TypeVar

from spsbench.results import TrialResult, group_by

BOOTSTRAP_ROUNDS, SEED = 2000, 2026
MIN_PROGRAMS = 6
"""Programs needed to compare: by chance five agree in 2 of 32 cases (sign test), six in 2 of 64."""

Sampled = TypeVar("Sampled")
Measure = Callable[[TrialResult], float]


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings shared by the methods in a comparison."""

    model: str
    temperature: float | None = None
    """None: the vendor's default, or 0 for plain-text models."""

    def __str__(self) -> str:
        if self.temperature is None:
            return self.model
        return f"{self.model}, temperature {self.temperature:g}"


@dataclass(frozen=True, slots=True)
class MethodSummary:
    """One method in one setting, over all its trials, including failed ones."""

    setting: Setting
    method: str
    results: tuple[TrialResult, ...]
    shares: Mapping[str, Sequence[float]]
    """The shares of checks that hold, in the repeats of each program that has trials."""
    interval: tuple[float, float]
    programs: int
    """The number of programs that it should have, with `repeats` of each."""
    repeats: int

    @property
    def rate(self) -> float:
        """The pass rate."""
        return fmean(map(fmean, self.shares.values()))

    @property
    def whole_repeats(self) -> list[float]:
        """The pass rates of the repeats that have all programs."""
        repeats = group_by(self.results, lambda each: each.repeat).values()
        return [
            fmean(result.share for result in group)
            for group in repeats
            if len(group) == self.programs
        ]

    @property
    def deviation(self) -> float | None:
        """The deviation between complete repeats; None with fewer than two."""
        return stdev(self.whole_repeats) if len(self.whole_repeats) > 1 else None

    @property
    def is_priced(self) -> bool:
        """Whether all calls have a known price."""
        return all(result.cost is not None for result in self.results)

    @property
    def is_too_low(self) -> bool:
        """Whether trials ran live blocks as code although data would do, as before 2026-11-28."""
        return self.method == "auto" and any(each.started < "2026-11-28" for each in self.results)

    def compute_mean(self, value: Measure) -> float:
        """Return the mean over programs of each program's mean over its repeats."""
        return fmean(map(fmean, group_by_program(self.results, value).values()))


def summarize_method(
    setting: Setting,
    method: str,
    results: Iterable[TrialResult],
    programs: int,
    repeats: int,
) -> MethodSummary:
    """Summarize the trials of one method; there must be at least one."""
    ordered = tuple(sorted(results, key=lambda result: (result.program, result.repeat)))
    shares = group_by_program(ordered, lambda result: result.share)
    interval = compute_bootstrap_interval(list(shares.values()))
    return MethodSummary(setting, method, ordered, shares, interval, programs, repeats)


def group_by_program(results: Iterable[TrialResult], value: Measure) -> dict[str, list[float]]:
    """Return a value of each trial, by program."""
    groups = group_by(results, lambda result: result.program)
    return {program: list(map(value, group)) for program, group in groups.items()}


def compute_bootstrap_interval(programs: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the middle 95 % of the means of programs drawn with replacement, repeats likewise."""
    uniform = Random(SEED).random  # anew, so that no interval depends on another

    def draw(values: Sequence[Sampled]) -> list[Sampled]:
        return [values[int(uniform() * len(values))] for _ in values]

    means = sorted(  # `sum` adds floats differently before Python 3.12
        fmean(fmean(draw(repeats)) for repeats in draw(programs)) for _ in range(BOOTSTRAP_ROUNDS)
    )
    cut = round(BOOTSTRAP_ROUNDS * 0.025)
    return means[cut], means[-1 - cut]


def list_leads(one: MethodSummary, other: MethodSummary) -> list[float]:
    """Return the lead of `one` in pass rate, for each program that both have."""
    return [
        fmean(shares) - fmean(other.shares[name])
        for name, shares in one.shares.items()
        if name in other.shares
    ]


def format_lead(one: MethodSummary, other: MethodSummary) -> str:
    """Return how far a method is ahead of another on common programs: `+0.12 (-0.01 to 0.25)`.

    The interval is paired: programs are drawn, each with the difference of its two pass rates. It
    is missing over fewer than `MIN_PROGRAMS`.
    """
    leads = list_leads(one, other)
    if not leads or one is other:
        return "-"
    if len(leads) < MIN_PROGRAMS:
        return f"{fmean(leads):+.2f}"
    low, high = compute_bootstrap_interval([[lead] for lead in leads])
    return f"{fmean(leads):+.2f} ({low:.2f} to {high:.2f})"


def format_coverage(row: MethodSummary) -> str:
    """Return a mean's number of trials as text, out of the expected number if some are missing."""
    trials, expected = len(row.results), row.programs * row.repeats
    if trials == expected:
        return f"{trials} trials"
    return (
        f"{len(row.shares)} of {row.programs} programs, "
        f"{len(row.whole_repeats)} of {row.repeats} repeats whole ({trials} of {expected} trials)"
    )
