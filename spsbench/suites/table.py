"""The results of suites as tables of text: a row for each form, the differences between forms, published figures.

suite  form     tasks  passed             95 %  calls  tool calls  tokens in  out  seconds  at a limit
-----  -------  -----  ------  ---------------  -----  ----------  ---------  ---  -------  ----------
mtp    json         9   0.556   0.267 to 0.811    1.9         0.1        512   48      6.1           0
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from njc.evaluation.comparison.text import format_text_table
from spsbench.report.by_problem import (
    compare_rates,
    estimate_rate,
    format_difference,
    format_rate,
)
from spsbench.report.files import make_uniform
from spsbench.suites.forms import FORMS
from spsbench.suites.task import SUITES, FormName, SuiteName, SuiteResult, SuiteResults

SUMMARY_HEADINGS = (
    *("suite", "form", "tasks", "passed", "95 %", "calls", "tool calls", "tokens in", "out"),
    *("seconds", "at a limit"),
)
DIFFERENCE_HEADINGS = (
    *("suite", "form", "minus", "tasks", "difference", "95 %", "better on", "worse on"),
)
THEIR_HEADINGS = ("suite", "model", "form", "passed", "source")


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """A pass rate that others have published, in per cent."""

    suite: SuiteName
    model: str
    form: str
    rate: float
    source: str


BFCL_PAPER = "Patil et al., ICML 2025, table 1"
PUBLISHED_FIGURES = (
    PublishedFigure("bfcl", "Qwen2.5-1.5B-Instruct", "bfcl", 1.5, f"{BFCL_PAPER}: base"),
    PublishedFigure("bfcl", "Qwen2.5-1.5B-Instruct", "json", 4.0, f"{BFCL_PAPER}: base"),
    PublishedFigure(
        "bfcl", "Qwen2.5-1.5B-Instruct", "bfcl", 1.125, f"{BFCL_PAPER}: mean of the four kinds"
    ),
)
"""Of the same size and family as the model of our results, but no coder. They call `json` FC."""


def group_results(
    results: Iterable[SuiteResult],
) -> dict[tuple[SuiteName, FormName], list[SuiteResult]]:
    """Return the results by suite and form, in their orders."""
    groups: dict[tuple[SuiteName, FormName], list[SuiteResult]] = {}
    forms = list(FORMS)
    for result in sorted(
        results, key=lambda each: (SUITES.index(each.suite), forms.index(each.form))
    ):
        groups.setdefault((result.suite, result.form), []).append(result)
    return groups


def group_by_task(results: Iterable[SuiteResult]) -> dict[str, list[bool]]:
    """Return which repeats passed, by task."""
    found: dict[str, list[bool]] = {}
    for result in results:
        found.setdefault(result.task, []).append(result.passed)
    return found


def list_summary_rows(results: Iterable[SuiteResult]) -> list[tuple[str, ...]]:
    """Return a row for each suite and form."""
    return [
        (
            suite,
            form,
            str(len(group_by_task(group))),
            *format_rate(estimate_rate(group_by_task(group))),
            *format_means(group),
            str(sum(each.ending in ("limit", "too long") for each in group)),
        )
        for (suite, form), group in group_results(results).items()
    ]


def format_means(group: Sequence[SuiteResult]) -> Iterator[str]:
    """Yield the means of a form: calls, calls of tools, tokens in and out, seconds."""
    yield f"{fmean(each.calls for each in group):.1f}"
    yield f"{fmean(each.tool_calls for each in group):.1f}"
    yield f"{fmean(each.input_tokens for each in group):,.0f}"
    yield f"{fmean(each.output_tokens for each in group):,.0f}"
    yield f"{fmean(each.seconds for each in group):.1f}"


def list_difference_rows(results: Iterable[SuiteResult]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each pair of forms of a suite, over the tasks that both have."""
    uniform = make_uniform()
    groups = group_results(results)
    for (suite, one), (other_suite, other) in combinations(groups, 2):
        if suite == other_suite:
            first, second = (group_by_task(groups[suite, form]) for form in (one, other))
            if found := compare_rates(first, second, uniform):
                yield suite, one, other, *format_difference(found)


def list_published_rows(suites: Iterable[SuiteName]) -> list[tuple[str, ...]]:
    """Return a row for each published figure of the suites."""
    return [
        (each.suite, each.model, each.form, f"{each.rate:.2f} %", each.source)
        for each in PUBLISHED_FIGURES
        if each.suite in suites
    ]


def format_suite_tables(results: SuiteResults) -> str:
    """Return the tables that the commands print."""
    tables = [format_text_table(SUMMARY_HEADINGS, list_summary_rows(results.results), labels=2)]
    if rows := list(list_difference_rows(results.results)):
        tables.append(format_text_table(DIFFERENCE_HEADINGS, rows, labels=3))
    if theirs := list_published_rows({each.suite for each in results.results}):
        tables.append("Theirs, quoted and not measured here:")
        tables.append(format_text_table(THEIR_HEADINGS, theirs, labels=3))
    return "\n\n".join(tables)
