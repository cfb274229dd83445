"""A training curve: one point per checkpoint, each a line of JSON.

{"size": "small", "parameters": 147328, "step": 250, "programs": 2000, "exact": 0.21, ...}
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from spsbench.journal import read_rows


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The quality of a network after some steps."""

    size: str
    parameters: int
    step: int
    programs: int
    """The number of programs it was trained on."""
    train_loss: float
    """The mean loss per token since the previous point."""
    valid_loss: float
    exact: float
    """The share of held-out programs' steps that are right in every part."""
    steps_held_out: int
    seconds: float
    """The training time, without evaluating and reading data."""
    device: str = "cpu"
    """JAX's name of the processor."""

    def describe(self) -> str:
        return (
            f"step {self.step:,}: loss {self.train_loss:.3f}, held out {self.valid_loss:.3f}, "
            f"exact {self.exact:.1%} of {self.steps_held_out:,} steps, {self.seconds:,.0f} s"
        )


def read_curve(path: Path) -> list[CurvePoint]:
    """Return the points in a file."""
    return read_rows(path, CurvePoint, "not a point of a curve")
