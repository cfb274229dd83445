"""The report on results: which rows are in which table, and the files that are written.

build_report(data, programs, plain, fresh)    Report(parts=..., tables=...)
render_report(report, facts)                  {"index.html": ..., "report.md": ..., "report.txt": ..., "report.csv": ...}
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from njc.evaluation.comparison import text as comparison_text
from spsbench.methods import METHODS
from spsbench.published import METHOD_BY_PAPER_NAME, PAPER_TITLE, PUBLISHED_TABLES
from spsbench.report.answer import Advice, build_advice
from spsbench.report.data import ReportData, to_trial_result
from spsbench.report.measures import MeasureScope, MethodSummary, Setting, Uniform, summarize_method
from spsbench.report.plots import (
    TOKEN_KINDS,
    draw_effect_plots,
    draw_graph_plots,
    draw_rate_plots,
    draw_token_bars,
    number_methods,
)
from spsbench.report.tables import (
    Cell,
    Table,
    TableRow,
    build_count_table,
    build_full_table,
    build_suite_table,
    build_summary_table,
    sort_methods,
)
from spsbench.results import GraphResult, TrialResult
from spsbench.studies.graph_table import group_graph_results

UniformFactory = Callable[[], Uniform]
"""Restarts the random numbers, so that no interval depends on what else is in a report."""


@dataclass(frozen=True, slots=True)
class Report:
    """The data of a report, before it is rendered."""

    parts: tuple[SettingSection, ...]
    tables: tuple[Table, ...]
    asked: tuple[GraphResult, ...]
    programs: tuple[str, ...]


def build_report(
    data: ReportData, programs: Sequence[str], plain: Sequence[str], fresh: UniformFactory
) -> Report:
    """Build the report. `plain` are the programs that need no feature of Python."""
    whole = [
        row for setting in data.trials for row in summarize_setting(data, setting, programs, fresh)
    ]
    parts = tuple(
        SettingSection(rows, build_advice(rows, fresh))
        for setting in data.trials
        if (rows := tuple(row for row in whole if row.setting == setting))
    )
    tables = [*build_suite_tables(data, whole, plain, fresh), *build_count_tables(whole)]
    if whole:
        tables.append(build_full_table(whole))
    if data.asked:
        tables.append(build_graph_table(data.asked))
    return Report(parts, tuple(tables), data.asked, tuple(programs))


def summarize_setting(
    data: ReportData, setting: Setting, programs: Sequence[str], fresh: UniformFactory
) -> Iterator[MethodSummary]:
    """Return a row for each method that has trials of these programs."""
    results = data.trials[setting]
    asked = (run.repeats for run in data.runs.get(setting, ()))
    repeats = max([*asked, *(result.repeat for result in results)])
    inside = [result for result in results if result.program in programs]
    return summarize_methods(setting, inside, MeasureScope(tuple(programs), repeats), fresh)


def summarize_methods(
    setting: Setting, results: Sequence[TrialResult], scope: MeasureScope, fresh: UniformFactory
) -> Iterator[MethodSummary]:
    """Yield a row for each method, in the order of the tables."""
    for method in sort_methods(result.method for result in results):
        own = [result for result in results if result.method == method]
        yield summarize_method(setting, method, own, scope, fresh())


METHODS_BY_TABLE: Mapping[int, tuple[str, ...]] = {
    1: ("manual", "nightjar", "direct", "natural"),
    2: (
        "manual",
        "manual-code-interpreter",
        "baseline",
        "nightjar",
        "direct",
        "natural",
        "rewritten",
    ),
    7: ("manual", "shared-python", "nightjar", "direct", "natural"),
}
"""The methods of a table that does not show all: the paper's, `direct`, `natural` and `rewritten`."""


