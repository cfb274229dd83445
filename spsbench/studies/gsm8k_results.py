"""What one problem took, as a line of a results file, and the means beside the paper's.

{"kind": "gsm8k", "problem": 7, "method": "direct", "model": "openai/local", "repeat": 1,
 "passed": true, "found": 11.0, "ending": "finished", "model_seconds": 2.9, "effects": 1, ...}

    entry_of(solved), solved_of(entry)     to the parts of such a line, and back
    table(results)                         a row for each method, and the paper's table 8
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import mean, stdev
from typing import Any

from spsbench.published import PUBLISHED
from spsbench.results import DamagedResultsError
from spsbench.studies.study import Ending, Measures


@dataclass(frozen=True, slots=True)
class Solving:
    """One problem under one method: what is to be done, before it is."""

    problem: int
    method: str
    model: str
    repeat: int
    """From 1."""


@dataclass(frozen=True, slots=True)
class Solved:
    """What came of one problem, and what it took."""

    solving: Solving
    passed: bool
    found: float | None
    """What the program gave; None where it gave no number."""
    ending: Ending
    error: str | None
    measures: Measures
    started: str
    """ISO 8601, UTC."""


def entry_of(solved: Solved) -> dict[str, Any]:
    """A result as the parts of a line, none of them within another."""
    written: dict[str, Any] = asdict(solved)
    measures, parts = written.pop("measures"), written.pop("solving")
    return {**parts, "passed": written.pop("passed"), **measures, **written}


def solved_of(entry: Mapping[str, Any]) -> Solved:
    """Read a result back; `DamagedResultsError` says which part is missing."""
    try:
        return Solved(
            Solving(**{each.name: entry[each.name] for each in fields(Solving)}),
            entry["passed"],
            entry["found"],
            entry["ending"],
            entry["error"],
            Measures(**{each.name: entry[each.name] for each in fields(Measures)}),
            entry["started"],
        )
    except KeyError as missing:
        raise DamagedResultsError(f"a line of kind gsm8k has no {missing}") from None


def table(results: Iterable[Solved]) -> str:
    """A row for each method, and the paper's rows below."""
    groups: dict[str, list[Solved]] = {}
    for each in results:
        groups.setdefault(each.solving.method, []).append(each)
    rows = [cells("method", "problems", "pass rate", "seconds", "effects", "calls")]
    rows += [row(method, group) for method, group in groups.items()]
    rows += ["", "In the paper's table 8, quoted and not measured here, 1319 problems three times:"]
    rows += [
        cells(f"{model} {name}", "", rate, seconds, effects, "")
        for model, name, rate, seconds, effects in PUBLISHED[8].rows
    ]
    return "\n".join(line.rstrip() for line in rows)


def row(method: str, group: Sequence[Solved]) -> str:
    """The means of one method; with repeats, the spread of the pass rate over them."""
    repeats = sorted({each.solving.repeat for each in group})
    rates = [
        mean(each.passed for each in group if each.solving.repeat == repeat) for repeat in repeats
    ]
    spread = f" ± {stdev(rates):.2f}" if len(rates) > 1 else ""
    problems = len({each.solving.problem for each in group})
    return cells(
        method,
        f"{problems}" + (f" x {len(repeats)}" if len(repeats) > 1 else ""),
        f"{mean(rates):.2f}{spread}",
        ranged(group, lambda took: took.seconds, 1),
        ranged(group, lambda took: took.effects, 0),
        ranged(group, lambda took: took.calls, 0),
    )


def ranged(group: Sequence[Solved], figure: Callable[[Measures], float], digits: int) -> str:
    """A mean, and the smallest and the largest value."""
    values = [figure(each.measures) for each in group]
    return f"{mean(values):.1f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def cells(method: str, problems: str, rate: str, seconds: str, effects: str, calls: str) -> str:
    """One row of the table."""
    return f"{method:46}{problems:>10}{rate:>14}{seconds:>19}{effects:>15}{calls:>13}"
