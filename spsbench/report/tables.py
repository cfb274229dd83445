"""The paper's tables with our rows beside theirs, as data, before they are text, Markdown, CSV or a page.

    suite_table(PUBLISHED[4], rows of Measured)
        | source   | model        | method             | pass rate   | run s           | ... | trials    |
        | paper    | GPT-4.1      | Nightjar           | 0.78 ± 0.03 | 19.6 (3.0-72.1) | ... |           |
        | measured | openai/local | nightjar           | 0.52 ± 0.02 | 31.2 (4.1-96.0) | ... | 75 trials |

Rows stand together by method, so that each number of ours is next to the paper's. Numbers of the paper are
quoted as printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from spsbench.methods import METHODS
from spsbench.published import OURS, Published
from spsbench.report.measures import Measured, Rate, Spread, coverage_text

Source = Literal["paper", "measured", "both"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A text, with its numbers where it has some: a mean, and a standard deviation or a range."""

    text: str
    mean: float | None = None
    sd: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table, a cell for each column."""

    source: Source
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table. The first `labels` columns say what a row is, the others hold what was measured."""

    name: str
    title: str
    columns: tuple[str, ...]
    labels: int
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


NOTHING = Cell("-")
UNMEASURED = "Nothing of this has been measured here."


def rate_cell(rate: Rate) -> Cell:
    """A pass rate as the paper writes it; without a deviation where there is none to tell."""
    text = f"{rate.mean:.2f}" if rate.sd is None else f"{rate.mean:.2f} ± {rate.sd:.2f}"
    return Cell(text, rate.mean, sd=rate.sd)


def interval_cell(rate: Rate, trials: int) -> Cell:
    """The interval of a pass rate; a single trial has none."""
    if trials < 2:
        return NOTHING
    return Cell(f"{rate.low:.2f}-{rate.high:.2f}", low=rate.low, high=rate.high)


def spread_cell(spread: Spread, digits: int = 1, range_digits: int | None = None) -> Cell:
    """A mean with its range."""
    ends = digits if range_digits is None else range_digits
    text = f"{spread.mean:,.{digits}f} ({spread.low:,.{ends}f}-{spread.high:,.{ends}f})"
    return Cell(text, spread.mean, low=spread.low, high=spread.high)


def count_cell(count: int, total: int) -> Cell:
    """A count with its share, as the paper writes it."""
    return Cell(f"{count} ({count / total:.1%})" if total else "0", float(count))


def quoted(text: str) -> Cell:
    """A cell of the paper, with the numbers that are printed in it."""
    found = re.fullmatch(r"([\d.]+)(?: ± ([\d.]+))?(?: \(([\d.]+)-([\d.]+)\)| \([\d.]+%\))?", text)
    if found is None:
        return Cell(text)
    return Cell(text, *(None if part is None else float(part) for part in found.groups()))


def in_order(methods: Iterable[str]) -> list[str]:
    """Methods in the order of the tables; those that no table knows come last."""
    known = list(METHODS)
    return sorted(
        set(methods), key=lambda name: (known.index(name) if name in known else len(known), name)
    )


SUITE: Mapping[str, Callable[[Measured], Cell]] = {
    "source": lambda row: Cell("measured"),
    "model": lambda row: Cell(str(row.setting)),
    "method": lambda row: Cell(row.method),
    "pass rate": lambda row: rate_cell(row.rate),
    "95 % interval": lambda row: interval_cell(row.rate, row.coverage.trials),
    "seconds": lambda row: spread_cell(row.seconds),
    "run s": lambda row: spread_cell(row.run_seconds),
    "build s": lambda row: spread_cell(row.build_seconds) if is_compiled(row.method) else NOTHING,
    "total s": lambda row: spread_cell(row.seconds),
    "effects": lambda row: (
        spread_cell(row.effects, range_digits=0) if has_effects(row.method) else NOTHING
    ),
    "calls": lambda row: spread_cell(row.calls, range_digits=0),
    "build calls": lambda row: spread_cell(row.build_calls, range_digits=0),
    "tokens in": lambda row: spread_cell(row.input_tokens, 0),
    "of them cached": lambda row: spread_cell(row.cached_tokens, 0),
    "tokens out": lambda row: spread_cell(row.output_tokens, 0),
    "build tokens": lambda row: spread_cell(row.build_tokens, 0),
    "tokens": lambda row: Cell(f"{row.tokens:,.0f}", row.tokens),
    "USD": lambda row: (
        Cell("no price")
        if row.cost is None
        else Cell(f"{row.cost.mean:.4f}", row.cost.mean, low=row.cost.low, high=row.cost.high)
    ),
    "trials": lambda row: Cell(coverage_text(row.coverage)),
}
"""What each column of a table of methods says of a measured row."""


