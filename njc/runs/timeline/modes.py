"""How a program under control goes on from a stop, and where that makes it stop again.

Mode("into", depth=1)                       at the next step, a line of the model's code too
Mode("over", depth=1)                       at the next step of this block, or outside of it
Mode("out", run=3, depth=1)                 at the exit of this block
Mode("run")                                 at a breakpoint
Mode("to", target=Position(12))             at a position; breakpoints do not stop
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_never

from njc.runs.timeline.steps import Position, Step

ModeKind = Literal["into", "over", "out", "run", "to"]


@dataclass(frozen=True, slots=True)
class Mode:
    """How the program goes on. `run` and `depth` are those of the step at which it was stopped."""

    kind: ModeKind
    run: int = 0
    depth: int = 0
    from_exit: bool = False
    """Whether it was stopped at the exit of a block."""
    code_depth: int | None = None
    """The number of calls inside the model's code, where it was stopped at a line."""
    target: Position | None = None
    traces_lines: bool = False
    """On the way to the target: whether lines are steps, from `traces_from` on."""
    traces_from: int = 0

    def is_end(self, step: Step, code_depth: int | None = None) -> bool:
        """Return whether the program stops at a step that has just begun."""
        match self.kind:
            case "into":
                return True
            case "over" if step.kind == "line":
                is_here = step.run == self.run and self.code_depth is not None
                return is_here and (code_depth or 0) <= (self.code_depth or 0)
            case "over":
                return step.depth <= self.depth
            case "out" if step.kind == "line":
                return False
            case "out" if self.from_exit:
                return step.depth < self.depth or self.depth == 0
            case "out" if self.code_depth is not None:
                return step.depth <= self.depth
            case "out":
                return step.depth < self.depth or (step.run == self.run and step.kind == "exit")
            case "run":
                return False
            case "to":
                return self.target is not None and step.position >= self.target
            case _:
                assert_never(self.kind)

    def wants_lines(self, number: int) -> bool:
        """Return whether lines are steps from step `number` on."""
        match self.kind:
            case "into":
                return True
            case "over":
                return self.code_depth is not None
            case "to":
                return self.traces_lines and number >= self.traces_from
            case _:
                return False
