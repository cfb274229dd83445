"""The plots of the page, each from the rows that the tables show.

render_rate_plots(rows, ...)    a numbered mark for each method; the paper's in drawings of their own
render_effect_plots(rows)       a spot for each trial
render_token_bars(rows)              bars: tokens in, cached, out, and for building
render_program_map(rows)                   a cell for each program and method
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from spsbench.published import METHOD_BY_PAPER_NAME, PublishedTable
from spsbench.report.measures import MethodSummary
from spsbench.report.page_drawing import (
    BOTTOM_MARGIN,
    PASS_RATE_AXIS,
    PLOT_WIDTH,
    TOP_MARGIN,
    NumberedMark,
    PlotArea,
    escape_html,
    make_linear_axis,
    make_log_axis,
    render_dot,
    render_numbered_marks,
    render_plot,
    render_svg,
    render_svg_text,
)
from spsbench.report.tables import has_effects, parse_published_cell, sort_methods

MethodNumbers = Mapping[str, str]
"""The number by which a method is marked in the drawings."""

Panel = tuple[str, str]
"""What a drawing shows, and the drawing."""


def number_methods(methods: Iterable[str]) -> MethodNumbers:
    """Number the methods in the order of the tables."""
    return {method: str(number) for number, method in enumerate(sort_methods(methods), 1)}


def render_rate_plots(
    rows: Sequence[MethodSummary], published: PublishedTable, numbers: MethodNumbers
) -> list[Panel]:
    """How good against how long: a drawing for each model, ours first, all on the same axes."""
    panels: dict[str, list[tuple[str, float, float, str]]] = {}
    for row in rows:
        point = (row.method, row.seconds.mean, row.rate.mean, "ours")
        panels.setdefault(f"measured: {row.setting}", []).append(point)
    for cells in published.rows:
        by_column = dict(zip(published.columns, cells, strict=True))
        rate, seconds = (
            parse_published_cell(by_column["pass rate"]).mean,
            parse_published_cell(by_column["total s"]).mean,
        )
        assert rate is not None
        assert seconds is not None
        point = (METHOD_BY_PAPER_NAME[by_column["method"]], seconds, rate, "theirs")
        panels.setdefault(f"paper: {by_column['model']}", []).append(point)
    axis = make_log_axis(
        "seconds a program", (seconds for points in panels.values() for _, seconds, _, _ in points)
    )
    frame = PlotArea(axis, PASS_RATE_AXIS)
    return [
        (
            title,
            render_plot(
                frame, render_rate_marks(frame, points, numbers), f"{title}: pass rate, seconds"
            ),
        )
        for title, points in panels.items()
    ]


def render_rate_marks(
    frame: PlotArea, points: Iterable[tuple[str, float, float, str]], numbers: MethodNumbers
) -> list[str]:
    """The marks of one drawing."""
    marks = [
        NumberedMark(
            frame.left(seconds),
            frame.to_y(rate),
            numbers[method],
            f"{method}: {rate:.0%} in {seconds:.1f} s",
            kind,
        )
        for method, seconds, rate, kind in points
    ]
    return list(render_numbered_marks(marks, TOP_MARGIN, frame.height - BOTTOM_MARGIN))


def render_effect_plots(rows: Sequence[MethodSummary]) -> list[Panel]:
    """Every trial by its effects and its seconds: a drawing for each method that has effects."""
    shown = [row for row in rows if has_effects(row.method) and row.effects.high > 0]
    effects = make_linear_axis("effects", [row.effects.high for row in shown])
    seconds = make_linear_axis("seconds", [row.run_seconds.high for row in shown])
    frame = PlotArea(effects, seconds, height=220)
    return [
        (format_effects_title(row), render_plot(frame, render_trial_dots(frame, row), row.method))
        for row in shown
    ]


def format_effects_title(row: MethodSummary) -> str:
    """The method, and what an effect takes."""
    each = [result.run_seconds / result.effects for result in row.results if result.effects]
    return f"{row.method}: {median(each):.1f} s an effect"


def render_trial_dots(frame: PlotArea, row: MethodSummary) -> list[str]:
    """A spot for each trial; those that passed all checks are filled."""
    return [
        render_dot(
            frame.left(result.effects),
            frame.to_y(result.run_seconds),
            "passed" if result.share == 1 else "failed",
            f"{result.trial.program}, repeat {result.trial.repeat}: {result.effects} effects, "
            f"{result.run_seconds:.1f} s, {result.share:.0%} of the checks",
        )
        for result in row.results
    ]


BAR_STEP, BAR_MARGIN = 40, 4
TOKEN_KINDS = {
    "in": "in",
    "cached": "in, cached by the vendor",
    "out": "out",
    "build": "building, once",
}
"""The parts of a bar, by their class in the page's style."""


