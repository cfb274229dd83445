"""The results of repairs as tables of text and as a Markdown report.

model  condition  problems  samples  pass@1            95 %  pass@k            95 %  no code  calls  tokens in  out
-----  ---------  --------  -------  ------  --------------  ------  --------------  -------  -----  ---------  ---
local  trace            31        2   0.419  0.264 to 0.592   0.516  0.348 to 0.680        1    1.0        812  190
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from njc.evaluation.comparison.text import format_text_table
from spsbench.repair.results import CONDITIONS, Condition, RepairResult, RepairResults
from spsbench.report.by_problem import (
    PairedDifference,
    RateEstimate,
    compare_rates,
    count_samples,
    estimate_rate,
    format_difference,
    format_rate,
)
from spsbench.report.files import SEED, make_uniform
from spsbench.report.measures import BOOTSTRAP_ROUNDS, Uniform
from spsbench.report.results_report import describe_machines, format_sample, render_template

SUMMARY_HEADINGS = (
    *("model", "condition", "problems", "samples", "pass@1", "95 %", "pass@k", "95 %"),
    *("no code", "calls", "tokens in", "out", "seconds"),
)
DIFFERENCE_HEADINGS = (
    *("model", "condition", "minus", "problems", "difference", "95 %", "better on", "worse on"),
)


def list_summary_rows(summaries: Sequence[ConditionSummary]) -> list[tuple[str, ...]]:
    """Return a row for each model and condition."""
    return [
        (
            row.model,
            row.condition,
            str(row.rates[0].problems),
            str(row.samples),
            *format_rate(row.rates[0]),
            *(format_rate(row.rates[-1]) if row.samples > 1 else ("", "")),
            str(row.without_code),
            f"{row.calls:.1f}",
            f"{row.input_tokens:,.0f}",
            f"{row.output_tokens:,.0f}",
            f"{row.seconds:.1f}",
        )
        for row in summaries
    ]


def list_difference_rows(results: Sequence[RepairResult]) -> list[tuple[str, ...]]:
    """Return a row for each pair of conditions."""
    return [
        (*names, *format_difference(difference))
        for *names, difference in compare_conditions(results, make_uniform())
    ]


def format_repair_tables(results: RepairResults) -> str:
    """Return the tables of text that the command prints."""
    tables = [
        format_text_table(
            SUMMARY_HEADINGS,
            list_summary_rows(summarize_conditions(results.results)),
            labels=2,
        )
    ]
    if rows := list_difference_rows(results.results):
        tables.append(format_text_table(DIFFERENCE_HEADINGS, rows, labels=3))
    return "\n\n".join(tables)


def render_repair_report(parts: Sequence[tuple[str, str, RepairResults]], command: str) -> str:
    """The report in Markdown, of files given as name, digest and results; the same results make the same text."""
    sections = [
        {
            "name": name,
            "digest": digest,
            "facts": list(list_run_facts(results)),
            "summaries": list_summary_rows(summarize_conditions(results.results)),
            "differences": list_difference_rows(results.results),
        }
        for name, digest, results in parts
    ]
    return render_template(
        "spsbench.repair",
        "report.md",
        sections=sections,
        summary_headings=SUMMARY_HEADINGS,
        difference_headings=DIFFERENCE_HEADINGS,
        command=command,
        rounds=BOOTSTRAP_ROUNDS,
        seed=SEED,
    )


def list_run_facts(results: RepairResults) -> Iterator[tuple[str, str]]:
    """Yield where, when and how the repairs ran; starts that only continued a run are not repeated."""
    seen: dict[tuple[str, str], None] = {}
    for run in results.runs:
        settings = run.settings
        data = ", ".join(f"{name} (sha256 {digest})" for name, digest in run.data.items())
        asked = {result.problem for result in results.results if result.model == run.model}
        alike = [other for other in results.runs if other.model == run.model]
        drawn = format_sample(len(asked), run.problems, "problems", alike)
        temperature = (
            "the vendor's" if settings.temperature is None else f"{settings.temperature:g}"
        )
        tokens = f", {settings.tokens:,} tokens" if settings.tokens else ""
        versions = ", ".join(f"{name} {version}" for name, version in sorted(run.versions.items()))
        rationales = f"; rationales by {run.rationales}" if run.rationales else ""
        facts = (
            ("Model", f"{run.model}{f' ({run.note})' if run.note else ''}{rationales}"),
            ("Data", f"{data}: {drawn}"),
            (
                "Budget of a repair",
                f"{settings.calls} calls{tokens}, {settings.reply_tokens:,} tokens a reply, temperature "
                f"{temperature}, {settings.test_seconds:g} s for the tests",
            ),
            ("Machine", describe_machines(alike, "repairs")),
            ("Versions", f"Python {run.python}, {versions}"),
            ("Measured", run.started[:10]),
        )
        seen |= dict.fromkeys(facts)
    yield from seen


# ── pass rates of repairs ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class ConditionSummary:
    """The repairs of one model under one condition."""

    model: str
    condition: Condition
    samples: int
    """Of each problem; the least, where they differ."""
    rates: tuple[RateEstimate, ...]
    """pass@1, and with several samples pass@k for as many."""
    without_code: int
    """Repairs in which no reply had code."""
    calls: float
    """Means of a repair, here and below."""
    input_tokens: float
    output_tokens: float
    seconds: float


def summarize_conditions(results: Iterable[RepairResult]) -> list[ConditionSummary]:
    """Summarize each model and condition."""
    groups = group_results(results)
    return [_summarize(*key, groups[key]) for key in sort_keys(groups)]


def _summarize(
    model: str, condition: Condition, results: Sequence[RepairResult]
) -> ConditionSummary:
    passes = group_by_problem(results)
    samples = count_samples(passes)
    return ConditionSummary(
        model,
        condition,
        samples,
        tuple(estimate_rate(passes, k) for k in sorted({1, samples})),
        sum(not any(reply.code for reply in result.replies) for result in results),
        fmean(len(result.replies) for result in results),
        fmean(result.input_tokens for result in results),
        fmean(result.output_tokens for result in results),
        fmean(result.seconds for result in results),
    )


def compare_conditions(
    results: Iterable[RepairResult], uniform: Uniform
) -> Iterator[tuple[str, Condition, Condition, PairedDifference]]:
    """Compare all pairs of conditions of each model that have problems in common."""
    groups = group_results(results)
    for (model, one), (other_model, other) in combinations(sort_keys(groups), 2):
        if model == other_model:
            first, second = (group_by_problem(groups[model, name]) for name in (one, other))
            if found := compare_rates(first, second, uniform):
                yield model, one, other, found


def group_results(
    results: Iterable[RepairResult],
) -> dict[tuple[str, Condition], list[RepairResult]]:
    """Return the results by model and condition."""
    groups: dict[tuple[str, Condition], list[RepairResult]] = {}
    for result in results:
        groups.setdefault((result.model, result.condition), []).append(result)
    return groups


def sort_keys(groups: Iterable[tuple[str, Condition]]) -> list[tuple[str, Condition]]:
    """Models by name, the conditions of each in their order."""
    return sorted(groups, key=lambda key: (key[0], CONDITIONS.index(key[1])))


def group_by_problem(results: Iterable[RepairResult]) -> dict[str, list[bool]]:
    """Which samples passed, by problem."""
    found: dict[str, list[bool]] = {}
    for result in sorted(results, key=lambda result: (result.problem, result.sample)):
        found.setdefault(result.problem, []).append(result.passed)
    return found
