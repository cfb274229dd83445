"""Repair results as text tables and as a Markdown report.

model  condition  problems  samples  pass@1            95 %  pass@k            95 %  no code  calls
-----  ---------  --------  -------  ------  --------------  ------  --------------  -------  -----
local  trace            31        2   0.419  0.264 to 0.592   0.516  0.348 to 0.680        1    1.0
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from spsbench.repair.results import CONDITIONS, REPAIR_KINDS, RepairResult, RepairRun
from spsbench.report.by_problem import group_passes, list_difference_rows, list_rate_cells
from spsbench.report.files import make_uniform
from spsbench.report.measures import Uniform
from spsbench.report.results_report import (
    Facts,
    ResultsReport,
    format_model,
    format_sample,
    list_run_facts,
)
from spsbench.report.table import Table, make_text_table
from spsbench.results import Results, group_by, list_mean_cells

SUMMARY_HEADINGS = (
    *("model", "condition", "problems", "samples", "pass@1", "95 %", "pass@k", "95 %"),
    *("no code", "calls", "tokens in", "out", "seconds"),
)
DIFFERENCE_HEADINGS = (
    *("model", "condition", "minus", "problems", "difference", "95 %", "better on", "worse on"),
)


def group_results(results: Iterable[RepairResult]) -> dict[tuple[str, ...], list[RepairResult]]:
    """Return the results by model and condition, in the order of the tables, problem by problem."""

    def order(result: RepairResult) -> tuple[object, ...]:
        place = CONDITIONS.index(result.condition)
        return result.model, place, result.problem, result.sample

    return group_by(sorted(results, key=order), lambda result: (result.model, result.condition))


def list_summary_rows(results: Iterable[RepairResult]) -> Iterator[tuple[str, ...]]:
    """Yield a row per model and condition: pass@1, pass@k for several samples, means per repair."""
    for key, group in group_results(results).items():
        passes = group_passes(group, lambda result: result.problem)
        yield (
            *key,
            *list_rate_cells(passes),
            str(sum(not any(reply.code for reply in result.replies) for result in group)),
            f"{fmean(len(result.replies) for result in group):.1f}",
            *list_mean_cells(group, "input_tokens", "output_tokens", "seconds"),
        )


def compare_conditions(results: Iterable[RepairResult], uniform: Uniform) -> list[tuple[str, ...]]:
    """Return a row for each pair of a model's conditions that have problems in common."""
    groups = group_results(results)
    return list_difference_rows(groups, lambda result: result.problem, lambda: uniform)


def list_tables(found: Results) -> list[Table]:
    """Return the table of rates, and the differences if a model has several conditions."""
    rates = make_text_table(SUMMARY_HEADINGS, list_summary_rows(found.select(RepairResult)), 2)
    rows = compare_conditions(found.select(RepairResult), make_uniform())
    return [rates, *([make_text_table(DIFFERENCE_HEADINGS, rows, 3)] if rows else [])]


def list_facts(found: Results) -> Facts:
    """Return the places, times and settings of the repairs."""

    def describe(run: RepairRun, alike: Sequence[RepairRun]) -> Facts:
        settings, results = run.settings, found.select(RepairResult)
        data = ", ".join(f"{name} (sha256 {digest})" for name, digest in run.data.items())
        asked = {result.problem for result in results if result.model == run.model}
        drawn = format_sample(len(asked), run.problems, "problems", alike)
        temperature = (
            "the vendor's" if settings.temperature is None else f"{settings.temperature:g}"
        )
        tokens = f", {settings.tokens:,} tokens" if settings.tokens else ""
        rationales = f"; rationales by {run.rationales}" if run.rationales else ""
        yield "Model", f"{format_model(run)}{rationales}"
        yield "Data", f"{data}: {drawn}"
        yield (
            "Budget of a repair",
            (
                f"{settings.calls} calls{tokens}, {settings.reply_tokens:,} tokens a reply,"
                f" temperature {temperature}, {settings.test_seconds:g} s for the tests"
            ),
        )

    return list_run_facts(found.select(RepairRun), "repairs", describe)


REPORT = ResultsReport("repair-report", "spsbench.repair", REPAIR_KINDS, list_tables, list_facts)
