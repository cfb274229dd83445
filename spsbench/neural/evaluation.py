"""Evaluate predictors on the test data of a data set, as lines of a results file.

{"part": "test", "predictor": "network", "group": "action", "name": "step_over", "steps": 600,
"exact": 310, ...}
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter

from njc.project.report import format_text_table
from njrt.values.dataclass_json import to_json
from spsbench.neural.dataset import find_ends, read_part, replace_file
from spsbench.neural.network import load_network
from spsbench.neural.predictors import (
    LastState,
    NeuralDebugger,
    NoPredictionError,
    Predictor,
)
from spsbench.states.actions import Action, is_inverse
from spsbench.states.trace import StackState, list_stacks
from spsbench.states.trajectories import Trajectory

HEADINGS = ("part", "predictor", "group", "name", "steps", "exact", "place", "values", "ms")


def evaluate(data: Path, model: Path | None, programs: int) -> Iterator[ScoreRow]:
    """Yield the rows for all predictors."""
    for name, predictor in list_predictors(model):
        found = islice(read_part(data, "test"), programs)
        yield from tabulate("test", name, list(score_steps(predictor, found, perf_counter)))


def list_predictors(model: Path | None) -> Iterator[tuple[str, Predictor]]:
    """Yield the baseline, and the network if one is given."""
    network = None if model is None else NeuralDebugger(load_network(model))
    yield "last state", LastState()
    if network is not None:
        yield "network", network


def write_rows(path: Path, rows: Sequence[ScoreRow]) -> None:
    """Write a results file."""
    replace_file(path, "".join(f"{to_json(row)}\n" for row in rows).encode())


def format_rows(rows: Sequence[ScoreRow]) -> str:
    """Return the rows as a text table, with shares of the steps."""
    return format_text_table(HEADINGS, [list_cells(row) for row in rows], range(4))


def list_cells(row: ScoreRow) -> tuple[str, ...]:
    """Return a row as text."""
    shares = (
        "" if part is None else f"{part / max(row.steps, 1):.3f}"
        for part in (row.exact, row.place, row.values)
    )
    time = "" if row.milliseconds is None else f"{row.milliseconds:.1f}"
    return (row.part, row.predictor, row.group, row.name, f"{row.steps:,}", *shares, time)


# ── how many steps a predictor predicts exactly ───────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class StepScore:
    """The score of one predicted step."""

    action: Action
    depth: int
    kind: str
    """The kind of the values that change: `int`, `list`, ..., `none` or `several`."""
    is_exact: bool
    is_place_right: bool
    """Whether the event and the line of each frame are right."""
    are_values_right: bool
    milliseconds: float


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """The scores of one group of steps."""

    part: str
    predictor: str
    group: str
    name: str
    steps: int
    exact: int
    place: int | None = None
    values: int | None = None
    milliseconds: float | None = None
    """The median time per step."""


def score_steps(
    predictor: Predictor, trajectories: Iterable[Trajectory], read_clock: Callable[[], float]
) -> Iterator[StepScore]:
    """Yield the score of each step, timed with a clock that returns seconds."""
    for trajectory in trajectories:
        stacks = list_stacks(trajectory.trace.states)
        for step in trajectory.steps:
            before, after = find_ends(stacks, step)
            began = read_clock()
            answer = _predict(predictor, trajectory.trace.source, before, step.action, step.line)
            taken = (read_clock() - began) * 1e3
            place = answer is not NO_ANSWER and _describe_place(answer) == _describe_place(after)
            values = answer is not NO_ANSWER and _list_values(answer) == _list_values(after)
            kind = name_changes(before, after)
            exact = answer == after
            yield StepScore(step.action, before.depth, kind, exact, place, values, taken)


NO_ANSWER = StackState("line", ())
"""Represents an answer that is not a state."""


def _predict(
    predictor: Predictor, source: str, state: StackState, action: Action, line: int | None = None
) -> StackState | None:
    try:
        return predictor.predict(source, state, action, line)
    except NoPredictionError:
        return NO_ANSWER


def _describe_place(state: StackState | None) -> object:
    return state and (state.event, tuple(frame.line for frame in state.frames))


def _list_values(state: StackState | None) -> object:
    return state and ([frame.locals for frame in state.frames], state.value)


def name_changes(before: StackState, after: StackState | None) -> str:
    """Return the kind of the values that a step changes."""
    if after is None:
        return "none"
    shown = before.frames[after.depth].locals if after.depth <= before.depth else {}
    changed = [
        text for name, text in after.frames[-1].locals.items() if shown.get(name) != text
    ] + [text for text in (after.value,) if text is not None]
    kinds = {name_kind(text) for text in changed}
    return kinds.pop() if len(kinds) == 1 else "several" if kinds else "none"


def name_kind(text: str) -> str:
    """Return the kind of a value: its type's name, or `object` if it is not a literal."""
    try:
        return type(ast.literal_eval(text)).__name__
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return "object"


GROUPS: Mapping[str, Callable[[StepScore], str]] = {
    "all": lambda score: "all",
    "direction": lambda score: "inverse" if is_inverse(score.action) else "forward",
    "action": lambda score: score.action,
    "depth": lambda score: str(min(score.depth, 3)) + ("+" if score.depth >= 3 else ""),
    "kind of value": lambda score: score.kind,
}


def tabulate(part: str, predictor: str, scores: Sequence[StepScore]) -> Iterator[ScoreRow]:
    """Yield a row for each group of steps."""
    for group, find_name in GROUPS.items():
        for name in sorted({find_name(score) for score in scores}):
            alike = [score for score in scores if find_name(score) == name]
            times = sorted(score.milliseconds for score in alike)
            yield ScoreRow(
                part,
                predictor,
                group,
                name,
                len(alike),
                sum(score.is_exact for score in alike),
                sum(score.is_place_right for score in alike),
                sum(score.are_values_right for score in alike),
                round(times[len(times) // 2], 2),
            )