def is_compiled(method: str) -> bool:
    """Whether the method has a program that njc compiles."""
    return method not in METHODS or METHODS[method].file == "natural.njpy"


def has_effects(method: str) -> bool:
    """Whether the paper counts effects, or uses of an interpreter, for this method."""
    return method not in METHODS or (
        METHODS[method].has_interpreter
        or (METHODS[method].file == "natural.njpy" and METHODS[method].mode in ("live", "auto"))
    )


def suite_table(published: Published, rows: Sequence[Measured], notes: Sequence[str] = ()) -> Table:
    """A table of methods: the paper's rows, and ours of the same methods after each."""
    columns = ("source", *published.columns, "95 % interval", "trials")
    both = [
        (OURS[cells[1]], Row("paper", tuple(map(quoted, ("paper", *cells, "", "")))))
        for cells in published.rows
    ] + [(row.method, measured_row(row, columns)) for row in rows]
    return Table(
        f"Table {published.number}",
        published.title,
        columns,
        3,
        tuple(
            row
            for method in in_order(name for name, _ in both)
            for name, row in both
            if name == method
        ),
        (*filter(None, [published.note]), *notes, *(() if rows else (UNMEASURED,))),
    )


def measured_row(row: Measured, columns: Iterable[str]) -> Row:
    """What was measured of a method, in these columns."""
    return Row("measured", tuple(SUITE[column](row) for column in columns))


GLANCE = ("method", "pass rate", "95 % interval", "total s", "tokens", "USD", "trials")
EVERYTHING = (
    *("model", "method", "pass rate", "95 % interval", "run s", "build s", "effects", "calls"),
    *("build calls", "tokens in", "of them cached", "tokens out", "build tokens", "USD", "trials"),
)


def glance(setting: str, rows: Sequence[Measured]) -> Table:
    """What a reader in a hurry wants of one model: how good, how long, how dear."""
    return Table(
        "At a glance",
        setting,
        GLANCE,
        1,
        tuple(measured_row(row, GLANCE) for row in rows),
        tuple(reuse_notes(rows)),
    )


def everything(rows: Sequence[Measured]) -> Table:
    """All that was counted."""
    return Table(
        "Everything",
        "All that was counted, mean and range over trials",
        EVERYTHING,
        2,
        tuple(measured_row(row, EVERYTHING) for row in rows),
        tuple(reuse_notes(rows)),
    )


def reuse_notes(rows: Iterable[Measured]) -> list[str]:
    """Where seconds, tokens and cost are less because a cache answered."""
    return [
        f"{row.setting}, {row.method}: a cache answered {row.reused_calls:,} calls; seconds, tokens and cost are without them."
        for row in rows
        if row.reused_calls
    ]


def count_table(
    published: Published,
    names: Mapping[str, str],
    counts: Mapping[str, Mapping[str, int]],
    notes: Sequence[str] = (),
) -> Table:
    """A table of counts: each category a row, the paper's models and our methods as columns.

    `names` gives the paper's categories as ours, "" where no rule can see one; `counts` are ours by column.
    """
    printed = {title: tuple(map(quoted, cells)) for title, *cells in published.rows}
    blank = (NOTHING,) * (len(published.columns) - 1)
    extra = sorted({name for count in counts.values() for name in count} - set(names.values()))
    totals = [(count, sum(count.values())) for count in counts.values()]

    def ours(name: str) -> tuple[Cell, ...]:
        return tuple(count_cell(count.get(name, 0), total) for count, total in totals)

    rows = [
        *(
            (title, (*printed[title], *(ours(name) if name else (NOTHING,) * len(totals))))
            for title, name in names.items()
        ),
        *((name, (*blank, *ours(name))) for name in extra),
        ("Total", (*printed["Total"], *(Cell(f"{total}", float(total)) for _, total in totals))),
    ]
    return Table(
        f"Table {published.number}",
        published.title,
        (
            "category",
            *(f"paper: {model}" for model in published.columns[1:]),
            *(f"measured: {column}" for column in counts),
        ),
        1,
        tuple(Row("both", (Cell(title), *cells)) for title, cells in rows),
        (*filter(None, [published.note]), *notes, *(() if counts else (UNMEASURED,))),
    )
