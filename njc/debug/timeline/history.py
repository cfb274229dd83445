"""What is known of a controlled run: its steps, and the user's changes.

    history.take({"pending": ...})            a step, or Diverged(...) if it is not as before
    history.decide(3, {"decision": ...})      carried out again whenever the program reaches step 3

Each process of the run begins at the start; its steps are compared with the known ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from njc.debug.timeline.channel import Json
from njc.debug.timeline.happenings import Diverged, StepEdit
from njc.debug.timeline.step_builder import ControlLine, PendingLine, StepBuilder
from njc.debug.timeline.steps import Step, Timeline, choose_executed_effect
from njc.debug.timeline.stop_targets import find_difference
from njc.debug.trace_lines import parse_trace_line
from njrt.data.records import replace


class RunHistory:
    """Keeps the timeline (state: the steps, the unfinished runs, the user's changes)."""

    def __init__(self) -> None:
        self.timeline = Timeline()
        self.edits: tuple[StepEdit, ...] = ()
        self._builder = StepBuilder()

    def begin(self) -> None:
        """Expect messages from a fresh process."""
        self._builder = StepBuilder()

    @property
    def begun(self) -> int:
        """The number of steps that the running process has started."""
        return self._builder.next

    def take(self, message: Json) -> Iterator[Diverged]:
        """Add a message's line; yield each step's first difference from the known one."""
        line = read_line(message)
        for step in self._builder.add(line) if line is not None else ():
            known = self.timeline.at(step.number)
            difference = find_difference(known, step) if known is not None else None
            if difference is not None:
                del self.timeline[self.begun :]
                self.timeline.put(step)
                yield difference
            elif known is None or (step.is_done and not known.is_done):
                self.timeline.put(step)

    def forget_after(self, number: int) -> None:
        """Forget the steps after this one, and its result."""
        del self.timeline[max(0, number + 1) :]
        step = self.timeline.at(number)
        if step is not None and step.kind == "effect":
            self.timeline.put(make_undone(step))

    def add_edit(self, edit: StepEdit) -> None:
        """Keep a change; a decision replaces the earlier one. Later steps are forgotten."""
        here = ("decide", edit.number)
        kept = (it for it in self.edits if edit.kind == "set" or (it.kind, it.number) != here)
        self.edits = (*kept, edit)
        self.forget_after(edit.number)

    def drop_edits(self, target: int) -> None:
        """Forget the changes after a step, and the steps after the first of them."""
        dropped = [edit.number for edit in self.edits if edit.number > target]
        if dropped:
            self.edits = tuple(edit for edit in self.edits if edit.number <= target)
            self.forget_after(min(dropped))

    def find_decision(self, number: int) -> Mapping[str, Any]:
        """Return the user's decision about the effect at a step; empty if there is none."""
        here = ("decide", number)
        return next((it.fields for it in self.edits if (it.kind, it.number) == here), {})

    def find_effect(self, step: Step) -> Mapping[str, Any] | None:
        """Return the effect at a step, after the user's decision."""
        return choose_executed_effect(step.executed, [self.find_decision(step.number)])


def read_line(message: Json) -> ControlLine | None:
    """Return the line in a message, if it has one."""
    if "trace" in message:
        return parse_trace_line(message["trace"].encode("utf-8", "replace") + b"\n", 0)
    return PendingLine(**message["pending"]) if "pending" in message else None


def make_undone(step: Step) -> Step:
    """Return a step as it was before it ran."""
    unknown: dict[str, Any] = {
        "result_kind": "",
        "result": "",
        "changes": {},
        "before": {},
        "digest": "",
    }
    return replace(step, is_done=False, printed="", **unknown)
