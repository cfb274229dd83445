"""What one problem took, as a line of a results file, and the means beside the paper's.

{"kind": "gsm8k", "problem": 7, "method": "direct", "model": "openai/local", "repeat": 1,
 "passed": true, "found": 11.0, "ending": "finished", "model_seconds": 2.9, "effects": 1, ...}

    entry_of(solved), parse_gsm8k_result(entry)     to the parts of such a line, and back
    table(results)                         a row for each method, and the paper's table 8
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import mean, stdev
from typing import Any

from spsbench.published import PUBLISHED_TABLES
from spsbench.results import DamagedResultsError
from spsbench.studies.study import Measures, StudyEnding


@dataclass(frozen=True, slots=True)
class Gsm8kTrial:
    """One problem under one method: what is to be done, before it is."""

    problem: int
    method: str
    model: str
    repeat: int
    """From 1."""


@dataclass(frozen=True, slots=True)
class Gsm8kResult:
    """What came of one problem, and what it took."""

    solving: Gsm8kTrial
    passed: bool
    found: float | None
    """What the program gave; None where it gave no number."""
    ending: StudyEnding
    error: str | None
    measures: Measures
    started: str
    """ISO 8601, UTC."""


def gsm8k_result_to_json(solved: Gsm8kResult) -> dict[str, Any]:
    """A result as the parts of a line, none of them within another."""
    written: dict[str, Any] = asdict(solved)
    measures, parts = written.pop("measures"), written.pop("solving")
    return {**parts, "passed": written.pop("passed"), **measures, **written}


def parse_gsm8k_result(entry: Mapping[str, Any]) -> Gsm8kResult:
    """Read a result back; `DamagedResultsError` says which part is missing."""
    try:
        return Gsm8kResult(
            Gsm8kTrial(**{each.name: entry[each.name] for each in fields(Gsm8kTrial)}),
            entry["passed"],
            entry["found"],
            entry["ending"],
            entry["error"],
            Measures(**{each.name: entry[each.name] for each in fields(Measures)}),
            entry["started"],
        )
    except KeyError as missing:
        raise DamagedResultsError(f"a line of kind gsm8k has no {missing}") from None


def format_gsm8k_table(results: Iterable[Gsm8kResult]) -> str:
    """A row for each method, and the paper's rows below."""
    groups: dict[str, list[Gsm8kResult]] = {}
    for each in results:
        groups.setdefault(each.solving.method, []).append(each)
    rows = [format_gsm8k_cells("method", "problems", "pass rate", "seconds", "effects", "calls")]
    rows += [format_gsm8k_row(method, group) for method, group in groups.items()]
    rows += ["", "In the paper's table 8, quoted and not measured here, 1319 problems three times:"]
    rows += [
        format_gsm8k_cells(f"{model} {name}", "", rate, seconds, effects, "")
        for model, name, rate, seconds, effects in PUBLISHED_TABLES[8].rows
    ]
    return "\n".join(line.rstrip() for line in rows)


def format_gsm8k_row(method: str, group: Sequence[Gsm8kResult]) -> str:
    """The means of one method; with repeats, the spread of the pass rate over them."""
    repeats = sorted({each.solving.repeat for each in group})
    rates = [
        mean(each.passed for each in group if each.solving.repeat == repeat) for repeat in repeats
    ]
    spread = f" ± {stdev(rates):.2f}" if len(rates) > 1 else ""
    problems = len({each.solving.problem for each in group})
    return format_gsm8k_cells(
        method,
        f"{problems}" + (f" x {len(repeats)}" if len(repeats) > 1 else ""),
        f"{mean(rates):.2f}{spread}",
        format_mean_and_range(group, lambda took: took.seconds, 1),
        format_mean_and_range(group, lambda took: took.effects, 0),
        format_mean_and_range(group, lambda took: took.calls, 0),
    )


def format_mean_and_range(
    group: Sequence[Gsm8kResult], figure: Callable[[Measures], float], digits: int
) -> str:
    """A mean, and the smallest and the largest value."""
    values = [figure(each.measures) for each in group]
    return f"{mean(values):.1f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def format_gsm8k_cells(
    method: str, problems: str, rate: str, seconds: str, effects: str, calls: str
) -> str:
    """One row of the table."""
    return f"{method:46}{problems:>10}{rate:>14}{seconds:>19}{effects:>15}{calls:>13}"
