"""The paper's tables with our rows next to theirs.

    build_suite_table(PUBLISHED_TABLES[4], summaries)
        | paper    | GPT-4.1      | Nightjar     | 0.78 ± 0.03 | 19.6 (3.0-72.1) | ... |           |
        | measured | openai/local | nightjar     | 0.52 ± 0.02 | 31.2 (4.1-96.0) | ... | 75 trials |

Rows are sorted by method. The paper's numbers are quoted as printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from spsbench.methods import METHODS
from spsbench.published import METHOD_BY_PAPER_NAME, PublishedTable
from spsbench.report.measures import MethodSummary, PassRate, Spread, format_coverage
from spsbench.report.table import Table, TableRow

EMPTY = "-"
NOT_MEASURED_NOTE = "Not measured here."


def format_rate(rate: PassRate) -> str:
    """Return a pass rate as the paper writes it; without a deviation if it is unknown."""
    return f"{rate.mean:.2f}" if rate.sd is None else f"{rate.mean:.2f} ± {rate.sd:.2f}"


def format_spread(spread: Spread, digits: int = 1, range_digits: int | None = None) -> str:
    """Return a mean with its range."""
    ends = digits if range_digits is None else range_digits
    return f"{spread.mean:,.{digits}f} ({spread.low:,.{ends}f}-{spread.high:,.{ends}f})"


def sort_methods(methods: Iterable[str]) -> list[str]:
    """Return the methods in the order of the tables; unknown ones come last."""
    known = list(METHODS)
    return sorted(
        set(methods), key=lambda name: (known.index(name) if name in known else len(known), name)
    )


SUITE_COLUMNS: Mapping[str, Callable[[MethodSummary], str]] = {
    "source": lambda row: "measured",
    "model": lambda row: str(row.setting),
    "method": lambda row: f"{row.method} (too low)" if row.is_too_low else row.method,
    "pass rate": lambda row: format_rate(row.rate),
    "95 % interval": lambda row: (
        f"{row.rate.low:.2f}-{row.rate.high:.2f}" if row.coverage.trials > 1 else EMPTY
    ),
    "seconds": lambda row: format_spread(row.seconds),
    "run s": lambda row: format_spread(row.run_seconds),
    "build s": lambda row: format_spread(row.build_seconds) if is_compiled(row.method) else EMPTY,
    "total s": lambda row: format_spread(row.seconds),
    "effects": lambda row: (
        format_spread(row.effects, range_digits=0) if has_effects(row.method) else EMPTY
    ),
    "calls": lambda row: format_spread(row.calls, range_digits=0),
    "build calls": lambda row: format_spread(row.build_calls, range_digits=0),
    "tokens in": lambda row: format_spread(row.input_tokens, 0),
    "of them cached": lambda row: format_spread(row.cached_tokens, 0),
    "tokens out": lambda row: format_spread(row.output_tokens, 0),
    "build tokens": lambda row: format_spread(row.build_tokens, 0),
    "tokens": lambda row: f"{row.tokens:,.0f}",
    "USD": lambda row: "no price" if row.cost is None else f"{row.cost.mean:.4f}",
    "trials": lambda row: format_coverage(row.coverage),
}
"""How to make the cell of a measured row in each column of a method table."""


def is_compiled(method: str) -> bool:
    """Return whether njc compiles the method's program."""
    return method not in METHODS or METHODS[method].is_natural


def has_effects(method: str) -> bool:
    """Return whether the method performs effects or uses an interpreter."""
    return method not in METHODS or (
        METHODS[method].has_interpreter
        or method == "auto"  # its blocks could stay live
        or (METHODS[method].is_natural and not METHODS[method].is_static)
    )


