"""Following a program under control: its messages become steps, and repeated steps are compared.

follower.take({"pending": {"run": "9f3c-1", "turn": 1, "effect": {...}}})     [Stepped(Step(...))]
follower.go_on_from(12)          the next messages are those of a copy that goes on from step 12
follower.take({"trace": ...})    []: the step is known; or [Diverged(...)]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from njc.runs.timeline.channel import Json
from njc.runs.timeline.happenings import Diverged, Happening, ReplyStreamed, Stepped
from njc.runs.timeline.navigation import find_difference
from njc.runs.timeline.step_builder import (
    CodeLine,
    CodeLinesEnd,
    ControlLine,
    PendingLine,
    StepBuilder,
    StepBuilderState,
)
from njc.runs.timeline.steps import Position, Step, Timeline
from njc.runs.timeline.trace_lines import parse_trace_line


class Follower:
    """Keeps the timeline (state: the steps, the runs that are open, how it was at the checkpoints)."""

    def __init__(self) -> None:
        self.timeline = Timeline()
        self._builder = StepBuilder()
        self._states: dict[int, StepBuilderState] = {}

    def begin(self) -> None:
        """The next messages are those of a fresh process."""
        self._builder = StepBuilder()

    def note_checkpoint(self, number: int) -> None:
        """A copy of the program waits before step `number`, which is the next."""
        self._states[number] = self._builder.state

    def go_on_from(self, number: int) -> None:
        """The next messages are those of the copy that waited before step `number`."""
        self._builder = StepBuilder(self._states[number])

    @property
    def begun(self) -> int:
        """The number of steps that have begun in the process that is going on."""
        return self._builder.state.next.number

    def take(self, message: Json) -> Iterator[Happening]:
        """Add what a message says, and give what is new, or is not as it was."""
        line = read_line(message)
        for step in self._builder.add(line) if line is not None else ():
            known = self.timeline.at(step.position)
            difference = find_difference(known, step) if known is not None else None
            if difference is not None:
                self.timeline.cut(self._builder.reached)
                self.timeline.put(step)
                yield Diverged(difference)
            elif known is None or (step.is_done and not known.is_done):
                self.timeline.put(step)
                yield Stepped(step)

    def read_streamed(self, run: str, turn: int, text: str) -> ReplyStreamed | None:
        """Return the part of a reply that a message has; None if its run has ended."""
        open_run = self._builder.state.runs.get(run)
        if open_run is None:
            return None
        return ReplyStreamed(open_run.base.run, open_run.base.place, turn, text)

    def forget_after(self, position: Position) -> None:
        """Forget the steps after a position, and what came of the one there."""
        self.timeline.cut(Position(position.number, position.line + 1))
        step = self.timeline.at(position)
        if step is not None and step.kind in ("effect", "line"):
            self.timeline.put(make_undone(step))
        self._states = {n: state for n, state in self._states.items() if n <= position.number}


def read_line(message: Json) -> ControlLine | None:
    """Return the line of a message, if it has one."""
    if "trace" in message:
        return parse_trace_line(message["trace"].encode("utf-8", "replace") + b"\n", 0)
    if "pending" in message:
        return PendingLine(**message["pending"])
    if "code_end" in message:
        return CodeLinesEnd()
    return CodeLine(**message["code"]) if "code" in message else None


def make_undone(step: Step) -> Step:
    """Return a step as it was before it was carried out."""
    return replace(
        step,
        is_done=False,
        result_kind="",
        result="",
        error="",
        changes={},
        digest="",
        printed="",
        seconds=0.0,
    )
