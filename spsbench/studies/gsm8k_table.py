"""The means over many problems of GSM8K, as a table: a row for each method, and the paper's rows below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import mean, stdev

from njc.evaluation.comparison.text import format_text_table
from spsbench.published import PUBLISHED_TABLES
from spsbench.results import Gsm8kResult

COLUMNS = ("method", "problems", "pass rate", "seconds", "effects", "calls")


def format_gsm8k_table(results: Iterable[Gsm8kResult]) -> str:
    """Return a row for each method, and the paper's table 8."""
    groups: dict[str, list[Gsm8kResult]] = {}
    for result in results:
        groups.setdefault(result.method, []).append(result)
    ours = [make_gsm8k_row(method, group) for method, group in groups.items()]
    paper = [
        (f"{model} {name}", rate, seconds, effects)
        for model, name, rate, seconds, effects in PUBLISHED_TABLES[8].rows
    ]
    return "\n".join(
        (
            format_text_table(COLUMNS, ours),
            "",
            "The paper's table 8, quoted and not measured here, 1319 problems three times:",
            format_text_table(("method", "pass rate", "seconds", "effects"), paper),
        )
    )


def make_gsm8k_row(method: str, group: Sequence[Gsm8kResult]) -> tuple[str, ...]:
    """Return the means of one method; with repeats, the spread of the pass rate over them."""
    repeats = sorted({result.repeat for result in group})
    rates = [
        mean(result.passed for result in group if result.repeat == repeat) for repeat in repeats
    ]
    spread = f" ± {stdev(rates):.2f}" if len(rates) > 1 else ""
    problems = len({result.problem for result in group})
    return (
        method,
        f"{problems}" + (f" x {len(repeats)}" if len(repeats) > 1 else ""),
        f"{mean(rates):.2f}{spread}",
        format_mean_and_range(group, lambda result: result.seconds, 1),
        format_mean_and_range(group, lambda result: result.effects, 0),
        format_mean_and_range(group, lambda result: result.calls, 0),
    )


def format_mean_and_range(
    group: Sequence[Gsm8kResult], measure: Callable[[Gsm8kResult], float], digits: int
) -> str:
    """Return a mean, and the smallest and the largest value."""
    values = [measure(result) for result in group]
    return f"{mean(values):.1f} ({min(values):.{digits}f}-{max(values):.{digits}f})"
