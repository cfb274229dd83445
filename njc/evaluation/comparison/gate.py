"""A condition on pass rates, of `njc compare` and `njc eval`, by which a CI job fails.

    parse_gate("static:pass^3>=0.9")       PassGate(name="static", power=3, threshold=0.9)
    check_gates([gate], rows)              [GateResult(gate, "static", 0.83, (0.31, 0.99), holds=False)]

`pass^k` is the probability that k independent runs all pass. Of n runs, of which c have passed, the estimate is
C(c, k) / C(n, k), which has no bias (Yao et al. 2024, "tau-bench", https://arxiv.org/abs/2406.12045); of several cases it
is the mean. The interval is Wilson's 95 % interval of the pass rate, to the power k; of several cases it is the
interval of the estimate, each case counted once. The gate compares the estimate, not the interval.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from njc.evaluation.comparison.results import PassSummary, compute_pass_interval
from njrt.errors import ConfigurationError

_GATE = re.compile(
    r"(?:(?P<name>[a-z-]+):)?\s*pass(?:\^(?P<power>\d+))?\s*>=\s*(?P<threshold>[\d.]+)(?P<percent>%)?"
)


@dataclass(frozen=True, slots=True)
class PassGate:
    """`pass^power` of a mode, or of all that is compared, must be at least `threshold`."""

    name: str | None
    power: int
    threshold: float

    def __str__(self) -> str:
        return f"pass^{self.power} >= {self.threshold:g}"


@dataclass(frozen=True, slots=True)
class GateResult:
    """A gate on a row: the estimate, its 95 % interval, and whether the gate holds."""

    gate: PassGate
    name: str
    estimate: float
    interval: tuple[float, float]
    holds: bool

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "does not hold"
        low, high = self.interval
        return f"{self.name}: {self.gate} {verdict}: {self.estimate:.3f} (95 % interval {low:.3f} to {high:.3f})"


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
    return PassGate(found["name"], power, threshold)


def parse_gates(
    texts: Iterable[str], names: Collection[str], runs: int, flag: str
) -> list[PassGate]:
    """Read gates on rows of these names, with so many runs by a flag; raises ConfigurationError."""
    gates = [parse_gate(text) for text in texts]
    for gate in gates:
        if gate.name is not None and gate.name not in names:
            raise ConfigurationError(f"the gate is on `{gate.name}`, which is not compared")
        if gate.power > runs:
            raise ConfigurationError(
                f"pass^{gate.power} needs {gate.power} runs: {flag} {gate.power}"
            )
    return gates


def check_gates(gates: Iterable[PassGate], rows: Sequence[PassSummary]) -> list[GateResult]:
    """Return each gate on each row that it is for; a mode that could not be built does not hold it."""
    pairs = ((gate, row) for gate in gates for row in rows if gate.name in (None, row.name))
    return [_check_gate(gate, row) for gate, row in pairs]


def _check_gate(gate: PassGate, row: PassSummary) -> GateResult:
    estimate, cases = row.estimate_power(gate.power), len(row.groups)
    if cases > 1:
        interval = compute_pass_interval(estimate * cases, cases)
    else:
        low, high = row.pass_interval
        interval = low**gate.power, high**gate.power
    return GateResult(
        gate, row.name, estimate, interval, row.count > 0 and estimate >= gate.threshold
    )
