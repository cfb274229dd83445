"""The report of `spsbench report`: the methods of each model, and the paper's tables beside ours.

    build_paper_table(summaries)
        | GPT-4.1, paper | Nightjar | 0.78 ± 0.03 | 19.6 (3.0-72.1) | ... |           |
        | openai/local   | nightjar | 0.52 ± 0.02 | 31.2 (4.1-96.0) | ... | 75 trials |

Rows are sorted by method. The paper's numbers are quoted as printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from spsbench.methods import METHODS
from spsbench.published import METHOD_BY_PAPER_NAME, PUBLISHED, PUBLISHED_TABLES
from spsbench.report.data import ReportData, collect_data
from spsbench.report.document import (
    Facts,
    ResultsReport,
    Table,
    format_facts,
    format_table,
    list_run_facts,
)
from spsbench.report.measures import (
    BOOTSTRAP_ROUNDS,
    SEED,
    Measure,
    MethodSummary,
    format_coverage,
    format_lead,
    summarize_method,
)
from spsbench.results import BENCHMARK_KINDS, BenchmarkRun, Results, group_by
from spsbench.script import SCRIPTED
from spsbench.suite import TASK_NAMES

EMPTY = "-"
SCRIPTED_NOTE = "Scripts replied instead of a model: this shows the cost of njc itself."


def write_report(files: Mapping[str, Results]) -> Iterator[str]:
    """Yield the parts of the report on results of `spsbench run`."""
    data = collect_data(files)
    rows = summarize_trials(data)
    yield "# SPSBench"
    for setting, alike in group_by(rows, lambda row: row.setting).items():
        yield f"## On {setting}"
        if setting.model == SCRIPTED:
            yield SCRIPTED_NOTE
        yield from map(format_table, build_method_tables(alike))
    if rows:
        yield (
            "## Beside the paper\n\n"
            f"The paper is *{PUBLISHED.title}*; its rows are quoted. {PAPER_NOTE}"
        )
        yield from map(format_table, [build_paper_table(rows), build_failure_table(rows)])
    yield "## How this was measured"
    yield format_facts(list_facts(data))


def list_facts(data: ReportData) -> Iterator[tuple[str, str]]:
    """Yield the places, times and limits of the trials, as recorded in the results."""
    for setting, runs in data.runs.items():
        yield "Trials", f"{len(data.trials.get(setting, ()))}, {setting}"
        yield from list_run_facts(runs, "trials", describe_run)
    if data.remarks:
        yield "Remarks", "; ".join(data.remarks)
    yield "Interval", f"bootstrap of {BOOTSTRAP_ROUNDS:,} rounds, seed {SEED}"


def describe_run(run: BenchmarkRun, alike: Sequence[BenchmarkRun]) -> Facts:
    """Return the settings of a run."""
    if run.temperature is None:
        yield "Temperature", "not set: the vendor's default, or 0 for models of plain text"
    yield "Repeats", f"{run.repeats}"
    limits = run.limits
    yield (
        "Limits of a trial",
        f"{limits.seconds:g} s, {limits.effects} effects and {limits.calls} model calls a block",
    )


# ── the rows of methods ───────────────────────────────────────────────────────────────────────────


def summarize_trials(data: ReportData) -> list[MethodSummary]:
    """Return a row for each setting and method, in the order of the tables."""
    return [
        summarize_method(
            setting,
            method,
            [result for result in results if result.method == method],
            len(TASK_NAMES),
            max(
                *(run.repeats for run in data.runs.get(setting, ())),
                *(result.repeat for result in results),
            ),
        )
        for setting, results in data.trials.items()
        for method in sort_methods(result.method for result in results)
    ]


def sort_methods(methods: Iterable[str]) -> list[str]:
    """Return the methods in the order of the tables; unknown ones come last."""
    known = list(METHODS)
    return sorted(
        set(methods), key=lambda name: (known.index(name) if name in known else len(known), name)
    )


def format_spread(
    row: MethodSummary, value: Measure, digits: int = 1, range_digits: int | None = None
) -> str:
    """Return a mean with its range."""
    values = [value(result) for result in row.results]
    ends = digits if range_digits is None else range_digits
    mean = row.compute_mean(value)
    return f"{mean:,.{digits}f} ({min(values):,.{ends}f}-{max(values):,.{ends}f})"


def format_rate(row: MethodSummary) -> str:
    """Return a pass rate as the paper writes it; without a deviation if it is unknown."""
    return f"{row.rate:.2f}" + ("" if row.deviation is None else f" ± {row.deviation:.2f}")


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


COLUMNS: Mapping[str, Callable[[MethodSummary], str]] = {
    "model": lambda row: f"{row.setting}",
    "method": lambda row: f"{row.method} (too low)" if row.is_too_low else row.method,
    "pass rate": format_rate,
    "95 % interval": lambda row: (
        f"{row.interval[0]:.2f}-{row.interval[1]:.2f}" if len(row.results) > 1 else EMPTY
    ),
    "run s": lambda row: format_spread(row, lambda each: each.run_seconds),
    "build s": lambda row: (
        format_spread(row, lambda each: each.build_seconds) if is_compiled(row.method) else EMPTY
    ),
    "total s": lambda row: format_spread(row, lambda each: each.seconds),
    "effects": lambda row: (
        format_spread(row, lambda each: each.effects, range_digits=0)
        if has_effects(row.method)
        else EMPTY
    ),
    "calls": lambda row: format_spread(row, lambda each: each.calls, range_digits=0),
    "build calls": lambda row: format_spread(row, lambda each: each.build_calls, range_digits=0),
    "tokens in": lambda row: format_spread(row, lambda each: each.usage.input, 0),
    "of them cached": lambda row: format_spread(row, lambda each: each.usage.cached, 0),
    "tokens out": lambda row: format_spread(row, lambda each: each.usage.output, 0),
    "build tokens": lambda row: format_spread(row, lambda each: each.build_usage.total, 0),
    "tokens": lambda row: (
        f"{row.compute_mean(lambda each: each.usage.total + each.build_usage.total):,.0f}"
    ),
    "USD": lambda row: (
        f"{row.compute_mean(lambda each: each.cost or 0.0):.4f}" if row.is_priced else "no price"
    ),
    "trials": format_coverage,
}
"""How to make the cell of a measured row in each column of a method table."""
SUMMARY_COLUMNS = ("method", "pass rate", "95 % interval", "total s", "tokens", "USD", "trials")
FULL_COLUMNS = (
    *("method", "run s", "build s", "effects", "calls", "build calls"),
    *("tokens in", "of them cached", "tokens out", "build tokens"),
)
BEST_NOTE = (
    "The best has the highest pass rate of the methods with the most programs; the difference is"
    " over the programs that both have, with its 95 % interval from six programs on."
)


def list_cells(row: MethodSummary, columns: Iterable[str]) -> tuple[str, ...]:
    """Return a method's measurements in these columns."""
    return tuple(COLUMNS[column](row) for column in columns)


