"""The curves of trainings as a picture.

[CurvePoint(size="small", ...), CurvePoint(size="medium", ...)]  ──draw_curves──>   a line for each size
"""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from itertools import groupby

from spsbench.neural.curve import CurvePoint


def draw_curves(points: Sequence[CurvePoint], baseline: float) -> str:
    """Return an SVG of the share of exact steps by the number of programs, with a line at the share of the baseline.

    Needs matplotlib (the extra `bench`).
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
