"""Write the report on results: its table rows and its files.

build_report(data, programs, plain, fresh)    Report(parts=..., tables=...)
render_report(report, facts)                  {"report.md": ..., "report.txt": ..., ...}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from spsbench.published import PUBLISHED, PUBLISHED_TABLES
from spsbench.report.answer import Advice, build_advice
from spsbench.report.data import ReportData
from spsbench.report.measures import MeasureScope, MethodSummary, Setting, Uniform, summarize_method
from spsbench.report.results_report import render_template
from spsbench.report.table import Table, TableRow, format_table_as_text
from spsbench.report.tables import (
    build_count_table,
    build_full_table,
    build_suite_table,
    build_summary_table,
    sort_methods,
)
from spsbench.results import GraphResult, TrialResult, group_by
from spsbench.studies.graph_asking import group_graph_results

UniformFactory = Callable[[], Uniform]
"""Restarts the random numbers, so that no interval depends on other parts of the report."""


@dataclass(frozen=True, slots=True)
class Report:
    """The data of a report, before it is rendered."""

    parts: tuple[SettingSection, ...]
    tables: tuple[Table, ...]


def build_report(
    data: ReportData, programs: Sequence[str], plain: Sequence[str], fresh: UniformFactory
) -> Report:
    """Build the report. `plain` are the programs that require no Python features."""
    whole = summarize_trials(data, programs, fresh)
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
    return Report(parts, tuple(tables))


def summarize_trials(
    data: ReportData, programs: Sequence[str], fresh: UniformFactory
) -> list[MethodSummary]:
    """Return a row for each setting and method with trials of these programs."""
    rows: list[MethodSummary] = []
    for setting, results in data.trials.items():
        asked = (run.repeats for run in data.runs.get(setting, ()))
        repeats = max([*asked, *(result.repeat for result in results)])
        inside = [result for result in results if result.program in programs]
        rows += summarize_methods(setting, inside, MeasureScope(tuple(programs), repeats), fresh)
    return rows


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
"""The methods in tables that do not show all: the paper's, `direct`, `natural` and `rewritten`."""


def build_suite_tables(
    data: ReportData, whole: Sequence[MethodSummary], plain: Sequence[str], fresh: UniformFactory
) -> Iterator[Table]:
    """Yield tables 1, 2, 4, 5, 6 and 7."""
    rows: Mapping[int, Sequence[MethodSummary]] = {
        1: summarize_trials(data, ["graph"], fresh),
        2: whole,
        4: whole,
        5: summarize_trials(data, plain, fresh),
        6: [row for row in whole if row.cost is None],
        7: [row for row in whole if row.setting.temperature == 0],
    }
    for number, found in rows.items():
        methods = METHODS_BY_TABLE.get(number)
        shown = [row for row in found if methods is None or row.method in methods]
        yield build_suite_table(PUBLISHED_TABLES[number], shown, TABLE_NOTES.get(number, ()))


INTERPRETER_NOTE = (
    "In manual-code-interpreter we use our own interpreter for every model; the paper uses the"
    " vendors' if they have one."
)
REWRITTEN_NOTE = (
    "For `rewritten`, eight programs were rewritten: in five, the prompts only judge, and Python"
    " changes the state; in three (calendar, get_enemy, pos_tagging), prompts and types state more."
    " The other methods run the programs as they were."
)
TABLE_NOTES: Mapping[int, tuple[str, ...]] = {
    2: (INTERPRETER_NOTE, REWRITTEN_NOTE),
    4: (INTERPRETER_NOTE, REWRITTEN_NOTE),
    1: ("Ours is the program `graph` of the suite: six queries on a graph of six papers.",),
    6: ("Ours are all models without a known price, such as locally hosted ones.",),
}


