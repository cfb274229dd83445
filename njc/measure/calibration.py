"""How well probabilities fit: what share of the answers a gate keeps, and how much of it is right.

[(0.95, True), (0.55, False)]
    compute_brier(...)               0.152, the mean of (probability - right)²
    compute_calibration_error(...)   0.300, the mean distance of probability and share right
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

GATES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
BAR = 20
"""The number of characters of a bar that stands for all answers."""


Answers = Sequence[tuple[float, bool]]
"""The probability of each answer, the least if a block has several, and whether it is right."""


def compute_brier(answers: Answers) -> float:
    """Return the mean squared difference of the probability and 1 if right, 0 if wrong."""
    return fmean((probability - is_right) ** 2 for probability, is_right in answers)


def compute_calibration_error(answers: Answers) -> float:
    """Return the expected calibration error, in ten bins of equal width."""
    distances = dict.fromkeys(range(10), 0.0)
    for probability, is_right in answers:
        distances[min(int(probability * 10), 9)] += probability - is_right
    return sum(map(abs, distances.values())) / len(answers)


def format_calibration(name: str, answers: Answers) -> str:
    """Return how well the probabilities of a model fit, with a table of gates; "" without any."""
    if not answers:
        return ""
    brier, distance = compute_brier(answers), compute_calibration_error(answers)
    lines = [
        f"{name}: {len(answers):,} runs with probabilities, Brier score {brier:.3f}, "
        f"expected calibration error {distance:.3f}",
        "",
        f"gate at  {'share kept':{BAR + 6}}  share right",
    ]
    for at in GATES:
        kept = [is_right for probability, is_right in answers if probability >= at]
        shares = len(kept) / len(answers), fmean(kept) if kept else None
        bars = ["-" if it is None else f"{it:.3f} {'#' * round(BAR * it)}" for it in shares]
        lines.append(f"{at:7.2f}  {bars[0]:{BAR + 6}}  {bars[1]}")
    return "\n".join(lines)
