"""A training curve: one point per checkpoint, each a line of JSON.

{"size": "small", "parameters": 147328, "step": 250, "programs": 2000, "exact": 0.21, ...}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import groupby
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


# ── training curves as a picture ──────────────────────────────────────────────────────────────────


def draw_curves(points: Sequence[CurvePoint], baseline: float) -> str:
    """Return an SVG of the share of exact steps by the number of programs, with a baseline.

    Requires matplotlib (the extra `bench`).
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "curve", "font.family": "DejaVu Sans", "font.size": 9.0}):
        figure = Figure(figsize=(6.4, 3.2), layout="constrained", facecolor="white")
        axes = figure.subplots()
        for size, group in groupby(points, lambda point: point.size):
            line = list(group)
            label = f"{size}: {line[0].parameters:,} parameters"
            programs = [point.programs for point in line]
            axes.plot(
                programs, [point.exact for point in line], marker="o", markersize=3, label=label
            )
        axes.axhline(baseline, linestyle="--", color="gray", label="n-grams of 10,000 programs")
        axes.set(
            xscale="log",
            ylim=(0, 1),
            xlabel="programs of the training",
            ylabel="exact steps, held out",
        )
        axes.legend(loc="upper left", frameon=False)
        axes.grid(alpha=0.3)
        picture = StringIO()
        figure.savefig(picture, format="svg", metadata={"Date": None})
    return picture.getvalue()
