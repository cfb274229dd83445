"""How well probabilities fit: what share of the answers a gate keeps, and how much of it is right.

[Answered(0.95, True), Answered(0.55, False), ...]
    compute_brier(...)               0.171, the mean of (probability - right)²
    compute_calibration_error(...)   0.124, the mean distance of probability and share right
    list_gates(...)                  Gate(at=0.9, kept=0.31, right=0.98), ...
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from njrt.records import record

GATES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
BINS = 10
"""The number of bins of equal width for the calibration error."""


@record
class Answered:
    """An answer: its probability, the least if a block has several, and whether it is right."""

    probability: float
    is_right: bool


@record
class Gate:
    """The answers from the probability `at`: their share of all, and the share that is right."""

    at: float
    kept: float
    right: float | None
    """None if no answer is kept."""


def compute_brier(answers: Sequence[Answered]) -> float:
    """Return the mean squared difference of the probability and 1 if right, 0 if wrong."""
    return sum((each.probability - each.is_right) ** 2 for each in answers) / len(answers)


def compute_calibration_error(answers: Sequence[Answered]) -> float:
    """Return the expected calibration error, in ten bins of equal width."""
    bins: dict[int, list[Answered]] = {}
    for each in answers:
        bins.setdefault(min(int(each.probability * BINS), BINS - 1), []).append(each)
    distances = (
        abs(sum(it.probability for it in group) - sum(it.is_right for it in group))
        for group in bins.values()
    )
    return sum(distances) / len(answers)


def list_gates(answers: Sequence[Answered], gates: Sequence[float] = GATES) -> list[Gate]:
    """Return for each gate the share that it keeps, and the share of those that is right."""
    found = []
    for at in gates:
        kept = [each.is_right for each in answers if each.probability >= at]
        right = sum(kept) / len(kept) if kept else None
        found.append(Gate(at, len(kept) / len(answers), right))
    return found


def compute_sign_test(better: int, worse: int) -> float:
    """Return the two-sided p-value of a sign test on paired cases, without the ties."""
    total, most = better + worse, max(better, worse)
    tail = sum(comb(total, count) for count in range(most, total + 1)) / 2**total
    return float(min(1.0, 2 * tail))