def build_suite_tables(
    data: ReportData, whole: Sequence[MethodSummary], plain: Sequence[str], fresh: UniformFactory
) -> Iterator[Table]:
    """Yield the tables 1, 2, 4, 5, 6, 7 and 8."""

    def over(programs: Sequence[str]) -> list[MethodSummary]:
        return [
            row
            for setting in data.trials
            for row in summarize_setting(data, setting, programs, fresh)
        ]

    rows: Mapping[int, Sequence[MethodSummary]] = {
        1: over(["graph"]),
        2: whole,
        4: whole,
        5: over(plain),
        6: [row for row in whole if row.cost is None],
        7: [row for row in whole if row.setting.temperature == 0],
        8: list(summarize_gsm8k(data, fresh)),
    }
    for number, found in rows.items():
        methods = METHODS_BY_TABLE.get(number)
        shown = [row for row in found if methods is None or row.method in methods]
        yield build_suite_table(PUBLISHED_TABLES[number], shown, TABLE_NOTES.get(number, ()))


INTERPRETER_NOTE = (
    "In manual-code-interpreter ours is an interpreter of our own for every model; the paper's are the vendors' where "
    "they have one."
)
REWRITTEN_NOTE = (
    "In the suite `rewritten`, the prompts of eight programs only judge, and Python changes the state; the other "
    "methods run the programs whose prompts change the state."
)
TABLE_NOTES: Mapping[int, tuple[str, ...]] = {
    2: (INTERPRETER_NOTE, REWRITTEN_NOTE),
    4: (INTERPRETER_NOTE, REWRITTEN_NOTE),
    1: ("Ours is the program `graph` of the suite: six queries on a graph of six papers.",),
    6: ("Ours are all models without a known price, such as locally hosted ones.",),
}


def summarize_gsm8k(data: ReportData, fresh: UniformFactory) -> Iterator[MethodSummary]:
    """Yield a row for each model and method that solved problems of GSM8K."""
    results = [to_trial_result(problem) for problem in data.solved]
    for model in dict.fromkeys(result.model for result in results):
        own = [result for result in results if result.model == model]
        problems = tuple(dict.fromkeys(result.program for result in own))
        scope = MeasureScope(problems, max(result.repeat for result in own))
        yield from summarize_methods(Setting(model), own, scope, fresh)


FAILURE_ROWS = {
    "100% Pass": "passed",
    "Reasoning": "wrong result",
    "Give Up": "gave up",
    "Incorrect State Op": "incorrect state operation",
    "Hallucination": "",
}
ERROR_ROWS = {
    "State Op Error": "state op error",
    "Forbidden Var": "forbidden variable",
    "Type Error": "type error",
    "Syntax Error": "syntax error",
    "Function Call Error": "function call error",
    "Index Error": "index error",
}
RECOVERY_ROWS = {
    name: name.lower()
    for name in ("Correction", "Ignored Error", "Workaround", "Retry", "Not Recovered")
}


def build_count_tables(whole: Sequence[MethodSummary]) -> Iterator[Table]:
    """Yield the tables 9, 10 and 11, for the paper's method and ours."""
    shown = {
        f"{row.setting}, {row.method}": row.results
        for row in whole
        if row.method in ANALYSED_METHODS
    }
    causes = {
        name: Counter(result.failure.category if result.failure else "passed" for result in results)
        for name, results in shown.items()
    }
    errors = {
        name: [error for result in results for error in result.effect_errors]
        for name, results in shown.items()
    }
    yield build_count_table(
        PUBLISHED_TABLES[9],
        FAILURE_ROWS,
        causes,
        [
            "Our category `wrong result` is shown as Reasoning. Incorrect State Op counts failed checks of the "
            "operation on the state: the kind and the identity of objects. The paper's authors label most of the "
            "runs whose program raised as Reasoning."
        ],
    )
    yield build_count_table(
        PUBLISHED_TABLES[10],
        ERROR_ROWS,
        {name: Counter(error.category for error in found) for name, found in errors.items()},
    )
    yield build_count_table(
        PUBLISHED_TABLES[11],
        RECOVERY_ROWS,
        {name: Counter(error.recovery for error in found) for name, found in errors.items()},
    )


