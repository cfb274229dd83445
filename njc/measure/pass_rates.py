"""Pass rates of repeated runs, their intervals, and gates on them.

    PassRate(((2, 2), (1, 2)))          two cases, each run twice: 3 of 4 runs passed
    .rate, .interval                    0.75, (0.22, 0.97)
    .estimate_power(2)                  0.5: the probability that two runs of a case both pass
    parse_gate("pass^2>=0.9", 2)        PassGate(2, 0.9)
    compute_sign_test(1, 6)             0.125: as different by chance alone

`pass^k` is estimated as by Yao et al. (2024, https://arxiv.org/abs/2406.12045), and averaged over
the cases.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from statistics import fmean

from njrt.data.records import record
from njrt.errors import ConfigurationError


@record
class PassRate:
    """The passed runs and all runs of each case, or of one group of equal runs."""

    groups: Sequence[tuple[int, int]]

    @property
    def passed(self) -> int:
        return sum(passed for passed, _ in self.groups)

    @property
    def count(self) -> int:
        return sum(runs for _, runs in self.groups)

    @property
    def rate(self) -> float:
        """The share of runs that passed; 0 if there are no runs."""
        return self.passed / (self.count or 1)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the rate, over the cases if there are several.

        Runs of a case are not independent.
        """
        if len(self.groups) > 1 and self.count:
            return compute_pass_interval(self.rate * len(self.groups), len(self.groups))
        return compute_pass_interval(self.passed, self.count)

    def estimate_power(self, power: int) -> float:
        """Return the estimate of pass^power over the groups; 0.0 if a group has fewer runs."""
        if any(runs < power for _, runs in self.groups):
            return 0.0
        return fmean(estimate_pass_power(*group, power) for group in self.groups)


def estimate_pass_power(passed: int, runs: int, power: int) -> float:
    """Return the estimate of pass^power from `runs` runs; `runs` must be at least `power`."""
    return math.comb(passed, power) / math.comb(runs, power)


def compute_pass_interval(passed: float, runs: int, z: float = 1.96) -> tuple[float, float]:
    """Compute the 95 % interval of a pass rate by Wilson (1927), which also suits few runs."""
    if not runs:
        return 0.0, 1.0
    rate, square = passed / runs, z * z
    center = (rate + square / (2 * runs)) / (1 + square / runs)
    spread = rate * (1 - rate) / runs + square / (4 * runs * runs)
    half = z * math.sqrt(spread) / (1 + square / runs)
    return max(0.0, min(rate, center - half)), min(1.0, max(rate, center + half))


_GATE = re.compile(r"pass(?:\^(?P<power>\d+))?\s*>=\s*(?P<threshold>[\d.]+)(?P<percent>%)?")


@record
class PassGate:
    """`pass^power` must be at least `threshold`."""

    power: int
    threshold: float

    def holds(self, found: PassRate) -> bool:
        return found.estimate_power(self.power) >= self.threshold

    def describe(self, name: str, found: PassRate) -> str:
        """Return whether the gate holds, with the estimate and its 95 % interval."""
        estimate, cases = found.estimate_power(self.power), len(found.groups)
        if cases > 1:
            low, high = compute_pass_interval(estimate * cases, cases)
        else:
            low, high = (bound**self.power for bound in found.interval)
        verdict = "holds" if self.holds(found) else "does not hold"
        interval = f"95 % interval {low:.3f} to {high:.3f}"
        gate = f"pass^{self.power} >= {self.threshold:g}"
        return f"{name}: {gate} {verdict}: {estimate:.3f} ({interval})"


def parse_gate(text: str, runs: int) -> PassGate:
    """Parse `pass^K>=X` for cases that are run `runs` times; raises ConfigurationError."""
    found = _GATE.fullmatch(text.strip())
    try:
        if found is None:
            raise ValueError
        power = int(found["power"] or 1)
        threshold = float(found["threshold"]) / (100 if found["percent"] else 1)
        if not (power >= 1 and 0 <= threshold <= 1):
            raise ValueError
    except ValueError:
        problem = "is not a gate; write pass^K>=X with X from 0 to 1, such as 'pass^3>=0.9'"
        raise ConfigurationError(f"`{text}` {problem}") from None
    if power > runs:
        raise ConfigurationError(f"pass^{power} needs {power} runs: --repeats {power}")
    return PassGate(power, threshold)


def compute_sign_test(better: int, worse: int) -> float:
    """Return the two-sided p-value of a sign test on paired cases, without the ties."""
    total, most = better + worse, max(better, worse)
    tail = sum(math.comb(total, count) for count in range(most, total + 1)) / 2**total
    return float(min(1.0, 2 * tail))
