"""The results of suites as text tables: a row for each form, the differences between forms, published figures.

suite  form     tasks  passed             95 %  calls  tool calls  tokens in  out  seconds  at a limit
-----  -------  -----  ------  ---------------  -----  ----------  ---------  ---  -------  ----------
mtp    json         9   0.556   0.267 to 0.811    1.9         0.1        512   48      6.1           0
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from spsbench.published import PUBLISHED
from spsbench.report.by_problem import (
    estimate_rate,
    format_rate,
    group_passes,
    list_difference_rows,
)
from spsbench.report.files import make_uniform
from spsbench.report.results_report import ResultsReport
from spsbench.report.table import Table, make_text_table
from spsbench.results import Results, group_by, list_mean_cells
from spsbench.suites.forms import FORMS
from spsbench.suites.task import SUITE_KINDS, SUITES, SuiteResult

SUMMARY_HEADINGS = (
    *("suite", "form", "tasks", "passed", "95 %", "calls", "tool calls", "tokens in", "out"),
    *("seconds", "at a limit"),
)
DIFFERENCE_HEADINGS = (
    *("suite", "form", "minus", "tasks", "difference", "95 %", "better on", "worse on"),
)
THEIR_HEADINGS = ("suite", "model", "form", "passed", "source")


def group_results(results: Iterable[SuiteResult]) -> dict[tuple[str, ...], list[SuiteResult]]:
    """Return the results by suite and form, in the order of the tables."""
    forms = list(FORMS)
    ordered = sorted(results, key=lambda each: (SUITES.index(each.suite), forms.index(each.form)))
    return group_by(ordered, lambda each: (each.suite, each.form))


def list_summary_rows(results: Iterable[SuiteResult]) -> list[tuple[str, ...]]:
    """Return a row for each suite and form: the rate, means of calls, tokens and seconds, and tasks at a limit."""
    return [
        (
            *key,
            str(len(passes)),
            *format_rate(estimate_rate(passes)),
            *list_mean_cells(
                group, "calls", "tool_calls", "input_tokens", "output_tokens", "seconds"
            ),
            str(sum(each.ending in ("limit", "too long") for each in group)),
        )
        for key, group in group_results(results).items()
        for passes in [group_passes(group, lambda each: each.task)]
    ]


def compare_forms(results: Iterable[SuiteResult]) -> list[tuple[str, ...]]:
    """Return a row for each pair of a suite's forms, over the tasks that both have."""
    return list_difference_rows(group_results(results), lambda each: each.task, make_uniform)


def list_published_rows(suites: Container[str]) -> list[tuple[str, ...]]:
    """Return a row for each published figure of the suites."""
    return [
        (each.suite, each.model, each.form, f"{each.rate:.2f} %", each.source)
        for each in PUBLISHED.suites
        if each.suite in suites
    ]


def list_tables(found: Results) -> list[Table]:
    """Return the tables that the commands print."""
    tables = [make_text_table(SUMMARY_HEADINGS, list_summary_rows(found.select(SuiteResult)), 2)]
    if rows := compare_forms(found.select(SuiteResult)):
        tables.append(make_text_table(DIFFERENCE_HEADINGS, rows, 3))
    if theirs := list_published_rows({each.suite for each in found.select(SuiteResult)}):
        title = "Theirs, quoted and not measured here:"
        tables.append(make_text_table(THEIR_HEADINGS, theirs, 3, title))
    return tables


REPORT = ResultsReport("suite-report", "", SUITE_KINDS, list_tables, lambda found: ())
