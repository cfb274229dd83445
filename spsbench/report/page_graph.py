"""Plots of the growing graph: what a question takes as the object grows that the prompt works on.

    render_graph_plots(asked, numbers)    accuracy, tokens and seconds against the papers in the graph, a line a method

What was too long to be sent counts as wrong, and has no tokens and no seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean

from spsbench.report.page_drawing import (
    BOTTOM_MARGIN,
    PASS_RATE_AXIS,
    TOP_MARGIN,
    Axis,
    NumberedMark,
    PlotArea,
    make_log_axis,
    render_dot,
    render_numbered_marks,
    render_plot,
)
from spsbench.report.page_plots import MethodNumbers, Panel
from spsbench.report.tables import sort_methods
from spsbench.results import GraphResult

QuestionMeasure = Callable[[GraphResult], float]


def render_graph_plots(asked: Sequence[GraphResult], numbers: MethodNumbers) -> list[Panel]:
    """The three drawings."""
    sent = [each for each in asked if each.ending != "too long"]
    sizes = make_log_axis("papers in the graph", (float(each.size) for each in asked))
    shown: tuple[tuple[str, Sequence[GraphResult], QuestionMeasure, Axis], ...] = (
        ("Answered rightly", asked, lambda each: float(each.passed), PASS_RATE_AXIS),
        (
            "Tokens",
            sent,
            sum_question_tokens,
            make_log_axis("tokens a question", map(sum_question_tokens, sent)),
        ),
        (
            "Seconds",
            sent,
            get_question_seconds,
            make_log_axis("seconds a question", map(get_question_seconds, sent)),
        ),
    )
    return [
        (
            title,
            render_plot(
                frame, render_graph_lines(frame, compute_means(some, value), numbers), title
            ),
        )
        for title, some, value, axis in shown
        for frame in [PlotArea(sizes, axis)]
    ]


def sum_question_tokens(asked: GraphResult) -> float:
    """Tokens in and out."""
    return float(asked.input_tokens + asked.output_tokens)


def get_question_seconds(asked: GraphResult) -> float:
    """Wall time."""
    return asked.seconds


def compute_means(
    asked: Sequence[GraphResult], value: QuestionMeasure
) -> Mapping[str, Mapping[int, float]]:
    """The mean of each method at each size, over questions and repeats."""
    found: dict[str, dict[int, list[float]]] = {}
    for each in sorted(asked, key=lambda one: one.size):
        sizes = found.setdefault(each.method, {})
        sizes.setdefault(each.size, []).append(value(each))
    return {
        method: {size: fmean(values) for size, values in found[method].items()}
        for method in sort_methods(found)
    }


def render_graph_lines(
    frame: PlotArea, lines: Mapping[str, Mapping[int, float]], numbers: MethodNumbers
) -> Iterator[str]:
    """A line for each method, with its number at the end."""
    ends = []
    for index, (method, values) in enumerate(lines.items(), 1):
        points = [(frame.left(size), frame.to_y(value)) for size, value in values.items()]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline class="line c{index}" points="{path}"/>'
        for (x, y), (size, value) in zip(points, values.items(), strict=True):
            yield render_dot(x, y, f"c{index}", f"{method}, {size:,} papers: {value:,.4g}")
        ends.append(NumberedMark(*points[-1], numbers[method], method, f"ours c{index}"))
    yield from render_numbered_marks(ends, TOP_MARGIN, frame.height - BOTTOM_MARGIN)
