"""Pass rates of cases for each model, as a table and as a page that shows the failures first.

    model                      passed   rate   95 % interval  calls  tokens           cost  seconds
    -------------------------  ------  -----  --------------  -----  ------  -------------  -------
    openai/qwen2.5-coder-1.5b  6 of 6  1.000  0.438 to 1.000      6     908  price unknown     14.9

`pass^k` is the probability that a case passes k times in a row, by the estimate of Yao et al. (2024,
https://arxiv.org/abs/2406.12045), averaged over the cases; the interval is Wilson's, over the cases.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from njc.evaluation.cases.case_file import NumberedCase, get_contents
from njc.evaluation.cases.runner import CaseResult
from njc.evaluation.comparison.page import render_template
from njc.evaluation.comparison.results import PassSummary
from njc.evaluation.comparison.text import format_text_table
from njrt.observability.accounts import format_cost
from njrt.records import record


@record
class Summary(PassSummary):
    """All runs of a model, or of a version of the program."""

    name: str
    results: Mapping[str, Sequence[CaseResult]]
    """Each case's runs, by the case's digest."""

    @property
    def runs(self) -> list[CaseResult]:
        return [result for results in self.results.values() for result in results]

    @property
    def groups(self) -> Sequence[tuple[int, int]]:
        groups = merge_equal(self.results).values()
        return [(sum(run.passed for run in runs), len(runs)) for runs in groups]


def name_models(results: Mapping[str, Sequence[CaseResult]]) -> str:
    """Return the names of the models that the blocks asked."""
    blocks = (block for runs in results.values() for run in runs for block in run.blocks)
    return ", ".join(dict.fromkeys(block.model for block in blocks if block.model)) or "no model"


def format_table(summaries: Sequence[Summary]) -> str:
    """Return the table of all summaries."""
    return format_text_table(*_make_table(summaries))


def _make_table(summaries: Sequence[Summary]) -> tuple[list[str], list[list[str]]]:
    head = ["model", "passed", "rate", "95 % interval", "calls", "tokens", "cost", "seconds"]
    warnings = [sum(len(run.warnings) for run in each.runs) for each in summaries]
    rows = []
    for each, count in zip(summaries, warnings, strict=True):
        runs, (low, high) = each.runs, each.pass_interval
        rows.append(
            [
                each.name,
                f"{each.passed:,} of {len(runs):,}",
                f"{each.pass_rate:.3f}",
                f"{low:.3f} to {high:.3f}",
                f"{sum(run.calls for run in runs):,}",
                f"{sum(run.input + run.output for run in runs):,}",
                format_cost(sum(run.usd for run in runs), sum(run.unpriced for run in runs)),
                f"{sum(run.seconds for run in runs):.1f}",
                *[f"{count:,}"] * any(warnings),
            ]
        )
    return [*head, *["warnings"] * any(warnings)], rows


def format_warnings(
    cases: Sequence[NumberedCase], summaries: Sequence[Summary], most: int = 10
) -> Iterator[str]:
    """Yield a line for each warning of a run that passed; failed runs already have a line."""
    titles = {numbered.digest: numbered.title for numbered in cases}
    lines = dict.fromkeys(
        f"{titles[run.case]}: warning: {warning}"
        for summary in summaries
        for run in summary.runs
        if run.passed
        for warning in run.warnings
    )
    yield from [*lines][:most]
    if len(lines) > most:
        yield f"{len(lines) - most:,} more warnings"


def format_failures(
    cases: Sequence[NumberedCase], summaries: Sequence[Summary], most: int = 20
) -> Iterator[str]:
    """Yield a line for each failed case, starting with the most frequent failures."""
    failed: list[tuple[int, str]] = []
    for summary in summaries:
        for numbered in cases:
            runs = summary.results.get(numbered.digest, ())
            if problems := [run.problem for run in runs if not run.passed]:
                version = f", {summary.name}" if len(summaries) > 1 else ""
                times = f" ({len(problems)} of {len(runs)} runs)" if len(runs) > 1 else ""
                failed.append((len(problems), f"{numbered.title}{version}: {problems[0]}{times}"))
    failed.sort(key=lambda row: -row[0])
    yield from (text for _, text in failed[:most])
    if len(failed) > most:
        yield f"{len(failed) - most:,} more have failed"


def compare_versions(before: Summary, after: Summary) -> str:
    """Return in how many cases one version passes more often than the other, with a sign test."""
    better, worse = count_changes(merge_equal(before.results), merge_equal(after.results))
    return (
        f"{after.name} against {before.name}: better in {better} cases, worse in {worse}; "
        f"by chance alone in {compute_sign_test(better, worse):.2f} of all comparisons"
    )


def merge_equal(results: Mapping[str, Sequence[CaseResult]]) -> dict[str, list[CaseResult]]:
    """Return the runs by case content: equal cases, which are not independent, count as repeats of one case."""
    merged: dict[str, list[CaseResult]] = {}
    for digest, runs in results.items():
        merged.setdefault(get_contents(digest), []).extend(runs)
    return merged


def count_changes(
    before: Mapping[str, Sequence[CaseResult]], after: Mapping[str, Sequence[CaseResult]]
) -> tuple[int, int]:
    """Return in how many cases the later runs pass more often than the earlier ones, and in how many less often."""
    better = worse = 0
    for digest, runs in after.items():
        old = before.get(digest, ())
        rates = [sum(run.passed for run in each) / (len(each) or 1) for each in (old, runs)]
        better += rates[1] > rates[0]
        worse += rates[1] < rates[0]
    return better, worse


def compute_sign_test(better: int, worse: int) -> float:
    """Return the two-sided p-value of a sign test."""
    total = better + worse
    tail = sum(math.comb(total, k) for k in range(min(better, worse) + 1))
    return min(1.0, 2 * tail / (1 << total))  # integers do not overflow


def render_page(title: str, cases: Sequence[NumberedCase], summaries: Sequence[Summary]) -> str:
    """Render the page; needs jinja2 (the extra `bench`)."""
    headings, rows = _make_table(summaries)
    results = [
        (numbered, summary.name, summary.results.get(numbered.digest, ()))
        for numbered in cases
        for summary in summaries
    ]
    results.sort(key=lambda result: all(run.passed for run in result[2]))
    write = partial(json.dumps, indent=2, ensure_ascii=False, default=str)
    parts = {"title": title, "headings": headings, "rows": rows, "cases": results, "write": write}
    return render_template("cases.html", **parts)
