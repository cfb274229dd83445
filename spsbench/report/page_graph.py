"""Plots of the growing graph: what a question takes as the object grows that the prompt works on.

    graph_plots(asked, numbers)    accuracy, tokens and seconds against the papers in the graph, a line a method

What was too long to be sent counts as wrong, and has no tokens and no seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean

from spsbench.report.page_drawing import (
    BOTTOM,
    SHARES,
    TOP,
    Axis,
    Frame,
    Mark,
    drawing,
    log_axis,
    numbered,
    spot,
)
from spsbench.report.page_plots import Numbers, Panel
from spsbench.report.tables import in_order
from spsbench.studies.graph_results import Asked

Value = Callable[[Asked], float]


def graph_plots(asked: Sequence[Asked], numbers: Numbers) -> list[Panel]:
    """The three drawings."""
    sent = [each for each in asked if each.ending != "too long"]
    sizes = log_axis("papers in the graph", (float(each.asking.size) for each in asked))
    shown: tuple[tuple[str, Sequence[Asked], Value, Axis], ...] = (
        ("Answered rightly", asked, lambda each: float(each.passed), SHARES),
        ("Tokens", sent, tokens, log_axis("tokens a question", map(tokens, sent))),
        ("Seconds", sent, seconds, log_axis("seconds a question", map(seconds, sent))),
    )
    return [
        (title, drawing(frame, graph_marks(frame, means(some, value), numbers), title))
        for title, some, value, axis in shown
        for frame in [Frame(sizes, axis)]
    ]


def tokens(asked: Asked) -> float:
    """Tokens in and out."""
    return float(asked.measures.input_tokens + asked.measures.output_tokens)


def seconds(asked: Asked) -> float:
    """Wall time."""
    return asked.measures.seconds


def means(asked: Sequence[Asked], value: Value) -> Mapping[str, Mapping[int, float]]:
    """The mean of each method at each size, over questions and repeats."""
    found: dict[str, dict[int, list[float]]] = {}
    for each in sorted(asked, key=lambda one: one.asking.size):
        sizes = found.setdefault(each.asking.method, {})
        sizes.setdefault(each.asking.size, []).append(value(each))
    return {
        method: {size: fmean(values) for size, values in found[method].items()}
        for method in in_order(found)
    }


def graph_marks(
    frame: Frame, lines: Mapping[str, Mapping[int, float]], numbers: Numbers
) -> Iterator[str]:
    """A line for each method, with its number at the end."""
    ends = []
    for index, (method, values) in enumerate(lines.items(), 1):
        points = [(frame.left(size), frame.top(value)) for size, value in values.items()]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline class="line c{index}" points="{path}"/>'
        for (x, y), (size, value) in zip(points, values.items(), strict=True):
            yield spot(x, y, f"c{index}", f"{method}, {size:,} papers: {value:,.4g}")
        ends.append(Mark(*points[-1], numbers[method], method, f"ours c{index}"))
    yield from numbered(ends, TOP, frame.height - BOTTOM)