def build_method_tables(rows: Sequence[MethodSummary]) -> tuple[Table, Table]:
    """Return all methods of a setting, compared with the best, and all that was counted."""
    best = max(rows, key=lambda row: (len(row.shares), row.rate))
    compared = [(*list_cells(row, SUMMARY_COLUMNS), format_lead(row, best)) for row in rows]
    reused = [
        f"{row.method}: a cache answered {count:,} calls; seconds, tokens and cost exclude them."
        for row in rows
        if (count := sum(result.reused_calls for result in row.results))
    ]
    low = [
        f"{row.method}: blocks that stay live ran as code, although data would do; the row is too"
        " low until it is measured again."
        for row in rows
        if row.is_too_low
    ]
    columns = (*SUMMARY_COLUMNS, f"minus {best.method}")
    full = [list_cells(row, FULL_COLUMNS) for row in rows]
    return (
        Table(columns, compared, 1, "At a glance", (BEST_NOTE, *reused, *low)),
        Table(FULL_COLUMNS, full, 1, "All that was counted, mean and range over trials"),
    )


# ── the paper's tables ────────────────────────────────────────────────────────────────────────────


PAPER_NOTE = (
    "In manual-code-interpreter we use our own interpreter for every model; the paper uses the"
    " vendors' if they have one. For `rewritten`, eight programs were rewritten: in five, the"
    " prompts only judge, and Python changes the state; in three (calendar, get_enemy,"
    " pos_tagging), prompts and types state more. The other methods run the programs as they were."
)


def build_paper_table(rows: Sequence[MethodSummary]) -> Table:
    """Return the paper's table of methods: its rows, each followed by ours for the same method."""
    published = PUBLISHED_TABLES[4]
    named_rows = [
        (METHOD_BY_PAPER_NAME[method], (f"{model}, paper", method, *cells, "", ""))
        for model, method, *cells in published.rows
    ]
    columns = (*published.columns, "95 % interval", "trials")
    named_rows += [(row.method, list_cells(row, columns)) for row in rows]
    by_method = group_by(named_rows, lambda named: named[0])
    shown = [cells for method in sort_methods(by_method) for _, cells in by_method[method]]
    return Table(columns, shown, 2, f"Table 4. {published.title}", (published.note,))


FAILURE_NOTE = (
    "Our category `wrong result` is shown as Reasoning. Incorrect State Op counts failed checks of"
    " the operation on the state: the kind and the identity of objects. The paper's authors label"
    " most of the runs whose program raised as Reasoning."
)
FAILURE_ROWS = {
    "100% Pass": "passed",
    "Reasoning": "wrong result",
    "Give Up": "gave up",
    "Incorrect State Op": "incorrect state operation",
    "Hallucination": "",
}
ANALYSED_METHODS = ("nightjar", "direct", "natural")


def build_failure_table(rows: Sequence[MethodSummary]) -> Table:
    """Return table 9: a row a category, a column a paper's model and method of ours."""
    shown, published = [row for row in rows if row.method in ANALYSED_METHODS], PUBLISHED_TABLES[9]
    printed = {title: cells for title, *cells in published.rows}
    counts: list[Counter[str]] = [
        Counter(each.failure.category if each.failure else "passed" for each in row.results)
        for row in shown
    ]
    others = sorted({name for count in counts for name in count} - set(FAILURE_ROWS.values()))
    blank = [EMPTY] * (len(published.columns) - 1)
    cells = [
        (title, *printed.get(title, blank), *(format_count(count, name) for count in counts))
        for title, name in (*FAILURE_ROWS.items(), *zip(others, others, strict=True))
    ]
    total = ("Total", *printed["Total"], *(f"{count.total()}" for count in counts))
    columns = (
        "category",
        *(f"{model}, paper" for model in published.columns[1:]),
        *(f"{row.setting}, {row.method}" for row in shown),
    )
    notes = (published.note, FAILURE_NOTE)
    return Table(columns, [*cells, total], 1, f"Table 9. {published.title}", notes)


def format_count(count: Counter[str], name: str) -> str:
    """Return a count with its share; `-` for a category that no rule detects."""
    if not name:
        return EMPTY
    total = count.total()
    return f"{count[name]} ({count[name] / total:.1%})" if total else "0"


REPORT = ResultsReport("report", BENCHMARK_KINDS, write_report)
