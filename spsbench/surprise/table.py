"""Surprise as an alarm: precision, recall and cost on planted wrong effects, as text and as a Markdown report.

model  planted      effects  not compared  alarms  share          95 %
-----  -----------  -------  ------------  ------  -----  ------------
local  wrong value       10             2       6   0.75  0.41 to 0.93
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from njc.evaluation.comparison.results import compute_pass_interval
from spsbench.report.files import make_uniform
from spsbench.report.measures import Uniform, compute_bootstrap_interval
from spsbench.report.results_report import (
    Facts,
    ResultsReport,
    format_model,
    format_sample,
    list_run_facts,
)
from spsbench.report.table import Table, make_text_table
from spsbench.results import Results, group_by
from spsbench.surprise.results import SURPRISE_KINDS, SurpriseResult, SurpriseRun

PLANTED_HEADINGS = ("model", "planted", "effects", "not compared", "alarms", "share", "95 %")
ALARM_HEADINGS = ("model", "measure", "share", "part", "of", "95 %")
COMBINED_HEADINGS = (
    *("model", "alarm from", "AUC", "95 %", "more than the row above, 95 %"),
    *("precision", "recall"),
)
COST_HEADINGS = ("model", "cost of a prediction", "mean", "95 %", "predictions")


def list_planted_rows(results: Sequence[SurpriseResult]) -> list[tuple[str, ...]]:
    """Return a row for each model and kind of mistake."""
    rows: list[tuple[str, ...]] = []
    for model, group in group_by_model(results).items():
        kinds = sorted({each.planted for each in group}, key=lambda kind: (kind != "none", kind))
        for kind in kinds:
            alike = [result for result in group if result.planted == kind]
            compared = [result for result in alike if not result.problem]
            alarms = sum(result.is_surprise for result in compared)
            share, interval = format_share(alarms, len(compared))
            counts = (len(alike), len(alike) - len(compared), alarms)
            rows.append((model, kind, *map(str, counts), share, interval))
    return rows


def list_alarm_rows(results: Sequence[SurpriseResult]) -> list[tuple[str, ...]]:
    """Return precision, recall and false alarms of each model; predictions with a problem are not compared."""
    rows: list[tuple[str, ...]] = []
    for model, group in group_by_model(results).items():
        compared = [result for result in group if not result.problem]
        alarms = [result for result in compared if result.is_surprise]
        mistakes = sum(result.planted != "none" for result in compared)
        hits = sum(result.planted != "none" for result in alarms)
        for measure, part, whole in (
            ("precision (alarms at a mistake, of alarms)", hits, len(alarms)),
            ("recall (alarms at a mistake, of mistakes)", hits, mistakes),
            ("false alarms (of right effects)", len(alarms) - hits, len(compared) - mistakes),
        ):
            share, interval = format_share(part, whole)
            rows.append((model, measure, share, str(part), str(whole), interval))
    return rows


def list_cost_rows(results: Sequence[SurpriseResult], uniform: Uniform) -> list[tuple[str, ...]]:
    """Return tokens and seconds of the predictions that were made; the interval is from a bootstrap over effects."""
    rows: list[tuple[str, ...]] = []
    for model, group in group_by_model(results).items():
        by_effect = group_by(
            (result for result in group if result.output_tokens),
            lambda result: (result.program, result.case, result.piece),
        )
        made = sum(map(len, by_effect.values()))
        for name, places in (("input_tokens", 0), ("output_tokens", 0), ("seconds", 1)):
            values = [[float(getattr(r, name)) for r in found] for found in by_effect.values()]
            if values:
                low, high = compute_bootstrap_interval(values, uniform)
                mean = fmean(map(fmean, values))
                interval = f"{low:,.{places}f} to {high:,.{places}f}"
                words = name.replace("_", " ")
                rows.append((model, words, f"{mean:,.{places}f}", interval, str(made)))
    return rows


def list_combined_rows(
    results: Sequence[SurpriseResult], uniform: Uniform
) -> list[tuple[str, ...]]:
    """Return a row for each model and set of features, if the results have facts about the effects."""
    from spsbench.surprise.combining import combine_alarms  # it needs numpy

    rows: list[tuple[str, ...]] = []
    for model, group in group_by_model(results).items():
        known = [result for result in group if result.facts]
        alarms = sum(result.is_surprise for result in known)
        mistakes = sum(result.planted != "none" for result in known)
        if not alarms or not mistakes or len({result.program for result in known}) < 2:
            continue
        for alarm in combine_alarms(known, uniform):
            low, high = alarm.gain_interval
            gain = f"{alarm.gain:+.2f}, {low:+.2f} to {high:+.2f}"
            shares = (f"{alarm.hits / alarms:.2f}", f"{alarm.hits / mistakes:.2f}")
            auc, (low, high) = f"{alarm.auc:.2f}", alarm.interval
            interval = f"{low:.2f} to {high:.2f}"
            gain = "" if alarm.features == "surprise" else gain
            rows.append((model, alarm.features, auc, interval, gain, *shares))
    return rows


def group_by_model(results: Sequence[SurpriseResult]) -> dict[str, list[SurpriseResult]]:
    """Return the results of each model."""
    return group_by(sorted(results, key=lambda result: result.model), lambda result: result.model)


def format_share(part: int, whole: int) -> tuple[str, str]:
    """Return a share and its interval (Wilson, 1927); empty if there is nothing to count."""
    if not whole:
        return "", ""
    low, high = compute_pass_interval(part, whole)
    return f"{part / whole:.2f}", f"{low:.2f} to {high:.2f}"


def list_tables(found: Results) -> list[Table]:
    """Return the tables."""
    results = found.select(SurpriseResult)
    combined = list_combined_rows(results, make_uniform())
    return [
        make_text_table(PLANTED_HEADINGS, list_planted_rows(results), 2),
        make_text_table(ALARM_HEADINGS, list_alarm_rows(results), 2),
        *([make_text_table(COMBINED_HEADINGS, combined, 2)] if combined else []),
        make_text_table(COST_HEADINGS, list_cost_rows(results, make_uniform()), 2),
    ]


def list_facts(found: Results) -> Facts:
    """Return the places, times and settings of the predictions."""

    def describe(run: SurpriseRun, alike: Sequence[SurpriseRun]) -> Facts:
        results = found.select(SurpriseResult)
        own = [result for result in results if result.model == run.model]
        asked = {(result.program, result.case, result.piece) for result in own}
        yield "Model", format_model(run)
        yield "Effects", format_sample(len(asked), run.effects, "effects", alike)

    return list_run_facts(found.select(SurpriseRun), "predictions", describe)


REPORT = ResultsReport(
    "surprise-report", "spsbench.surprise", SURPRISE_KINDS, list_tables, list_facts
)
