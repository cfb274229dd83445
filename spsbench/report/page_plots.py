"""The plots of the page, each from the rows that the tables show.

rates_against_seconds(rows, ...)    a numbered mark for each method; the paper's in drawings of their own
effects_against_seconds(rows)       a spot for each trial
tokens_by_method(rows)              bars: tokens in, cached, out, and for building
program_map(rows)                   a cell for each program and method
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from spsbench.published import OURS, Published
from spsbench.report.measures import Measured
from spsbench.report.page_drawing import (
    BOTTOM,
    SHARES,
    TOP,
    WIDTH,
    Frame,
    Mark,
    drawing,
    escaped,
    linear_axis,
    log_axis,
    numbered,
    spot,
    svg,
    text,
)
from spsbench.report.tables import has_effects, in_order, quoted

Numbers = Mapping[str, str]
"""The number by which a method is marked in the drawings."""

Panel = tuple[str, str]
"""What a drawing shows, and the drawing."""


def numbers_of(methods: Iterable[str]) -> Numbers:
    """Number the methods in the order of the tables."""
    return {method: str(number) for number, method in enumerate(in_order(methods), 1)}


def rates_against_seconds(
    rows: Sequence[Measured], published: Published, numbers: Numbers
) -> list[Panel]:
    """How good against how long: a drawing for each model, ours first, all on the same axes."""
    panels: dict[str, list[tuple[str, float, float, str]]] = {}
    for row in rows:
        point = (row.method, row.seconds.mean, row.rate.mean, "ours")
        panels.setdefault(f"measured: {row.setting}", []).append(point)
    for cells in published.rows:
        by_column = dict(zip(published.columns, cells, strict=True))
        rate, seconds = quoted(by_column["pass rate"]).mean, quoted(by_column["total s"]).mean
        assert rate is not None
        assert seconds is not None
        point = (OURS[by_column["method"]], seconds, rate, "theirs")
        panels.setdefault(f"paper: {by_column['model']}", []).append(point)
    axis = log_axis(
        "seconds a program", (seconds for points in panels.values() for _, seconds, _, _ in points)
    )
    frame = Frame(axis, SHARES)
    return [
        (title, drawing(frame, rate_marks(frame, points, numbers), f"{title}: pass rate, seconds"))
        for title, points in panels.items()
    ]


def rate_marks(
    frame: Frame, points: Iterable[tuple[str, float, float, str]], numbers: Numbers
) -> list[str]:
    """The marks of one drawing."""
    marks = [
        Mark(
            frame.left(seconds),
            frame.top(rate),
            numbers[method],
            f"{method}: {rate:.0%} in {seconds:.1f} s",
            kind,
        )
        for method, seconds, rate, kind in points
    ]
    return list(numbered(marks, TOP, frame.height - BOTTOM))


def effects_against_seconds(rows: Sequence[Measured]) -> list[Panel]:
    """Every trial by its effects and its seconds: a drawing for each method that has effects."""
    shown = [row for row in rows if has_effects(row.method) and row.effects.high > 0]
    effects = linear_axis("effects", [row.effects.high for row in shown])
    seconds = linear_axis("seconds", [row.run_seconds.high for row in shown])
    frame = Frame(effects, seconds, height=220)
    return [
        (effects_title(row), drawing(frame, trial_spots(frame, row), row.method)) for row in shown
    ]


def effects_title(row: Measured) -> str:
    """The method, and what an effect takes."""
    each = [result.run_seconds / result.effects for result in row.results if result.effects]
    return f"{row.method}: {median(each):.1f} s an effect"


def trial_spots(frame: Frame, row: Measured) -> list[str]:
    """A spot for each trial; those that passed all checks are filled."""
    return [
        spot(
            frame.left(result.effects),
            frame.top(result.run_seconds),
            "passed" if result.share == 1 else "failed",
            f"{result.trial.program}, repeat {result.trial.repeat}: {result.effects} effects, "
            f"{result.run_seconds:.1f} s, {result.share:.0%} of the checks",
        )
        for result in row.results
    ]


STEP, NAMES = 40, 4
KINDS = {"in": "in", "cached": "in, cached by the vendor", "out": "out", "build": "building, once"}
"""The parts of a bar, by their class in the page's style."""


def tokens_by_method(rows: Sequence[Measured]) -> str:
    """Bars of tokens, with dollars where the price is known."""
    most = max((row.tokens for row in rows), default=0.0) or 1.0
    parts: list[str] = []
    for index, row in enumerate(rows):
        top, left = index * STEP + 4, float(NAMES)
        price = "" if row.cost is None else f" · ${row.cost.mean:.4f}"
        parts.append(text(NAMES, top + 11, row.method))
        parts.append(text(WIDTH - 4, top + 11, f"{row.tokens:,.0f}{price}", "end"))
        amounts = (
            ("in", row.input_tokens.mean - row.cached_tokens.mean),
            ("cached", row.cached_tokens.mean),
            ("out", row.output_tokens.mean),
            ("build", row.build_tokens.mean),
        )
        for kind, amount in amounts:
            width = amount / most * (WIDTH - 2 * NAMES)
            if amount:
                parts.append(
                    f'<rect class="{kind}" x="{left:.1f}" y="{top + 16}" width="{width:.1f}" height="12">'
                    f"<title>{escaped(row.method)}, {kind}: {amount:,.0f}</title></rect>"
                )
            left += width
    return svg(len(rows) * STEP + 4, parts, "tokens a program, by method")


CELL, HEAD, LABEL = 16, 22, 128


def program_map(rows: Sequence[Measured], programs: Sequence[str], numbers: Numbers) -> str:
    """How many of a program's checks hold, in percent: programs down, methods across."""
    width = min((WIDTH - LABEL) / max(len(rows), 1), 40.0)
    parts = [
        text(LABEL + (column + 0.5) * width, 14, numbers[row.method], "middle", "title")
        for column, row in enumerate(rows)
    ]
    for line, program in enumerate(programs):
        top = HEAD + line * CELL
        parts.append(text(LABEL - 6, top + 12, program, "end", "tick"))
        for column, row in enumerate(rows):
            share = row.by_program.get(program)
            parts.append(
                map_cell(LABEL + column * width, top, width, share, f"{program}, {row.method}")
            )
    return svg(HEAD + len(programs) * CELL + 4, parts, "pass rate by program and method")


def map_cell(left: float, top: float, width: float, share: float | None, title: str) -> str:
    """One cell; without a number where nothing was run."""
    place = f'x="{left:.1f}" y="{top}" width="{width - 1:.1f}" height="{CELL - 1}"'
    if share is None:
        return f'<rect class="missing" {place}><title>{escaped(title)}: not run</title></rect>'
    level = round(share * 4)
    return (
        f'<g class="level{level}"><title>{escaped(title)}: {share:.0%}</title><rect {place}/>'
        f"{text(left + (width - 1) / 2, top + 11.5, f'{100 * share:.0f}', 'middle', 'cell')}</g>"
    )
