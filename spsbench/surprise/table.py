"""Surprise as an alarm: precision and recall on planted wrong effects.

planted            effects  not compared  alarms   share          95 %
-----------------  -------  ------------  ------  ------  ------------
none                    10             1       3    0.33  0.12 to 0.65
dropped jump             2             0       2    1.00  0.34 to 1.00
wrong value              8             1       4    0.57  0.25 to 0.84

precision 0.67 (6 of 9 alarms, 0.35 to 0.88), recall 0.67 (6 of 9 wrong effects compared, 0.35 to 0.88)
a prediction: 310 tokens in, 25 out, 14.2 s
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from njc.comparison.results import compute_pass_interval
from njc.comparison.text import format_text_table
from spsbench.surprise.results import SurpriseResult

HEADINGS = ("planted", "effects", "not compared", "alarms", "share", "95 %")


def format_surprise_table(results: Sequence[SurpriseResult]) -> str:
    """The alarms by what was planted, and precision, recall and cost; intervals of Wilson (1927)."""
    kinds = ["none", *sorted({result.planted for result in results} - {"none"})]
    rows = [_make_row(kind, [r for r in results if r.planted == kind]) for kind in kinds]
    compared = [result for result in results if not result.problem]
    wrong = [result for result in compared if result.planted != "none"]
    alarms = [result for result in compared if result.is_surprise]
    hits = sum(result.planted != "none" for result in alarms)
    asked = [result for result in results if result.output_tokens] or results
    return "\n".join(
        [
            format_text_table(HEADINGS, rows),
            "",
            f"precision {_format_share(hits, len(alarms), 'alarms')}, "
            f"recall {_format_share(hits, len(wrong), 'wrong effects compared')}",
            f"a prediction: {fmean(result.input_tokens for result in asked):,.0f} tokens in, "
            f"{fmean(result.output_tokens for result in asked):,.0f} out, "
            f"{fmean(result.seconds for result in asked):.1f} s",
        ]
    )


def _make_row(kind: str, results: Sequence[SurpriseResult]) -> tuple[str, ...]:
    compared = [result for result in results if not result.problem]
    alarms = sum(result.is_surprise for result in compared)
    low, high = compute_pass_interval(alarms, len(compared))
    share = f"{alarms / len(compared):.2f}" if compared else ""
    return (
        kind,
        str(len(results)),
        str(len(results) - len(compared)),
        str(alarms),
        share,
        f"{low:.2f} to {high:.2f}" if compared else "",
    )


def _format_share(part: int, whole: int, noun: str) -> str:
    if not whole:
        return f"unknown (no {noun})"
    low, high = compute_pass_interval(part, whole)
    return f"{part / whole:.2f} ({part} of {whole} {noun}, {low:.2f} to {high:.2f})"