ANALYSED_METHODS = ("nightjar", "direct", "natural")


def build_graph_table(asked: Sequence[GraphResult]) -> Table:
    """Return the growing graph, in numbers."""
    models = dict.fromkeys(result.model for result in asked)
    groups = [
        group
        for model in models
        for group in group_graph_results(result for result in asked if result.model == model)
    ]
    return Table(
        "Figure 10",
        "Six questions on graphs of growing size (the paper only draws its numbers)",
        ("model", "papers", "method", "right", "seconds", "tokens in", "tokens out", "asked", "too long"),
        3,
        tuple(TableRow("measured", build_graph_cells(group)) for group in groups),
        ("`manual` copies the graph into the prompt. Seconds and tokens are means over what was sent.",),
    )  # fmt: skip


def build_graph_cells(group: Sequence[GraphResult]) -> tuple[Cell, ...]:
    """One method at one size."""
    first = group[0]
    sent = [result for result in group if result.ending != "too long"]

    def mean_cell(values: Sequence[float], digits: int) -> Cell:
        return Cell(f"{fmean(values):,.{digits}f}", fmean(values)) if values else Cell("-")

    right = fmean(result.passed for result in group)
    return (
        Cell(first.model),
        Cell(f"{first.size:,} papers"),
        Cell(first.method),
        Cell(f"{right:.2f}", right),
        mean_cell([result.seconds for result in sent], 1),
        mean_cell([result.input_tokens for result in sent], 0),
        mean_cell([result.output_tokens for result in sent], 0),
        Cell(f"{len(group)}", float(len(group))),
        Cell(f"{len(group) - len(sent)}", float(len(group) - len(sent))),
    )


def render_report(report: Report, facts: Facts) -> dict[str, str]:
    """Return the files of a report, by name."""
    return {
        "index.html": render_report_page(
            report.parts, report.tables, report.asked, report.programs, facts
        ),
        "report.md": render_report_markdown(report, facts),
        "report.txt": render_report_text(report, facts),
        "report.csv": format_tables_as_csv(report.tables),
    }


def render_report_text(report: Report, facts: Facts) -> str:
    """Return the report for a terminal."""
    answers = [
        text
        for part in report.parts
        for text in (
            format_table_as_text(build_summary_table(part.title, part.rows)),
            "\n".join([part.answer.advice, "", *(f"  {name} {text}" for name, text in part.answer.sentences)]),
        )
    ]  # fmt: skip
    foot = "\n".join(f"{name}: {text}" for name, text in facts)
    return "\n\n\n".join([*answers, *map(format_table_as_text, report.tables), foot]) + "\n"


def render_report_markdown(report: Report, facts: Facts) -> str:
    """Return the report as a Markdown document."""
    answers = [
        text
        for part in report.parts
        for text in (
            f"## On {part.title}",
            f"**{part.answer.advice}**",
            format_table_as_markdown(build_summary_table(part.title, part.rows)),
            "\n".join(f"* **{name}** {text}" for name, text in part.answer.sentences),
        )
    ]
    return "\n\n".join(
        [
            "# SPSBench: which method, at what cost",
            *answers,
            "## Beside the paper",
            f"Rows in bold were measured here; the others are quoted from *{PAPER_TITLE}*.",
            *map(format_table_as_markdown, report.tables),
            "## How this was measured",
            "\n".join(f"* {name}: {text}" for name, text in facts),
            "",
        ]
    )


# ── the report as one self-contained page ──────────────────────────────────────────────────────────


Facts = Sequence[tuple[str, str]]
"""The foot of the report: names and texts."""


@dataclass(frozen=True, slots=True)
class SettingSection:
    """One setting: its methods' rows, and the advice that follows from them."""

    rows: tuple[MethodSummary, ...]
    answer: Advice

    @property
    def title(self) -> str:
        """The name of the setting."""
        return str(self.rows[0].setting)


