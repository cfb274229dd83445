"""Surprise as an alarm: precision, recall and cost on planted wrong effects, as text and as a Markdown report.

model  planted      effects  not compared  alarms  share          95 %
-----  -----------  -------  ------------  ------  -----  ------------
local  none              10             1       3   0.33  0.12 to 0.65
local  wrong value       10             2       6   0.75  0.41 to 0.93

model  measure     share  of          95 %
-----  ----------  -----  --  ------------
local  precision    0.67   9  0.35 to 0.88
local  recall       0.75   8  0.41 to 0.93
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from njc.evaluation.comparison.results import compute_pass_interval
from njc.evaluation.comparison.text import format_text_table
from spsbench.report.files import SEED, make_uniform
from spsbench.report.measures import BOOTSTRAP_ROUNDS, Uniform, compute_bootstrap_interval
from spsbench.report.results_report import describe_machines, format_sample, render_template
from spsbench.surprise.results import SurpriseResult, SurpriseResults

PLANTED_HEADINGS = ("model", "planted", "effects", "not compared", "alarms", "share", "95 %")
ALARM_HEADINGS = ("model", "measure", "share", "part", "of", "95 %")
COST_HEADINGS = ("model", "cost of a prediction", "mean", "95 %", "predictions")


@dataclass(frozen=True, slots=True)
class AlarmCounts:
    """Alarms of one model: what they were raised for, of the predictions that were compared."""

    hits: int
    """At planted mistakes."""
    false_alarms: int
    mistakes: int
    right_effects: int

    def list_shares(self) -> Iterator[tuple[str, int, int]]:
        """Measures as parts of wholes."""
        yield "precision (alarms at a mistake, of alarms)", self.hits, self.hits + self.false_alarms
        yield "recall (alarms at a mistake, of mistakes)", self.hits, self.mistakes
        yield "false alarms (of right effects)", self.false_alarms, self.right_effects


def count_alarms(results: Sequence[SurpriseResult]) -> AlarmCounts:
    """Count the alarms; predictions with a problem are not compared."""
    compared = [result for result in results if not result.problem]
    wrong = [result for result in compared if result.planted != "none"]
    right = [result for result in compared if result.planted == "none"]
    return AlarmCounts(
        sum(result.is_surprise for result in wrong),
        sum(result.is_surprise for result in right),
        len(wrong),
        len(right),
    )


def list_planted_rows(results: Sequence[SurpriseResult]) -> list[tuple[str, ...]]:
    """Return a row for each model and kind of mistake."""
    rows = []
    for model, group in group_by_model(results).items():
        kinds = sorted(
            {result.planted for result in group}, key=lambda kind: (kind != "none", kind)
        )
        for kind in kinds:
            alike = [result for result in group if result.planted == kind]
            compared = [result for result in alike if not result.problem]
            alarms = sum(result.is_surprise for result in compared)
            share, interval = format_share(alarms, len(compared))
            counts = (len(alike), len(alike) - len(compared), alarms)
            rows.append((model, kind, *map(str, counts), share, interval))
    return rows


def list_alarm_rows(results: Sequence[SurpriseResult]) -> list[tuple[str, ...]]:
    """Precision, recall and false alarms of each model."""
    return [
        (model, measure, share, str(part), str(whole), interval)
        for model, group in group_by_model(results).items()
        for measure, part, whole in count_alarms(group).list_shares()
        for share, interval in [format_share(part, whole)]
    ]


def list_cost_rows(results: Sequence[SurpriseResult], uniform: Uniform) -> list[tuple[str, ...]]:
    """Tokens and seconds of the predictions that were made; the interval is that of a bootstrap over effects."""
    rows: list[tuple[str, ...]] = []
    for model, group in group_by_model(results).items():
        by_effect: dict[tuple[object, ...], list[SurpriseResult]] = {}
        for result in group:
            if result.output_tokens:
                key = (result.program, result.case, result.piece)
                by_effect.setdefault(key, []).append(result)
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


def group_by_model(results: Sequence[SurpriseResult]) -> dict[str, list[SurpriseResult]]:
    """Return the results of each model."""
    groups: dict[str, list[SurpriseResult]] = {}
    for result in sorted(results, key=lambda result: result.model):
        groups.setdefault(result.model, []).append(result)
    return groups


def format_share(part: int, whole: int) -> tuple[str, str]:
    """Return a share and its interval (Wilson, 1927); empty if there is nothing to count."""
    if not whole:
        return "", ""
    low, high = compute_pass_interval(part, whole)
    return f"{part / whole:.2f}", f"{low:.2f} to {high:.2f}"


def list_tables(
    results: Sequence[SurpriseResult],
) -> list[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    """Return the headings and the rows of each table."""
    return [
        (PLANTED_HEADINGS, list_planted_rows(results)),
        (ALARM_HEADINGS, list_alarm_rows(results)),
        (COST_HEADINGS, list_cost_rows(results, make_uniform())),
    ]


def format_surprise_tables(found: SurpriseResults) -> str:
    """Return the tables of text that the command prints."""
    return "\n\n".join(
        format_text_table(headings, rows, labels=2) for headings, rows in list_tables(found.results)
    )


def render_surprise_report(parts: Sequence[tuple[str, str, SurpriseResults]], command: str) -> str:
    """The report in Markdown, of files given as name, digest and results; the same results make the same text."""
    return render_template(
        "spsbench.surprise",
        "report.md",
        sections=[
            {
                "name": name,
                "digest": digest,
                "facts": list(list_surprise_facts(found)),
                "tables": list_tables(found.results),
            }
            for name, digest, found in parts
        ],
        command=command,
        rounds=BOOTSTRAP_ROUNDS,
        seed=SEED,
    )


def list_surprise_facts(found: SurpriseResults) -> Iterator[tuple[str, str]]:
    """Yield where, when and how effects were predicted; starts that only continued a run are not repeated."""
    seen: dict[tuple[str, str], None] = {}
    for run in found.runs:
        asked = {
            (result.program, result.case, result.piece)
            for result in found.results
            if result.model == run.model
        }
        alike = [other for other in found.runs if other.model == run.model]
        drawn = format_sample(len(asked), run.effects, "effects", alike)
        versions = ", ".join(f"{name} {version}" for name, version in sorted(run.versions.items()))
        facts = (
            ("Model", f"{run.model}{f' ({run.note})' if run.note else ''}"),
            ("Effects", drawn),
            ("Machine", describe_machines(alike, "predictions")),
            ("Versions", f"Python {run.python}, {versions}"),
            ("Measured", run.started[:10]),
        )
        seen |= dict.fromkeys(facts)
    yield from seen
