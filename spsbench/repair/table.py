"""Repair results as a report.

| model | condition | problems | samples | pass@1 |           95 % | pass@k |           95 % | ...
| ----- | --------- | -------: | ------: | -----: | -------------: | -----: | -------------: | ...
| local | trace     |       31 |       2 |  0.419 | 0.264 to 0.592 |  0.516 | 0.348 to 0.680 | ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

from spsbench.repair.results import CONDITIONS, REPAIR_KINDS, RepairResult, RepairRun
from spsbench.report.by_problem import group_passes, list_difference_rows, list_rate_cells
from spsbench.report.document import (
    Facts,
    ResultsReport,
    Table,
    format_facts,
    format_table,
    list_run_facts,
)
from spsbench.report.measures import BOOTSTRAP_ROUNDS, SEED
from spsbench.results import Results, group_by

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
            f"{fmean(result.input_tokens for result in group):,.0f}",
            f"{fmean(result.output_tokens for result in group):,.0f}",
            f"{fmean(result.seconds for result in group):.1f}",
        )


def list_tables(results: Iterable[RepairResult]) -> list[Table]:
    """Return the table of rates, and the differences of the conditions of each model."""
    results = list(results)
    rates = Table(SUMMARY_HEADINGS, list(list_summary_rows(results)), 2)
    rows = list_difference_rows(group_results(results), lambda result: result.problem)
    return [rates, *([Table(DIFFERENCE_HEADINGS, rows, 3)] if rows else [])]


def format_tables(found: Results) -> str:
    """Return the tables as the command prints them."""
    return "\n\n".join(map(format_table, list_tables(found.select(RepairResult))))


def format_sample(asked: int, runs: Sequence[RepairRun]) -> str:
    """Return the size of a sample and how it was drawn: `12 of 195 problems, drawn with seed 1`."""
    problems = runs[0].problems
    if asked >= problems:
        return f"all {problems} problems"
    draws = (
        f"seed {run.seed}" + (f", with its share of each {run.strata}" if run.strata else "")
        for run in runs
    )
    return f"{asked} of {problems} problems, drawn with {' and '.join(dict.fromkeys(draws))}"


def list_facts(found: Results) -> Facts:
    """Return the places, times and settings of the repairs."""

    def describe(run: RepairRun, alike: Sequence[RepairRun]) -> Facts:
        settings, results = run.settings, found.select(RepairResult)
        data = ", ".join(f"{name} (sha256 {digest})" for name, digest in run.data.items())
        asked = {result.problem for result in results if result.model == run.model}
        drawn = format_sample(len(asked), alike)
        temperature = (
            "the vendor's" if settings.temperature is None else f"{settings.temperature:g}"
        )
        tokens = f", {settings.tokens:,} tokens" if settings.tokens else ""
        note = f" ({run.note})" if run.note else ""
        rationales = f"; rationales by {run.rationales}" if run.rationales else ""
        yield "Model", f"{run.model}{note}{rationales}"
        yield "Data", f"{data}: {drawn}"
        yield (
            "Budget of a repair",
            (
                f"{settings.calls} calls{tokens}, {settings.reply_tokens:,} tokens a reply,"
                f" temperature {temperature}, {settings.test_seconds:g} s for the tests"
            ),
        )

    return list_run_facts(found.select(RepairRun), "repairs", describe)


INTRODUCTION = f"""\
# Repairs

A model is shown a buggy program and, by condition, the failing test and the steps of its run as
inline comments. It writes a rationale, then the fix. A repair passes if all tests pass. See
spsbench/docs/repair.md.

`pass@k` is the unbiased estimator of Chen et al. (2021), with k the samples of each problem.
Intervals of pass@1 and pass@k: Wilson, 95 %, over problems. Those of differences are paired by
problem: bootstrap of {BOOTSTRAP_ROUNDS:,} rounds, seed {SEED}, and none where all problems have the
same difference. `better on` and `worse on` count problems whose pass rate differs."""


def write_report(files: Mapping[str, Results]) -> Iterator[str]:
    """Yield the parts of the report: a section for each file."""
    yield INTRODUCTION
    for name, found in files.items():
        yield f"## {name}"
        yield format_facts(list_facts(found))
        yield format_tables(found)


REPORT = ResultsReport("repair-report", REPAIR_KINDS, write_report)
