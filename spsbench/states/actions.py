"""The actions of a debugger, as steps between the states of a trace.

    find_target(states, ActionStep(1, "step_over"))   the index of the next state that is not deeper

    forward  step_into      the next state
             step_over      the next state that is not deeper
             step_return    the return of this function
             breakpoint     the next time a line is about to run
    inverse  inv_step_into  the state before
             inv_step_over  the last state before that is not deeper
             inv_step_call  the call of this function

The names are from "Towards a Neural Debugger for Python" (arXiv 2603.09951).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from spsbench.results import group_by
from spsbench.states.trace import ProgramState, StateEvent

Action = Literal[
    "step_into",
    "step_over",
    "step_return",
    "breakpoint",
    "inv_step_into",
    "inv_step_over",
    "inv_step_call",
]
ACTIONS: tuple[Action, ...] = get_args(Action)
_OWN_ENDS: Mapping[Action, StateEvent] = {"step_return": "return", "inv_step_call": "call"}
"""The action is not possible in states with this event."""


@dataclass(frozen=True, slots=True)
class ActionStep:
    """An action in a state of a trace; `line` is set for a breakpoint."""

    index: int
    action: Action
    line: int | None = None

    def __str__(self) -> str:
        return self.action if self.line is None else f"{self.action} {self.line}"


def find_target(states: Sequence[ProgramState], step: ActionStep) -> int | None:
    """Return the index of the state that an action leads to; None at the end of the trace."""
    depth = states[step.index].depth
    if is_inverse(step.action):
        candidates: Iterable[int] = range(step.index - 1, -1, -1)
    else:
        candidates = range(step.index + 1, len(states))
    return next((index for index in candidates if _stops_at(states[index], step, depth)), None)


def is_inverse(action: Action) -> bool:
    """Return whether an action goes back in time."""
    return action.startswith("inv_")


def _stops_at(state: ProgramState, step: ActionStep, depth: int) -> bool:
    match step.action:
        case "step_into" | "inv_step_into":
            return True
        case "step_over" | "inv_step_over":
            return state.depth <= depth
        case "step_return":
            return state.depth == depth and state.event == "return"
        case "inv_step_call":
            return state.depth == depth and state.event == "call"
        case "breakpoint":
            return state.event == "line" and state.line == step.line


@dataclass(frozen=True, slots=True)
class TakenStep(ActionStep):
    """An action that was taken in a state of a trace."""

    target: int | None = None
    """The index of the state it led to; None if past the last state."""


def list_taken_steps(states: Sequence[ProgramState], *, is_cut: bool = False) -> list[TakenStep]:
    """Return every step of a trace: each action in each state, a breakpoint on each line that ran.

    In a cut trace, steps that lead past its end are left out, because their target is unknown.
    """
    return [
        step
        for step in _take_steps(states)
        if step.target is not None or not is_cut or is_inverse(step.action)
    ]


def _take_steps(states: Sequence[ProgramState]) -> Iterator[TakenStep]:
    """Yield the steps of all states; a return has no `step_return`, a call no `inv_step_call`."""
    places = (index for index, state in enumerate(states) if state.event == "line")
    stops = group_by(places, lambda index: states[index].line)
    for index, state in enumerate(states):
        for action in ACTIONS:
            if action == "breakpoint":
                for line in sorted(stops):
                    ahead = stops[line][bisect_right(stops[line], index) :][:1]
                    yield TakenStep(index, action, line, ahead[0] if ahead else None)
            elif _OWN_ENDS.get(action) != state.event:
                target = find_target(states, ActionStep(index, action))
                yield TakenStep(index, action, None, target)
