"""The comparison as a self-contained page: advice, tables, plots.

The page loads nothing and needs no scripts; it follows the reader's light or dark setting and fits a phone. Its
template is `templates/comparison.html`, which shares `templates/report.html` with the pages of `njc eval`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from njc.evaluation.comparison.results import ModeSummary
from njc.evaluation.comparison.svg import make_placeholders, render_svg
from njc.evaluation.comparison.text import (
    BLOCK_HEADINGS,
    MODE_HEADINGS,
    format_block_rows,
    format_mode_cells,
    write_advice,
)

_MODE_DESCRIPTIONS = {
    "live": "a model runs each block, every time",
    "static-raw": "code that a model wrote once, unchecked",
    "static": "code that a model wrote and fixed until it passed the checks",
    "auto": "static code behind a guard; the live block runs if the guard fails",
}
_COLORS = make_placeholders("ink", "bar")


def render_template(name: str, **values: Any) -> str:
    """Render a template of this package; needs jinja2 (the extra `bench`)."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("njc.evaluation.comparison"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(name).render(values)


def render_comparison_page(rows: Sequence[ModeSummary], command: str) -> str:
    """Render the page; needs jinja2 and matplotlib (the extra `bench`)."""
    usages = [run.usage for row in rows for run in row.runs]
    return render_template(
        "comparison.html",
        command=command,
        advice=write_advice(rows),
        mode_headings=MODE_HEADINGS,
        mode_rows=[format_mode_cells(row) for row in rows],
        block_headings=BLOCK_HEADINGS,
        block_rows=format_block_rows(rows),
        plots=dict(_draw_plots([row for row in rows if row.runs])),
        has_attempts=any(usage.by_code or usage.unfit or usage.raised for usage in usages),
        descriptions=[(row.name, _MODE_DESCRIPTIONS.get(row.name, "")) for row in rows],
    )


def _draw_plots(rows: Sequence[ModeSummary]) -> Iterator[tuple[str, str]]:
    """Yield the title and SVG of each measure."""
    measures: dict[str, tuple[Callable[[ModeSummary], float], str]] = {
        "Pass rate, with its 95 % interval": (lambda row: row.pass_rate, "{:.0%}"),
        "Seconds of a run (median)": (lambda row: row.seconds or 0.0, "{:.2f} s"),
        "Tokens of a run": (lambda row: row.usage.tokens, "{:,.0f}"),
        "Model calls of a run": (lambda row: row.usage.calls, "{:,.0f}"),
    }
    for title, (measure, form) in measures.items():
        intervals = [row.pass_interval for row in rows] if "interval" in title else None
        bars = {row.name: measure(row) for row in rows}
        if bars:
            yield title, _draw_bars(title, bars, form, intervals)


def _draw_bars(
    title: str, bars: dict[str, float], form: str, intervals: Sequence[tuple[float, float]] | None
) -> str:
    """Draw horizontal bars with their labels and values above them, as SVG for an HTML page."""
    import matplotlib
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {
        "figure.facecolor": "none",
        "font.size": 11,
        "text.color": _COLORS["ink"],
    }
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(5, 0.52 * len(bars) + 0.2), layout="constrained")
        axes = figure.add_subplot(frameon=False, xticks=[], yticks=[])
        for index, (mode, value) in enumerate(bars.items()):
            axes.barh(index, value, 0.4, color=_COLORS["bar"])
            axes.text(0, index - 0.28, mode)
            right = axes.get_yaxis_transform()
            axes.text(1, index - 0.28, form.format(value), ha="right", transform=right)
            if intervals:
                axes.plot(intervals[index], (index, index), color=_COLORS["ink"], linewidth=1.2)
        axes.set_xlim(0, 1 if intervals else max(bars.values()) or 1)
        axes.set_ylim(len(bars) - 0.6, -0.75)
    values = "; ".join(f"{mode} {form.format(value)}" for mode, value in bars.items())
    return render_svg(figure, f"{title}: {values}", _COLORS, style)
