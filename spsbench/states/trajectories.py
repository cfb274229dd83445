"""Trajectories: an execution's states, and the steps that a debugger's actions take between them.

    {"kind": "source", ...}  {"kind": "state", ...} ...  {"kind": "end", ...}    as in `trace`
    {"steps": [[0, "step_over", null, 1], [0, "breakpoint", 3, 7], ...], "kind": "steps"}

A step consists of a state's number, an action, the line of a breakpoint, and the number of the
state it leads to, which is null at the end of the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from njrt.values.dataclass_json import InvalidJsonError, from_json, to_json
from spsbench.results import InputError
from spsbench.states.actions import Action, TakenStep
from spsbench.states.trace import StateTrace, read_state_lines, write_state_lines

ENDING = '"kind": "steps"}'
"""The end of the last line of each trajectory."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """An execution, and steps in it."""

    trace: StateTrace
    steps: tuple[TakenStep, ...]


@dataclass(frozen=True, slots=True)
class _StepsLine:
    steps: tuple[tuple[int, Action, int | None, int | None], ...]
    kind: Literal["steps"] = "steps"


def write_trajectory_lines(trajectories: Iterable[Trajectory]) -> Iterator[str]:
    """Yield trajectories as lines of JSON, each with its newline."""
    for trajectory in trajectories:
        yield from write_state_lines([trajectory.trace])
        steps = [(step.index, step.action, step.line, step.target) for step in trajectory.steps]
        yield to_json(_StepsLine(tuple(steps))) + "\n"


def read_trajectory_lines(lines: Iterable[str]) -> Iterator[Trajectory]:
    """Yield trajectories of `write_trajectory_lines`; raise InputError for bad or missing lines."""
    held: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.rstrip().endswith(ENDING):
            held.append(line)
            continue
        try:
            (trace,) = read_state_lines(held)
            steps = [TakenStep(*step) for step in from_json(line, _StepsLine).steps]
        except (InvalidJsonError, ValueError) as error:
            raise InputError(f"the trajectory up to line {number}: {error}") from None
        if any(max(step.index, step.target or 0) >= len(trace.states) for step in steps):
            raise InputError(f"line {number} has a step of a state that is missing")
        yield Trajectory(trace, tuple(steps))
        held = []
    if held:
        raise InputError("the last trajectory has no line of kind `steps`")
