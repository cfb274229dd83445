"""The means over many questions on graphs, as a table: a row for each size and method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import mean

from njc.evaluation.comparison.text import format_text_table
from spsbench.results import GraphResult, Measures

COLUMNS = (
    *("size", "method", "asked", "right", "too long", "calls", "effects"),
    *("tokens in", "out", "model s", "own s", "prompt"),
)


def format_graph_table(results: Iterable[GraphResult]) -> str:
    """Return the means over the questions and repeats of each size and method."""
    return format_text_table(COLUMNS, [*map(make_graph_row, group_graph_results(results))], 2)


def group_graph_results(results: Iterable[GraphResult]) -> Iterator[list[GraphResult]]:
    """Yield the results of each size and method together; the smallest graphs first."""
    groups: dict[tuple[int, str], list[GraphResult]] = {}
    for result in results:
        groups.setdefault((result.size, result.method), []).append(result)
    for size in sorted({size for size, _ in groups}):
        yield from (group for key, group in groups.items() if key[0] == size)


def make_graph_row(group: Sequence[GraphResult]) -> tuple[str, ...]:
    """Return the means of one group. A prompt that was too long was not sent: it counts only in `right`."""
    first = group[0]
    sent: list[Measures] = [result for result in group if result.calls]
    means = (
        (
            f"{mean(result.calls for result in sent):.1f}",
            f"{mean(result.effects for result in sent):.1f}",
            f"{mean(result.input_tokens for result in sent):,.0f}",
            f"{mean(result.output_tokens for result in sent):,.0f}",
            f"{mean(result.model_seconds for result in sent):.3f}",
            f"{mean(result.own_seconds for result in sent):.4f}",
        )
        if sent
        else ("-",) * 6
    )
    return (
        f"{first.size:,}",
        first.method,
        f"{len(group)}",
        f"{mean(result.passed for result in group):.0%}",
        f"{sum(result.ending == 'too long' for result in group)}",
        *means,
        f"{max(result.prompt_chars for result in group):,}",
    )