def render_report_page(
    parts: Sequence[SettingSection],
    tables: Sequence[Table],
    asked: Sequence[GraphResult],
    programs: Sequence[str],
    facts: Facts,
) -> str:
    """Render the page; needs jinja2 and matplotlib (the extra `bench`)."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("spsbench.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["code"] = render_inline_code
    measured = {row.method for part in parts for row in part.rows}
    measured |= {result.method for result in asked}
    numbers = number_methods({*METHOD_BY_PAPER_NAME.values(), *measured})
    sections = [
        {
            "title": part.title,
            "answer": part.answer,
            "summary": build_summary_table(part.title, part.rows),
            "rows": part.rows,
            "methods": [row.method for row in part.rows],
            "rates": draw_rate_plots(part.rows, PUBLISHED_TABLES[4], numbers),
            "tokens": draw_token_bars(part.rows),
            "effects": draw_effect_plots(part.rows),
        }
        for part in parts
    ]
    graphs = [
        {
            "model": model,
            "count": len(group),
            "methods": [result.method for result in group],
            "plots": draw_graph_plots(group, numbers),
        }
        for model in sorted({result.model for result in asked})
        for group in [[result for result in asked if result.model == model]]
    ]
    page = environment.get_template("page.html").render(
        sections=sections,
        graphs=graphs,
        tables=tables,
        programs=programs,
        facts=facts,
        numbers=numbers,
        methods=METHODS,
        paper_methods=list(METHOD_BY_PAPER_NAME.values()),
        token_kinds=TOKEN_KINDS,
        Markup=Markup,
    )
    return f"{page.strip()}\n"


def render_inline_code(text: str) -> str:
    """Text for HTML, with what stands in `backticks` as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub("`(.+?)`", r"<code>\1</code>", str(escape(text))))


# ── a table as text, as Markdown and as CSV ────────────────────────────────────────────────────────


CSV_COLUMNS = ("table", "row", "column", "source", "text", "mean", "sd", "low", "high")


def format_table_as_text(table: Table) -> str:
    """Return the table with aligned columns, numbers to the right."""
    lines = [[cell.text for cell in row.cells] for row in table.rows]
    laid_out = comparison_text.format_text_table(table.columns, lines, table.labels)
    notes = (f"  {note}" for note in table.notes)
    return "\n".join([f"{table.name}. {table.title}", "", laid_out, *notes])


def format_table_as_markdown(table: Table) -> str:
    """Return the table for a Markdown document."""
    rules = ("---" if index < table.labels else "---:" for index in range(len(table.columns)))
    lines = [
        f"### {table.name}. {table.title}",
        "",
        _format_markdown_row(table.columns),
        _format_markdown_row(rules),
        *(_format_markdown_row(_format_markdown_cells(row)) for row in table.rows),
        *(part for note in table.notes for part in ("", note)),
    ]
    return "\n".join(lines)


def _format_markdown_row(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _format_markdown_cells(row: TableRow) -> Iterable[str]:
    is_ours = row.source == "measured"
    return (f"**{cell.text}**" if is_ours and cell.text else cell.text for cell in row.cells)


def format_tables_as_csv(tables: Iterable[Table]) -> str:
    """Return a line for each number of the tables."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for table in tables:
        for row in table.rows:
            label = " / ".join(cell.text for cell in row.cells[: table.labels])
            for column, cell in list(zip(table.columns, row.cells, strict=True))[table.labels :]:
                if (cell.mean, cell.low) != (None, None):
                    source = column.partition(":")[0] if row.source == "both" else row.source
                    numbers = (cell.mean, cell.sd, cell.low, cell.high)
                    writer.writerow(
                        (
                            f"{table.name}",
                            label,
                            column,
                            source,
                            cell.text,
                            *map(_format_number, numbers),
                        )
                    )
    return out.getvalue()


def _format_number(number: float | None) -> str:
    return "" if number is None else f"{number:.6g}"
