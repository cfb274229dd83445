"""Walking through a trace as a `RunController` walks through a run, but only to view it.

    walk = TraceWalk(build_timeline(read_trace(path)), report)
    walk.start()                 report(Stopped(Step(enter, "mail.njpy:12"), "step"))

Not available: lines of the model's code, evaluation of expressions and, in a trace without states, variables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from njc.runs.timeline.breakpoints import Breakpoint
from njc.runs.timeline.channel import RunControlError
from njc.runs.timeline.happenings import Happening, ProgramEnded, Stopped
from njc.runs.timeline.inspection import ShownVariable
from njc.runs.timeline.navigation import FindStepBack, Mode, ModeKind, StepMovements
from njc.runs.timeline.run_controller import ControlState
from njc.runs.timeline.step_builder import make_undone
from njc.runs.timeline.steps import Position, Step, Timeline


class TraceWalk(StepMovements):
    """Walks through the steps of a trace (state: the position)."""

    def __init__(
        self,
        timeline: Timeline,
        report: Callable[[Happening], None],
        folders: tuple[Path, ...] = (Path(),),
    ) -> None:
        self.timeline = timeline
        self.state: ControlState = "new"
        self.position = Position(0)
        self.breakpoints: tuple[Breakpoint, ...] = ()
        self.folders, self._report = folders, report

    @property
    def step(self) -> Step | None:
        return self.timeline.at(self.position)

    def start(self) -> None:
        self._go_to(Position(0), "step")

    restart = start

    def run_to(self, position: Position) -> None:
        if not 0 <= position.number < len(self.timeline) or position.line:
            raise RunControlError(
                f"the trace has no such step; it has steps 0 to {len(self.timeline) - 1}"
            )
        self._go_to(position, "back" if position < self.position else "step")

    def run_back(self) -> None:
        for number in range(self.position.number - 1, 0, -1):
            if reason := self._find_breakpoint(Position(number)):
                self._go_to(Position(number), reason)
                return
        self._go_back(Position(0) if self.position > Position(0) else None)

    def pause(self) -> None:
        """Do nothing: no program is running."""

    def close(self) -> None:
        """Do nothing: no file is open."""

    def set_breakpoints(self, breakpoints: tuple[Breakpoint, ...]) -> tuple[Breakpoint, ...]:
        """Replace all breakpoints; raises RunControlError for a breakpoint that a trace cannot decide."""
        for breakpoint in breakpoints:
            if breakpoint.condition:
                raise RunControlError("a trace has no values to evaluate conditions on")
        self.breakpoints = tuple(each.locate(self.folders) for each in breakpoints)
        return self.breakpoints

    def find_effect(self, step: Step) -> Mapping[str, Any] | None:
        return step.executed

    def variables(self, position: Position | None = None) -> list[ShownVariable]:
        """Return the variables before a step, as text; at an entry, the block's initial variables."""
        here = position or self.position
        step = self.timeline.at(here)
        is_entry = step is not None and step.kind == "enter"
        read = self.timeline.variables_after if is_entry else self.timeline.variables_before
        return [ShownVariable(name, text) for name, text in read(here).items()]

    def _go(self, mode: ModeKind) -> None:
        step = self.step
        if step is None:
            raise RunControlError("this is the end of the trace")
        wanted = Mode(mode, step.run, step.depth, step.kind == "exit")
        for later in self.timeline[self.position.number + 1 :]:
            if reason := self._find_breakpoint(later.position):
                self._go_to(later.position, reason)
                return
            if wanted.is_end(later):
                self._go_to(later.position, "step")
                return
        self._go_to(Position(len(self.timeline)), "step")

    def _step_back(self, find: FindStepBack) -> None:
        self._go_back(find(self.timeline, self.position))

    def _go_back(self, position: Position | None) -> None:
        if position is None:
            raise RunControlError("this is the start")
        self._go_to(position, "back")

    def _go_to(self, position: Position, reason: str) -> None:
        self.position = position
        step = self.step
        self.state = "ended" if step is None else "stopped"
        self._report(
            ProgramEnded(None, "the end of the trace") if step is None else Stopped(step, reason)
        )

    def _find_breakpoint(self, position: Position) -> str:
        """Return the breakpoint that a running program would hit before this step, or else ""."""
        step = self.timeline[position.number]
        steps = [make_undone(step) if step.kind == "effect" else step]
        earlier = self.timeline[: position.number]
        done = next((other for other in reversed(earlier) if other.run == step.run), None)
        if done is not None and done.kind == "effect":
            steps.append(done)
        return next((str(it) for each in steps for it in self.breakpoints if it.is_hit(each)), "")