FAILURE_NOTE = (
    "Our category `wrong result` is shown as Reasoning. Incorrect State Op counts failed checks of"
    " the operation on the state: the kind and the identity of objects. The paper's authors label"
    " most of the runs whose program raised as Reasoning."
)
FindCategories = Callable[[TrialResult], Sequence[str]]
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
    """Yield tables 9, 10 and 11, for the paper's method and ours."""
    shown = {
        f"{row.setting}, {row.method}": row.results
        for row in whole
        if row.method in ANALYSED_METHODS
    }
    counted: tuple[tuple[int, Mapping[str, str], FindCategories, tuple[str, ...]], ...] = (
        (9, FAILURE_ROWS, list_causes, (FAILURE_NOTE,)),
        (10, ERROR_ROWS, lambda result: [error.category for error in result.effect_errors], ()),
        (11, RECOVERY_ROWS, lambda result: [error.recovery for error in result.effect_errors], ()),
    )
    for number, names, find, notes in counted:
        counts = {
            name: Counter(category for result in results for category in find(result))
            for name, results in shown.items()
        }
        yield build_count_table(PUBLISHED_TABLES[number], names, counts, notes)


def list_causes(result: TrialResult) -> list[str]:
    """Return why a trial failed, or that it passed."""
    return [result.failure.category if result.failure else "passed"]


ANALYSED_METHODS = ("nightjar", "direct", "natural")


def build_graph_table(asked: Sequence[GraphResult]) -> Table:
    """Return the growing graph as a table of numbers."""
    by_model = group_by(asked, lambda result: result.model).values()
    groups = [group for results in by_model for group in group_graph_results(results)]
    return Table(
        "Figure 10",
        "Six questions on graphs of growing size (the paper only draws its numbers)",
        (
            *("model", "papers", "method", "right", "seconds"),
            *("tokens in", "tokens out", "asked", "too long"),
        ),
        3,
        tuple(TableRow("measured", build_graph_cells(group)) for group in groups),
        (
            "`manual` copies the graph into the prompt."
            " Seconds and tokens are means over the sent questions.",
        ),
    )


def build_graph_cells(group: Sequence[GraphResult]) -> tuple[str, ...]:
    """Return the cells for one method at one size."""
    first = group[0]
    sent = [result for result in group if result.ending != "too long"]

    def format_mean(values: Sequence[float], digits: int) -> str:
        return f"{fmean(values):,.{digits}f}" if values else "-"

    return (
        first.model,
        f"{first.size:,} papers",
        first.method,
        f"{fmean(result.passed for result in group):.2f}",
        format_mean([result.seconds for result in sent], 1),
        format_mean([result.input_tokens for result in sent], 0),
        format_mean([result.output_tokens for result in sent], 0),
        f"{len(group)}",
        f"{len(group) - len(sent)}",
    )


def render_report(report: Report, facts: Facts) -> dict[str, str]:
    """Return the files of a report, by name."""
    return {
        "report.md": render_report_markdown(report, facts),
        "report.txt": render_report_text(report, facts),
    }


def render_report_text(report: Report, facts: Facts) -> str:
    """Return the report for a terminal."""
    answers = [
        text
        for part in report.parts
        for text in (
            format_table_as_text(part.summary),
            "\n".join(
                [
                    part.answer.advice,
                    "",
                    *(f"  {name} {text}" for name, text in part.answer.sentences),
                ]
            ),
        )
    ]
    foot = "\n".join(f"{name}: {text}" for name, text in facts)
    return "\n\n\n".join([*answers, *map(format_table_as_text, report.tables), foot]) + "\n"


def render_report_markdown(report: Report, facts: Facts) -> str:
    """Return the report as a Markdown document."""
    return render_template(
        "spsbench.report",
        "report.md",
        sections=report.parts,
        paper=PUBLISHED.title,
        tables=report.tables,
        facts=facts,
    )


Facts = Sequence[tuple[str, str]]
"""The report's footer: names and texts."""


@dataclass(frozen=True, slots=True)
class SettingSection:
    """One setting: the rows of its methods, and the resulting advice."""

    rows: tuple[MethodSummary, ...]
    answer: Advice

    @property
    def title(self) -> str:
        """The name of the setting."""
        return str(self.rows[0].setting)

    @property
    def summary(self) -> Table:
        """The most important columns."""
        return build_summary_table(self.title, self.rows)
