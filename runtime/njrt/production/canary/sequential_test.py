"""A sequential test: do code and live block differ in more runs than tolerated?

    history = DifferenceHistory()
    history = history.add(is_different)         after each canary
    compute_evidence(history, 0.1) >= 1 / 0.01  an alarm: if at most 0.1 of the runs differ, this ever happens with
                                                probability at most 0.01, however many runs are examined

The test is a bet against the null hypothesis "given the past, each run differs with probability at most t". A bet on
the rate q > t multiplies the capital by q/t if a run differs, otherwise by (1 - q)/(1 - t): on average by at most 1.
The capital of bets spread uniformly over all q in (t, 1) is, after k differences in n runs,

    E(n, k) = 1/(1 - t) * integral from t to 1 of (q/t)^k ((1 - q)/(1 - t))^(n - k) dq
            = P(Binomial(n + 1, t) <= k) / ((1 - t) (n + 1) P(Binomial(n, t) = k))

A change after many equal runs would be noticed late, so the part 1/((j + 1)(j + 2)) of the capital is bet only from
run `EPOCH_RUNS * j` on; the parts add up to 1. The sum starts at 1 and is a supermartingale under the null
hypothesis, so it reaches 1/a with probability at most a (Ville 1939). Epochs too old to be kept count as lost.

Sources: Ramdas, Grünwald, Vovk, Shafer, "Game-theoretic statistics and safe anytime-valid inference", Statistical
Science 38(4), 2023, section 5; Waudby-Smith, Ramdas, "Estimating means of bounded random variables by betting", JRSS B
86(1), 2024; the spread over starting times: Shin, Ramdas, Rinaldo, "E-detectors", 2022 (arXiv:2203.03532).
"""

from __future__ import annotations

import math
from functools import lru_cache

from njrt.records import record

EPOCH_RUNS = 20
"""The number of runs after which another part of the capital is bet."""

MAX_EPOCHS = 50
"""The number of epochs that are kept."""

_NEGLIGIBLE = 1e-17


@record
class Epoch:
    """A part of the capital: its number, and the runs and differences before it."""

    number: int = 0
    runs: int = 0
    differences: int = 0


@record
class DifferenceHistory:
    """The number of canaries and of differences, in total and at the start of each epoch."""

    runs: int = 0
    differences: int = 0
    epochs: tuple[Epoch, ...] = (Epoch(),)

    def add(self, is_different: bool) -> DifferenceHistory:
        epochs = self.epochs
        if self.runs and self.runs % EPOCH_RUNS == 0:
            begun = Epoch(epochs[-1].number + 1, self.runs, self.differences)
            epochs = (*epochs, begun)[-MAX_EPOCHS:]
        return DifferenceHistory(self.runs + 1, self.differences + is_different, epochs)


def compute_evidence(history: DifferenceHistory, tolerated: float) -> float:
    """Return the capital after these runs; `tolerated` is the rate of differences under the null hypothesis."""
    waiting = 1 / (history.epochs[-1].number + 2)
    return waiting + sum(
        math.exp(min(700.0, log_e_value(
            history.runs - epoch.runs, history.differences - epoch.differences, tolerated
        ))) / ((epoch.number + 1) * (epoch.number + 2))
        for epoch in history.epochs
    )  # fmt: skip


@lru_cache(maxsize=1 << 17)
def log_e_value(runs: int, differences: int, tolerated: float) -> float:
    """Return the logarithm of E(n, k) above."""
    if tolerated == 0:
        return math.inf if differences else 0.0
    n, k, t = runs, differences, tolerated
    return (
        math.log(_compute_lower_tail(n + 1, k, t))
        - math.log1p(-t)
        - math.log(n + 1)
        - _log_probability(n, k, t)
    )


def _compute_lower_tail(n: int, k: int, p: float) -> float:
    """Return P(Binomial(n, p) <= k), summed from the largest term; k is less than n."""
    odds = p / (1 - p)
    if k < n * p:
        part = total = 1.0
        for j in range(k, 0, -1):
            part *= j / ((n - j + 1) * odds)
            total += part
            if part < _NEGLIGIBLE * total:
                break
        return max(math.exp(_log_probability(n, k, p)) * total, 5e-324)
    part = total = 1.0
    for j in range(k + 1, n):
        part *= (n - j) * odds / (j + 1)
        total += part
        if part < _NEGLIGIBLE * total:
            break
    return 1 - math.exp(_log_probability(n, k + 1, p)) * total


def _log_probability(n: int, k: int, p: float) -> float:
    """Return the logarithm of P(Binomial(n, p) = k)."""
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return ways + k * math.log(p) + (n - k) * math.log1p(-p)
