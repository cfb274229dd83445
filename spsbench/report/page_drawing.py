"""What the plots are drawn with: axes, marks and words as inline SVG.

    frame = Frame(Axis("seconds", 1, 100, is_log=True), Axis("pass rate", 0, 1))
    drawing(frame, [dot(frame, 8.1, 0.71, "4", title="direct")])    -> "<svg ...>"

A drawing is 360 units wide, which is a phone; in a wider window several stand side by side. Colours are
classes of the page's style, so that they follow light and dark.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

PLOT_WIDTH = 360
LEFT_MARGIN, RIGHT_MARGIN, TOP_MARGIN, BOTTOM_MARGIN = 46, 16, 12, 40


@dataclass(frozen=True, slots=True)
class Axis:
    """What is along one side of a plot, and from where to where."""

    title: str
    low: float
    high: float
    is_log: bool = False
    is_share: bool = False

    def at(self, value: float) -> float:
        """Where a value lies, from 0 to 1."""
        low, high = self.low, self.high
        if self.is_log:
            low, high, value = math.log(low), math.log(high), math.log(max(value, self.low))
        return (value - low) / (high - low)

    def list_ticks(self) -> Iterator[float]:
        """The values that have a mark."""
        if self.is_log:
            decades = math.log10(self.high / self.low)
            steps = (1, 2, 5) if decades < 2.5 else (1,)
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            every = 1 if decades < 7 else 2
            values = (step * 10.0**power for power in powers[::every] for step in steps)
            yield from (each for each in values if self.low * 0.99 < each < self.high * 1.01)
        else:
            step = round_up((self.high - self.low) / 4)
            count = math.floor((self.high - self.low) / step + 1e-9)
            yield from (self.low + step * index for index in range(count + 1))

    def words(self, value: float) -> str:
        """A value as it stands at the axis."""
        if self.is_share:
            return f"{value:.0%}"
        if value >= 1e6:
            return f"{value / 1e6:g}M"
        return f"{value / 1e3:g}k" if value >= 1e3 else f"{value:g}"


def round_up(step: float) -> float:
    """A round number not below `step`: 1, 2 or 5 with noughts."""
    size: float = 10.0 ** math.floor(math.log10(step))
    return next(size * each for each in (1, 2, 5, 10) if size * each >= step * (1 - 1e-9))


def make_log_axis(title: str, values: Iterable[float]) -> Axis:
    """A logarithmic axis around these values, from one round number to another."""
    positive = [value for value in values if value > 0] or [1.0]
    low, high = 1 / round_up(1 / min(positive)), round_up(max(positive))
    return Axis(title, low, high if high > low else 10 * low, is_log=True)


def make_linear_axis(title: str, values: Iterable[float]) -> Axis:
    """An axis from zero to a round number beyond these values."""
    most = max(values, default=0.0) or 1.0
    step = round_up(most / 4)
    return Axis(title, 0.0, step * math.ceil(most / step))


PASS_RATE_AXIS = Axis("pass rate", 0.0, 1.0, is_share=True)


@dataclass(frozen=True, slots=True)
class PlotArea:
    """Two axes and the room between them."""

    x: Axis
    y: Axis
    height: int = 260

    def left(self, value: float) -> float:
        """The place of a value along the horizontal axis."""
        return LEFT_MARGIN + self.x.at(value) * (PLOT_WIDTH - LEFT_MARGIN - RIGHT_MARGIN)

    def to_y(self, value: float) -> float:
        """The place of a value along the vertical axis."""
        return (
            self.height
            - BOTTOM_MARGIN
            - self.y.at(value) * (self.height - BOTTOM_MARGIN - TOP_MARGIN)
        )


def escape_html(text: str) -> str:
    """Text for HTML and SVG."""
    return html.escape(text)


def render_svg(height: float, parts: Iterable[str], said: str) -> str:
    """A drawing; `said` is what it shows, for those who do not see it."""
    return (
        f'<svg viewBox="0 0 {PLOT_WIDTH} {height:.0f}" role="img" aria-label="{escape_html(said)}">'
        f"{''.join(parts)}</svg>"
    )


def render_plot(frame: PlotArea, marks: Iterable[str], said: str) -> str:
    """Marks within their axes."""
    return render_svg(frame.height, [*render_axes(frame), *marks], said)


def render_axes(frame: PlotArea) -> Iterator[str]:
    """The lines, numbers and titles of both axes."""
    bottom, right = frame.height - BOTTOM_MARGIN, PLOT_WIDTH - RIGHT_MARGIN
    for value in frame.x.list_ticks():
        x = frame.left(value)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP_MARGIN}" y2="{bottom}"/>'
        yield render_svg_text(x, bottom + 14, frame.x.words(value), "middle", "tick")
    for value in frame.y.list_ticks():
        y = frame.to_y(value)
        yield f'<line class="grid" x1="{LEFT_MARGIN}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield render_svg_text(LEFT_MARGIN - 5, y + 4, frame.y.words(value), "end", "tick")
    yield render_svg_text(
        (LEFT_MARGIN + right) / 2, frame.height - 8, frame.x.title, "middle", "title"
    )
    middle = (TOP_MARGIN + bottom) / 2
    yield (
        f'<text class="title" text-anchor="middle" transform="translate(11 {middle:.0f}) rotate(-90)">'
        f"{escape_html(frame.y.title)}</text>"
    )


def render_svg_text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    """Words in a drawing."""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f"<text {place}{f' class={chr(34)}{kind}{chr(34)}' if kind else ''}>{escape_html(words)}</text>"


def render_dot(x: float, y: float, kind: str, title: str, radius: float = 3) -> str:
    """A small mark with what it is, for a pointer that rests on it."""
    return (
        f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}">'
        f"<title>{escape_html(title)}</title></circle>"
    )


@dataclass(frozen=True, slots=True)
class NumberedMark:
    """A numbered mark: where it is, its number, what it is."""

    x: float
    y: float
    number: str
    title: str
    kind: str
    """A class of the page's style."""


MARK_RADIUS = 8.5


def render_numbered_marks(marks: Sequence[NumberedMark], low: float, high: float) -> Iterator[str]:
    """Marks with a number each, moved up or down where they would cover one another.

    A line leads from where a mark had to go to where it belongs.
    """
    taken: list[tuple[float, float]] = []
    for mark in sorted(marks, key=lambda each: (each.y, each.x)):
        y = find_free_height(mark.x, mark.y, taken, low, high)
        taken.append((mark.x, y))
        if abs(y - mark.y) > 1:
            yield f'<line class="lead" x1="{mark.x:.1f}" x2="{mark.x:.1f}" y1="{mark.y:.1f}" y2="{y:.1f}"/>'
            yield render_dot(mark.x, mark.y, "origin", mark.title, 2)
        yield (
            f'<g class="{mark.kind}"><title>{escape_html(mark.title)}</title>'
            f'<circle cx="{mark.x:.1f}" cy="{y:.1f}" r="{MARK_RADIUS}"/>'
            f"{render_svg_text(mark.x, y + 3.5, mark.number, 'middle')}</g>"
        )


def find_free_height(
    x: float, y: float, taken: Sequence[tuple[float, float]], low: float, high: float
) -> float:
    """The height nearest to `y`, between `low` and `high`, at which a mark covers no other."""

    def is_free(height: float) -> bool:
        return all(
            math.hypot(x - other, height - level) >= 2 * MARK_RADIUS for other, level in taken
        )

    steps = (sign * step for step in range(0, 200, 2) for sign in (-1, 1))
    places = (y + step for step in steps)
    return next((place for place in places if low <= place <= high and is_free(place)), y)
