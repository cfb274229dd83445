"""What one question on a graph took, as a line of a results file, and the means over many.

{"kind": "graph", "size": 1000, "method": "direct", "model": "openai/local", "repeat": 1, "question": "who",
 "passed": true, "ending": "finished", "own_seconds": 0.002, "model_seconds": 3.1, "input_tokens": 480, ...}

    entry_of(asked), parse_graph_result(entry)     to the parts of such a line, and back
    table(results)                       a row for each size and method
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import mean
from typing import Any

from spsbench.results import DamagedResultsError
from spsbench.studies.study import Measures, StudyEnding


@dataclass(frozen=True, slots=True)
class GraphTrial:
    """One question on a graph of one size under one method: what is to be done, before it is."""

    size: int
    method: str
    model: str
    repeat: int
    """From 1."""
    question: str


@dataclass(frozen=True, slots=True)
class GraphResult:
    """What came of one question, and what it took."""

    asking: GraphTrial
    passed: bool
    ending: StudyEnding
    error: str | None
    measures: Measures
    started: str
    """ISO 8601, UTC."""


def graph_result_to_json(asked: GraphResult) -> dict[str, Any]:
    """A result as the parts of a line, none of them within another."""
    written: dict[str, Any] = asdict(asked)
    measures, parts = written.pop("measures"), written.pop("asking")
    return {**parts, "passed": written.pop("passed"), **measures, **written}


def parse_graph_result(entry: Mapping[str, Any]) -> GraphResult:
    """Read a result back; `DamagedResultsError` says which part is missing."""
    try:
        return GraphResult(
            GraphTrial(**{each.name: entry[each.name] for each in fields(GraphTrial)}),
            entry["passed"],
            entry["ending"],
            entry["error"],
            Measures(**{each.name: entry[each.name] for each in fields(Measures)}),
            entry["started"],
        )
    except KeyError as missing:
        raise DamagedResultsError(f"a line of kind graph has no {missing}") from None


def format_graph_table(results: Iterable[GraphResult]) -> str:
    """The means over the questions and repeats of each size and method."""
    heads = (
        f"{'size':>8}  {'method':15}{'asked':>6}{'right':>7}{'too long':>10}{'calls':>7}"
        f"{'effects':>9}{'tokens in':>11}{'out':>9}{'model s':>10}{'own s':>10}{'prompt':>12}"
    )
    return "\n".join([heads, *map(format_graph_row, group_graph_results(results))])


def group_graph_results(results: Iterable[GraphResult]) -> Iterator[list[GraphResult]]:
    """The results of each size and method together; the smallest graphs first."""
    groups: dict[tuple[int, str], list[GraphResult]] = {}
    for each in results:
        groups.setdefault((each.asking.size, each.asking.method), []).append(each)
    for size in sorted({size for size, _ in groups}):
        yield from (group for key, group in groups.items() if key[0] == size)


def format_graph_row(group: Sequence[GraphResult]) -> str:
    """The means of one group. What was too long to be sent took nothing, and is in no mean but the first."""
    asking = group[0].asking
    too_long = sum(each.ending == "too long" for each in group)
    sent = [each.measures for each in group if each.measures.calls]
    figures = (
        f"{mean(each.calls for each in sent):7.1f}{mean(each.effects for each in sent):9.1f}"
        f"{mean(each.input_tokens for each in sent):11,.0f}"
        f"{mean(each.output_tokens for each in sent):9,.0f}"
        f"{mean(each.model_seconds for each in sent):10.3f}"
        f"{mean(each.own_seconds for each in sent):10.4f}"
        if sent
        else f"{'-':>7}{'-':>9}{'-':>11}{'-':>9}{'-':>10}{'-':>10}"
    )
    right = 100 * mean(each.passed for each in group)
    chars = max(each.measures.prompt_chars for each in group)
    return (
        f"{asking.size:8,}  {asking.method:15}{len(group):6}{right:6.0f}%{too_long:10}{figures}"
        f"{chars:12,}"
    )
