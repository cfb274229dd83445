"""Surprise as an alarm: precision, recall and cost on planted wrong effects, as text and as a Markdown report.

model  planted      effects  not compared  alarms  share          95 %
-----  -----------  -------  ------------  ------  -----  ------------
local  wrong value       10             2       6   0.75  0.41 to 0.93
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
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
ListRows = Callable[[Sequence[SurpriseResult]], Iterator[tuple[str, ...]]]
"""Yields the rows of one model, without its name."""


def list_planted_rows(results: Sequence[SurpriseResult]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each kind of mistake."""
    for kind in sorted({each.planted for each in results}, key=lambda kind: (kind != "none", kind)):
        alike = [result for result in results if result.planted == kind]
        compared = [result for result in alike if not result.problem]
        alarms = sum(result.is_surprise for result in compared)
        counts = (len(alike), len(alike) - len(compared), alarms)
        yield (kind, *map(str, counts), *format_share(alarms, len(compared)))


def list_alarm_rows(results: Sequence[SurpriseResult]) -> Iterator[tuple[str, ...]]:
    """Yield precision, recall and false alarms; predictions with a problem are not compared."""
    compared = [result for result in results if not result.problem]
    alarms = [result for result in compared if result.is_surprise]
    mistakes = sum(result.planted != "none" for result in compared)
    hits = sum(result.planted != "none" for result in alarms)
    for measure, part, whole in (
        ("precision (alarms at a mistake, of alarms)", hits, len(alarms)),
        ("recall (alarms at a mistake, of mistakes)", hits, mistakes),
        ("false alarms (of right effects)", len(alarms) - hits, len(compared) - mistakes),
    ):
        share, interval = format_share(part, whole)
        yield measure, share, str(part), str(whole), interval


def list_cost_rows(
    results: Sequence[SurpriseResult], uniform: Uniform
) -> Iterator[tuple[str, ...]]:
    """Yield the tokens and seconds per prediction made; intervals are from a bootstrap over effects."""
    by_effect = group_by(
        (result for result in results if result.output_tokens),
        lambda result: (result.program, result.case, result.piece),
    )
    made = sum(map(len, by_effect.values()))
    for name, places in (("input_tokens", 0), ("output_tokens", 0), ("seconds", 1)):
        values = [[float(getattr(r, name)) for r in found] for found in by_effect.values()]
        if values:
            low, high = compute_bootstrap_interval(values, uniform)
            interval = f"{low:,.{places}f} to {high:,.{places}f}"
            mean = fmean(map(fmean, values))
            yield name.replace("_", " "), f"{mean:,.{places}f}", interval, str(made)


def list_combined_rows(
    results: Sequence[SurpriseResult], uniform: Uniform
) -> Iterator[tuple[str, ...]]:
    """Yield a row for each set of features, if the results have facts about the effects."""
    from spsbench.surprise.combining import combine_alarms  # requires numpy

    known = [result for result in results if result.facts]
    alarms = sum(result.is_surprise for result in known)
    mistakes = sum(result.planted != "none" for result in known)
    if not alarms or not mistakes or len({result.program for result in known}) < 2:
        return
    for alarm in combine_alarms(known, uniform):
        low, high = alarm.interval
        interval = f"{low:.2f} to {high:.2f}"
        low, high = alarm.gain_interval
        gain = f"{alarm.gain:+z.2f}, {low:+z.2f} to {high:+z.2f}"
        gain = "" if alarm.features == "surprise" else gain
        shares = (f"{alarm.hits / alarms:.2f}", f"{alarm.hits / mistakes:.2f}")
        yield (alarm.features, f"{alarm.auc:.2f}", interval, gain, *shares)


def format_share(part: int, whole: int) -> tuple[str, str]:
    """Return a share and its interval (Wilson, 1927); empty if there is nothing to count."""
    if not whole:
        return "", ""
    low, high = compute_pass_interval(part, whole)
    return f"{part / whole:.2f}", f"{low:.2f} to {high:.2f}"


def list_tables(found: Results) -> list[Table]:
    """Return the tables, with rows for each model."""
    ordered = sorted(found.select(SurpriseResult), key=lambda result: result.model)
    groups = group_by(ordered, lambda result: result.model)

    def make_table(headings: tuple[str, ...], list_rows: ListRows) -> Table:
        rows = ((model, *row) for model, group in groups.items() for row in list_rows(group))
        return make_text_table(headings, rows, 2)

    combined = make_table(COMBINED_HEADINGS, partial(list_combined_rows, uniform=make_uniform()))
    return [
        make_table(PLANTED_HEADINGS, list_planted_rows),
        make_table(ALARM_HEADINGS, list_alarm_rows),
        *([combined] if combined.rows else []),
        make_table(COST_HEADINGS, partial(list_cost_rows, uniform=make_uniform())),
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
