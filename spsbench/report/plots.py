"""The plots on the page, drawn by matplotlib from the table rows, as inline SVG.

    draw_rate_plots(rows, published, numbers)    pass rate against seconds: a mark for each method
    draw_graph_plots(asked, numbers)             the growing graph: a line for each method

A plot is 360 units wide, the width of a phone. Its colours come from the page's style, so that it
follows light and dark mode: matplotlib draws with placeholders, which `render_svg` replaces. Text
remains text, in the reader's fonts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from spsbench.published import METHOD_BY_PAPER_NAME, PublishedTable
from spsbench.report import svg
from spsbench.report.measures import MethodSummary
from spsbench.report.tables import has_effects, parse_published_cell, sort_methods
from spsbench.results import GraphResult, group_by

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MethodNumbers = Mapping[str, str]
"""The number that marks each method in the plots."""

COLOURS = svg.make_placeholders(
    *("ground", "ink", "soft", "line", "ours", "theirs", "in", "cached", "out", "build"),
    *(f"c{number}" for number in range(1, 7)),
)
"""A placeholder for each colour of the page's style."""
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "text.color": COLOURS["ink"],
    "axes.labelcolor": COLOURS["ink"],
    "axes.labelweight": "bold",
    "axes.edgecolor": COLOURS["line"],
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": COLOURS["line"],
    "xtick.color": COLOURS["line"],
    "ytick.color": COLOURS["line"],
    "xtick.labelcolor": COLOURS["soft"],
    "ytick.labelcolor": COLOURS["soft"],
    "figure.facecolor": "none",
}
TOKEN_KINDS = {
    "in": "input",
    "cached": "input, cached by the vendor",
    "out": "output",
    "build": "build, once",
}
"""The parts of a token bar, by colour."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing and its title."""

    title: str
    svg: str


@dataclass(frozen=True, slots=True)
class Point:
    """A method's mark: its position, and the description shown when the pointer rests on it."""

    x: float
    y: float
    method: str
    description: str


def number_methods(methods: Iterable[str]) -> MethodNumbers:
    """Number the methods in the order of the tables."""
    return {method: str(number) for number, method in enumerate(sort_methods(methods), 1)}


# ── the plots ────────────────────────────────────────────────────────────────────────────────────


def draw_rate_plots(
    rows: Sequence[MethodSummary], published: PublishedTable, numbers: MethodNumbers
) -> list[Plot]:
    """Draw pass rate against seconds: a plot for each model, ours first, all with the same axes."""
    points = [
        (f"measured: {row.setting}", make_rate_point(row.method, row.seconds.mean, row.rate.mean))
        for row in rows
    ]
    for texts in published.rows:
        cells = dict(zip(published.columns, texts, strict=True))
        rate, seconds = (
            parse_published_cell(cells[name]).mean for name in ("pass rate", "total s")
        )
        assert rate is not None
        assert seconds is not None
        method = METHOD_BY_PAPER_NAME[cells["method"]]
        points.append((f"paper: {cells['model']}", make_rate_point(method, seconds, rate)))
    ends = find_log_ends(point.x for _, point in points)
    plots = []
    for title, group in group_by(points, lambda each: each[0]).items():
        figure, axes = make_axes("seconds a program", "pass rate")
        set_log_scale(axes, "x", ends)
        set_rate_scale(axes)
        colour = COLOURS["ours" if title.startswith("measured") else "theirs"]
        shown = [point for _, point in group]
        descriptions = draw_numbered_marks(figure, axes, shown, numbers, [colour] * len(shown))
        plots.append(Plot(title, render_svg(figure, f"{title}: pass rate, seconds", descriptions)))
    return plots


def make_rate_point(method: str, seconds: float, rate: float) -> Point:
    """Return the mark for one method."""
    return Point(seconds, rate, method, f"{method}: {rate:.0%} in {seconds:.1f} s")