def render_token_bars(rows: Sequence[MethodSummary]) -> str:
    """Bars of tokens, with dollars where the price is known."""
    most = max((row.tokens for row in rows), default=0.0) or 1.0
    parts: list[str] = []
    for index, row in enumerate(rows):
        top, left = index * BAR_STEP + 4, float(BAR_MARGIN)
        price = "" if row.cost is None else f" · ${row.cost.mean:.4f}"
        parts.append(render_svg_text(BAR_MARGIN, top + 11, row.method))
        parts.append(render_svg_text(PLOT_WIDTH - 4, top + 11, f"{row.tokens:,.0f}{price}", "end"))
        amounts = (
            ("in", row.input_tokens.mean - row.cached_tokens.mean),
            ("cached", row.cached_tokens.mean),
            ("out", row.output_tokens.mean),
            ("build", row.build_tokens.mean),
        )
        for kind, amount in amounts:
            width = amount / most * (PLOT_WIDTH - 2 * BAR_MARGIN)
            if amount:
                parts.append(
                    f'<rect class="{kind}" x="{left:.1f}" y="{top + 16}" width="{width:.1f}" height="12">'
                    f"<title>{escape_html(row.method)}, {kind}: {amount:,.0f}</title></rect>"
                )
            left += width
    return render_svg(len(rows) * BAR_STEP + 4, parts, "tokens a program, by method")


CELL_HEIGHT, HEADER_HEIGHT, LABEL_WIDTH = 16, 22, 128


def render_program_map(
    rows: Sequence[MethodSummary], programs: Sequence[str], numbers: MethodNumbers
) -> str:
    """How many of a program's checks hold, in percent: programs down, methods across."""
    width = min((PLOT_WIDTH - LABEL_WIDTH) / max(len(rows), 1), 40.0)
    parts = [
        render_svg_text(
            LABEL_WIDTH + (column + 0.5) * width, 14, numbers[row.method], "middle", "title"
        )
        for column, row in enumerate(rows)
    ]
    for line, program in enumerate(programs):
        top = HEADER_HEIGHT + line * CELL_HEIGHT
        parts.append(render_svg_text(LABEL_WIDTH - 6, top + 12, program, "end", "tick"))
        for column, row in enumerate(rows):
            share = row.by_program.get(program)
            parts.append(
                render_map_cell(
                    LABEL_WIDTH + column * width, top, width, share, f"{program}, {row.method}"
                )
            )
    return render_svg(
        HEADER_HEIGHT + len(programs) * CELL_HEIGHT + 4, parts, "pass rate by program and method"
    )


def render_map_cell(left: float, top: float, width: float, share: float | None, title: str) -> str:
    """One cell; without a number where nothing was run."""
    place = f'x="{left:.1f}" y="{top}" width="{width - 1:.1f}" height="{CELL_HEIGHT - 1}"'
    if share is None:
        return f'<rect class="missing" {place}><title>{escape_html(title)}: not run</title></rect>'
    level = round(share * 4)
    return (
        f'<g class="level{level}"><title>{escape_html(title)}: {share:.0%}</title><rect {place}/>'
        f"{render_svg_text(left + (width - 1) / 2, top + 11.5, f'{100 * share:.0f}', 'middle', 'cell')}</g>"
    )
