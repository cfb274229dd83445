"""The states of a trace as a debugger shows them: the whole stack of functions, with all their variables.

    list_stacks(trace.states)[2]     StackState("line", (Frame(9, {"n": "3"}), Frame(2, {"k": "1"})))

The last frame is the innermost one, which the event belongs to. Functions around it are as of their last state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spsbench.states.trace import Locals, ProgramState, StateEvent, list_locals


@dataclass(frozen=True, slots=True)
class Frame:
    """A function that is being run: the line of its last state, and its variables as text."""

    line: int
    locals: Locals


@dataclass(frozen=True, slots=True)
class StackState:
    """A state, with all functions that are being run; the innermost one is the last."""

    event: StateEvent
    frames: tuple[Frame, ...]
    value: str | None = None
    """The value that is returned, or the exception."""

    @property
    def depth(self) -> int:
        """The functions around the innermost one."""
        return len(self.frames) - 1


def list_stacks(states: Sequence[ProgramState]) -> list[StackState]:
    """Return the stack of each state."""
    found: list[StackState] = []
    frames: tuple[Frame, ...] = ()
    for state, held in zip(states, list_locals(states), strict=True):
        frames = (*frames[: state.depth], Frame(state.line, held))
        found.append(StackState(state.event, frames, state.value))
    return found