def draw_effect_plots(rows: Sequence[MethodSummary]) -> list[Plot]:
    """Draw effects against seconds: a plot per method with effects, all with the same axes."""
    shown = [row for row in rows if has_effects(row.method) and row.effects.high > 0]
    plots = []
    for row in shown:
        figure, axes = make_axes("effects", "seconds", height=3.1)
        axes.set_xlim(0, 1.05 * max(row.effects.high for row in shown))
        axes.set_ylim(0, 1.05 * max(row.run_seconds.high for row in shown))
        passed = [result.share == 1 for result in row.results]
        axes.scatter(
            [result.effects for result in row.results],
            [result.run_seconds for result in row.results],
            s=22,
            c=[COLOURS["ours"] if whole else "none" for whole in passed],
            edgecolors=[COLOURS["ours" if whole else "out"] for whole in passed],
            gid="marks",
            clip_on=False,
        )
        descriptions = [
            f"{result.program}, repeat {result.repeat}: {result.effects} effects, "
            f"{result.run_seconds:.1f} s, {result.share:.0%} of the checks"
            for result in row.results
        ]
        seconds = median(r.run_seconds / r.effects for r in row.results if r.effects)
        title = f"{row.method}: {seconds:.1f} s an effect"
        plots.append(Plot(title, render_svg(figure, title, descriptions)))
    return plots


def draw_token_bars(rows: Sequence[MethodSummary]) -> Plot:
    """Draw the tokens of a program by method, with dollars if the price is known."""
    figure, axes = make_axes("tokens", "", height=0.9 + 0.42 * len(rows))
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.tick_params(left=False, labelleft=False, bottom=False, labelbottom=False)
    axes.set_xlabel("")
    for index, row in enumerate(rows):
        amounts = (
            ("in", row.input_tokens.mean - row.cached_tokens.mean),
            ("cached", row.cached_tokens.mean),
            ("out", row.output_tokens.mean),
            ("build", row.build_tokens.mean),
        )
        left = 0.0
        for kind, amount in amounts:
            axes.barh(index, amount, 0.4, left, color=COLOURS[kind])
            left += amount
        price = "" if row.cost is None else f" · ${row.cost.mean:.4f}"
        axes.text(0, index - 0.3, row.method, color=COLOURS["ink"])
        ink, right = COLOURS["ink"], axes.get_yaxis_transform()
        total = f"{row.tokens:,.0f}{price}"
        axes.text(1, index - 0.3, total, ha="right", transform=right, color=ink)
    axes.set_xlim(0, max((row.tokens for row in rows), default=0.0) or 1.0)
    axes.set_ylim(len(rows) - 0.6, -0.9)
    return Plot("Tokens a program", render_svg(figure, "tokens a program, by method"))


def draw_graph_plots(asked: Sequence[GraphResult], numbers: MethodNumbers) -> list[Plot]:
    """Draw the growing graph: a line for each method, averaged over questions and repeats.

    A prompt that was too long to be sent counts as wrong, and has no tokens or seconds.
    """
    sent = [result for result in asked if result.ending != "too long"]
    shown: tuple[tuple[str, str, Sequence[GraphResult], Callable[[GraphResult], float]], ...] = (
        ("Right answers", "right", asked, lambda result: float(result.passed)),
        ("Tokens", "tokens a question", sent, lambda each: each.input_tokens + each.output_tokens),
        ("Seconds", "seconds a question", sent, lambda result: result.seconds),
    )
    sizes = find_log_ends(result.size for result in asked)
    plots = []
    for title, label, results, measure in shown:
        lines = compute_means(results, measure)
        figure, axes = make_axes("papers in the graph", label)
        set_log_scale(axes, "x", sizes)
        if title == "Right answers":
            set_rate_scale(axes)
        else:
            set_log_scale(axes, "y", find_log_ends(map(measure, results)))
        colours = [COLOURS[f"c{index % 6 + 1}"] for index in range(len(lines))]
        for colour, values in zip(colours, lines.values(), strict=True):
            axes.plot([*values], [*values.values()], "o-", ms=4, color=colour, clip_on=False)
        ends = []
        for method, values in lines.items():
            texts = (f"{size:,} papers: {value:,.4g}" for size, value in values.items())
            ends.append(Point(*[*values.items()][-1], method, f"{method}, {'; '.join(texts)}"))
        descriptions = draw_numbered_marks(figure, axes, ends, numbers, colours)
        plots.append(Plot(title, render_svg(figure, title, descriptions)))
    return plots


def compute_means(
    results: Sequence[GraphResult], measure: Callable[[GraphResult], float]
) -> Mapping[str, Mapping[int, float]]:
    """Return the mean for each method at each size."""
    ordered = sorted(results, key=lambda result: result.size)
    groups = group_by(ordered, lambda result: result.method)
    return {
        method: {
            size: fmean(map(measure, group))
            for size, group in group_by(groups[method], lambda result: result.size).items()
        }
        for method in sort_methods(groups)
    }


