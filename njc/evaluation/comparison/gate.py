"""A condition on a comparison, by which a CI job fails.

    parse_gate("static:pass^3>=0.9")       PassGate(mode="static", power=3, threshold=0.9)
    check_gate(gate, rows)                 GateResult(mode="static", estimate=0.83, low=0.31, high=0.99, holds=False)

`pass^k` is the probability that k independent runs all pass. Of n runs, of which c have passed, the estimate is
C(c, k) / C(n, k), which has no bias (Yao et al. 2024, "tau-bench", https://arxiv.org/abs/2406.12045). The interval is
Wilson's 95 % interval of the pass rate, to the power k. The gate compares the estimate, not the interval.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from njc.evaluation.comparison.results import ModeSummary, compute_pass_interval
from njrt.errors import ConfigurationError

_GATE = re.compile(
    r"(?:(?P<mode>[a-z-]+):)?\s*pass(?:\^(?P<power>\d+))?\s*>=\s*(?P<threshold>[\d.]+)(?P<percent>%)?"
)


@dataclass(frozen=True, slots=True)
class PassGate:
    """`pass^power` of a mode, or of every compared mode, must be at least `threshold`."""

    mode: str | None
    power: int
    threshold: float

    def __str__(self) -> str:
        return f"pass^{self.power} >= {self.threshold:g}"


@dataclass(frozen=True, slots=True)
class GateResult:
    """The estimate of a mode, its 95 % interval, and whether the gate holds."""

    mode: str
    estimate: float
    low: float
    high: float
    holds: bool


def parse_gate(text: str) -> PassGate:
    """Read `[MODE:]pass^K>=X`; raises ConfigurationError."""
    found = _GATE.fullmatch(text.strip())
    try:
        if found is None:
            raise ValueError
        power = int(found["power"] or 1)
        threshold = float(found["threshold"]) / (100 if found["percent"] else 1)
        if not (power >= 1 and 0 <= threshold <= 1):
            raise ValueError
    except ValueError:
        raise ConfigurationError(
            f"`{text}` is not a gate; write [MODE:]pass^K>=X with X from 0 to 1, such as 'pass^3>=0.9'"
        ) from None
    return PassGate(found["mode"], power, threshold)


def estimate_pass_power(passed: int, runs: int, power: int) -> float:
    """Return the estimate of pass^power from `runs` runs, at least `power` of them."""
    return math.comb(passed, power) / math.comb(runs, power)


def check_gate(gate: PassGate, rows: Sequence[ModeSummary]) -> list[GateResult]:
    """Return the gate on each mode that it is for; a mode that could not be built does not hold it."""
    results = []
    for row in rows:
        if gate.mode not in (None, row.mode):
            continue
        runs = len(row.runs)
        low, high = (end**gate.power for end in compute_pass_interval(row.passed, runs))
        estimate = estimate_pass_power(row.passed, runs, gate.power) if runs >= gate.power else 0.0
        holds = runs >= gate.power and estimate >= gate.threshold
        results.append(GateResult(row.mode, estimate, low, high, holds))
    return results


def format_gate_results(gate: PassGate, results: Sequence[GateResult]) -> Iterator[str]:
    """Yield a line for each mode."""
    for result in results:
        verdict = "holds" if result.holds else "does not hold"
        yield (
            f"{result.mode}: {gate} {verdict}: {result.estimate:.3f} "
            f"(95 % interval {result.low:.3f} to {result.high:.3f})"
        )