def build_suite_table(
    published: PublishedTable, rows: Sequence[MethodSummary], notes: Sequence[str] = ()
) -> Table:
    """Return a table of methods: the paper's rows, each followed by ours for the same method."""
    columns = ("source", *published.columns, "95 % interval", "trials")
    named_rows = [
        (
            METHOD_BY_PAPER_NAME[cells[1]],
            TableRow("paper", ("paper", *cells, "", "")),
        )
        for cells in published.rows
    ] + [(row.method, build_measured_row(row, columns)) for row in rows]
    return Table(
        f"Table {published.number}",
        published.title,
        columns,
        3,
        tuple(
            row
            for method in sort_methods(name for name, _ in named_rows)
            for name, row in named_rows
            if name == method
        ),
        (
            *filter(None, [published.note]),
            *notes,
            *list_low_notes(rows),
            *(() if rows else (NOT_MEASURED_NOTE,)),
        ),
    )


def build_measured_row(row: MethodSummary, columns: Iterable[str]) -> TableRow:
    """Return a row with a method's measurements in these columns."""
    return TableRow("measured", tuple(SUITE_COLUMNS[column](row) for column in columns))


SUMMARY_COLUMNS = ("method", "pass rate", "95 % interval", "total s", "tokens", "USD", "trials")
FULL_COLUMNS = (
    *("model", "method", "pass rate", "95 % interval", "run s", "build s", "effects", "calls"),
    *("build calls", "tokens in", "of them cached", "tokens out", "build tokens", "USD", "trials"),
)


def build_summary_table(setting: str, rows: Sequence[MethodSummary]) -> Table:
    """Return the most important columns for one model: pass rate, time, cost."""
    return Table(
        "At a glance",
        setting,
        SUMMARY_COLUMNS,
        1,
        tuple(build_measured_row(row, SUMMARY_COLUMNS) for row in rows),
        (*list_reuse_notes(rows), *list_low_notes(rows)),
    )


def build_full_table(rows: Sequence[MethodSummary]) -> Table:
    """Return all columns."""
    return Table(
        "Everything",
        "All that was counted, mean and range over trials",
        FULL_COLUMNS,
        2,
        tuple(build_measured_row(row, FULL_COLUMNS) for row in rows),
        (*list_reuse_notes(rows), *list_low_notes(rows)),
    )


def list_reuse_notes(rows: Iterable[MethodSummary]) -> list[str]:
    """Return a note for each row with lower seconds, tokens and cost because of cached answers."""
    return [
        f"{row.setting}, {row.method}: a cache answered {row.reused_calls:,} calls; seconds, tokens"
        " and cost exclude them."
        for row in rows
        if row.reused_calls
    ]


def list_low_notes(rows: Iterable[MethodSummary]) -> list[str]:
    """Return a note for each row that an error of the method makes too low."""
    return [
        f"{row.setting}, {row.method}: blocks that stay live ran as code, although data would do; "
        "the row is too low until it is measured again."
        for row in rows
        if row.is_too_low
    ]


def build_count_table(
    published: PublishedTable,
    names: Mapping[str, str],
    counts: Mapping[str, Mapping[str, int]],
    notes: Sequence[str] = (),
) -> Table:
    """Return a table of counts: a row per category, a column per paper model and method of ours.

    `names` maps the paper's categories to ours, or to "" if no rule detects one; `counts` are our
    counts by column.
    """
    printed = {title: cells for title, *cells in published.rows}
    blank = (EMPTY,) * (len(published.columns) - 1)
    extra = sorted({name for count in counts.values() for name in count} - set(names.values()))
    totals = [(count, sum(count.values())) for count in counts.values()]

    def format_count(count: int, total: int) -> str:
        return f"{count} ({count / total:.1%})" if total else "0"

    def list_counts(name: str) -> tuple[str, ...]:
        return tuple(format_count(count.get(name, 0), total) for count, total in totals)

    rows = [
        *(
            (title, (*printed[title], *(list_counts(name) if name else (EMPTY,) * len(totals))))
            for title, name in names.items()
        ),
        *((name, (*blank, *list_counts(name))) for name in extra),
        ("Total", (*printed["Total"], *(f"{total}" for _, total in totals))),
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
        tuple(TableRow("both", (title, *cells)) for title, cells in rows),
        (*filter(None, [published.note]), *notes, *(() if counts else (NOT_MEASURED_NOTE,))),
    )