# ── axes and marks ───────────────────────────────────────────────────────────────────────────────


def make_axes(x_label: str, y_label: str, height: float = 3.7) -> tuple[Figure, Axes]:
    """Return an empty plot, 5 inches wide: 360 units."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(5, height), layout="constrained")
        axes = figure.add_subplot()
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
    return figure, axes


def find_log_ends(values: Iterable[float]) -> tuple[float, float]:
    """Return the round numbers (1, 2 or 5 times a power of ten) that enclose positive values."""
    positive = [value for value in values if value > 0] or [1.0]
    low, high = 1 / round_up(1 / min(positive)), round_up(max(positive))
    return low, (high if high > low else 10 * low)


def round_up(value: float) -> float:
    """Return the smallest number not below `value` that is 1, 2 or 5 times a power of ten."""
    size = 10.0 ** math.floor(math.log10(value))
    return next(size * step for step in (1, 2, 5, 10) if size * step >= value * (1 - 1e-9))


def set_log_scale(axes: Axes, name: str, ends: tuple[float, float]) -> None:
    """Make an axis logarithmic between round numbers, with labels such as 500, 20k and 1M."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

    axes.set(**{f"{name}scale": "log", f"{name}lim": ends})
    axis = axes.xaxis if name == "x" else axes.yaxis
    steps = (1, 2, 5) if math.log10(ends[1] / ends[0]) < 2.5 else (1,)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(EngFormatter(sep=""))


def set_rate_scale(axes: Axes) -> None:
    """Make the vertical axis go from 0 to 100 %."""
    from matplotlib.ticker import PercentFormatter

    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1))


MARK_RADIUS = 8.5
Place = tuple[float, float]
"""A position in points, from the lower left corner of the drawing."""


def draw_numbered_marks(
    figure: Figure,
    axes: Axes,
    points: Sequence[Point],
    numbers: MethodNumbers,
    colours: Sequence[str],
) -> list[str]:
    """Draw a numbered circle per point, moved aside if covering another; return the descriptions.

    A line connects a moved circle to its point.
    """
    figure.draw_without_rendering()
    scale = figure.dpi / 72
    to_pixels, to_data = axes.transData, axes.transData.inverted()
    corners = [(x / scale, y / scale) for x, y in axes.transAxes.transform([(0, 0), (1, 1)])]
    order = sorted(range(len(points)), key=lambda index: (-points[index].y, points[index].x))
    places: list[Place] = []
    ends: list[Place] = []
    for point in (points[index] for index in order):
        x, y = to_pixels.transform((point.x, point.y)) / scale
        places.append(find_free_place((x, y), places, *corners))
        end = to_data.transform([part * scale for part in places[-1]])
        ends.append((end[0], end[1]))
        if math.dist((x, y), places[-1]) > 1:
            axes.plot([point.x, end[0]], [point.y, end[1]], color=COLOURS["soft"], lw=0.8)
            axes.plot(point.x, point.y, ".", ms=5, color=COLOURS["soft"])
    axes.scatter(
        [x for x, _ in ends],
        [y for _, y in ends],
        s=(2 * MARK_RADIUS) ** 2,
        c=[colours[index] for index in order],
        edgecolors=COLOURS["ground"],
        zorder=3,
        gid="marks",
        clip_on=False,
    )
    for index, (x, y) in zip(order, ends, strict=True):
        number = numbers[points[index].method]
        axes.text(
            x, y, number, color=COLOURS["ground"], weight="bold", ha="center", va="center_baseline"
        )
    return [points[index].description for index in order]


def find_free_place(place: Place, taken: Sequence[Place], low: Place, high: Place) -> Place:
    """Return the place nearest to `place`, between two corners, that lets a mark cover no other."""
    for distance in range(0, 200, 2):
        for step in range(16):
            x = place[0] + distance * math.cos(step * math.pi / 8)
            y = place[1] + distance * math.sin(step * math.pi / 8)
            is_inside = low[0] <= x <= high[0] and low[1] <= y <= high[1]
            if is_inside and all(math.dist((x, y), other) >= 2 * MARK_RADIUS for other in taken):
                return x, y
    return place


# ── SVG ──────────────────────────────────────────────────────────────────────────────────────────


def render_svg(figure: Figure, description: str, mark_descriptions: Sequence[str] = ()) -> str:
    """Return a figure in the colours of the page."""
    return svg.render_svg(figure, description, COLOURS, STYLE, mark_descriptions)
