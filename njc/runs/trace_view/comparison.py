"""Two traces of the same program, run by run: where do they differ first?

    compare_traces(first, second)     TracePairs(pairs=(RunPair(a, b, is_same=True), ...), first=7)
    find_first_difference(a, b)       (2, step of a, step of b)

Runs are paired by block: the third run of `mail.njpy:12` in one trace with the third in the other. Two runs are the same
if their instructions, variables, effects, results and ends are; times, tokens and addresses are not compared. Not seen:
a difference in the order of runs of different blocks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest

from njc.runs.trace_view.index import RunSummary
from njc.runs.trace_view.steps import TraceStep


@dataclass(frozen=True, slots=True)
class RunPair:
    """A run of each of two traces; one of them is None if the other trace has no such run."""

    a: RunSummary | None
    b: RunSummary | None

    @property
    def is_same(self) -> bool:
        """Whether both did the same."""
        return self.a is not None and self.b is not None and self.a.digest == self.b.digest

    @property
    def any(self) -> RunSummary:
        """The run of the first trace, or else that of the second."""
        run = self.a or self.b
        assert run is not None
        return run


def pair_runs(first: Iterable[RunSummary], second: Iterable[RunSummary]) -> tuple[RunPair, ...]:
    """Return the runs in pairs, in the order of the first trace; those of the second alone come last."""
    others: defaultdict[str, list[RunSummary]] = defaultdict(list)
    for run in second:
        others[run.place].append(run)
    taken: dict[str, int] = {}
    pairs = []
    for run in first:
        count = taken.get(run.place, 0)
        taken[run.place] = count + 1
        candidates = others.get(run.place, [])
        pairs.append(RunPair(run, candidates[count] if count < len(candidates) else None))
    alone = [run for place, runs in others.items() for run in runs[taken.get(place, 0) :]]
    alone.sort(key=lambda run: run.number)
    return (*pairs, *(RunPair(None, run) for run in alone))


def find_first_difference(
    a: Iterable[TraceStep], b: Iterable[TraceStep]
) -> tuple[int, TraceStep | None, TraceStep | None] | None:
    """Return the first steps that differ, with their number from 0; None if there are none."""
    for number, (step, other) in enumerate(zip_longest(a, b)):
        if step is None or other is None or step.digest != other.digest:
            return number, step, other
    return None
