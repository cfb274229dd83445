"""Pass rates of repeated runs, and their intervals.

PassRate(((2, 2), (1, 2)))          two cases, each run twice: 3 of 4 runs passed
.rate, .interval                    0.75, (0.22, 0.97)
compute_sign_test(1, 6)             0.125: as different by chance alone
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from njrt.data.records import record


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


def compute_pass_interval(passed: float, runs: int, z: float = 1.96) -> tuple[float, float]:
    """Compute the 95 % interval of a pass rate by Wilson (1927), which also suits few runs."""
    if not runs:
        return 0.0, 1.0
    rate, square = passed / runs, z * z
    center = (rate + square / (2 * runs)) / (1 + square / runs)
    spread = rate * (1 - rate) / runs + square / (4 * runs * runs)
    half = z * math.sqrt(spread) / (1 + square / runs)
    return max(0.0, min(rate, center - half)), min(1.0, max(rate, center + half))


def compute_sign_test(better: int, worse: int) -> float:
    """Return the two-sided p-value of a sign test on paired cases, without the ties."""
    total, most = better + worse, max(better, worse)
    tail = sum(math.comb(total, count) for count in range(most, total + 1)) / 2**total
    return float(min(1.0, 2 * tail))
