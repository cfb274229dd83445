"""Where to stop on the way forward, where to go back to, and how repeated steps differ.

Mode("over", depth=1).is_end(step)            at the next step in this block or outside it
find_step_back_over(timeline, Position(9))    Position(4): steps 5 to 8 belong to a called block
find_difference(known, repeated)              Diverged(step, "variable `n`", "int = 7", "int = 8")
"""

from __future__ import annotations

import json
from typing import Literal, assert_never

from njc.runs.timeline.happenings import Diverged
from njc.runs.timeline.steps import Position, Step, Timeline
from njrt.records import record

ModeKind = Literal["into", "over", "out", "run", "to"]


@record
class Mode:
    """How far the program runs. `run` and `depth` are from the step of the last stop."""

    kind: ModeKind
    """`run`: to a breakpoint; `to`: to a position, ignoring breakpoints."""
    run: int = 0
    depth: int = 0
    from_exit: bool = False
    """Whether the last stop was at the exit of a block."""
    code_depth: int | None = None
    """The call depth inside the model's code, if the last stop was at a line."""
    target: Position | None = None
    traces_lines: bool = False
    """Whether lines are steps on the way to the target, after step `traces_from`."""
    traces_from: int = 0

    def is_end(self, step: Step, code_depth: int | None = None) -> bool:
        """Return whether the program stops at a step that has just started."""
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
        return (
            self.kind == "into"
            or (self.kind == "over" and self.code_depth is not None)
            or (self.kind == "to" and self.traces_lines and number >= self.traces_from)
        )


NOTHING = "(nothing)"


def find_step_back_over(timeline: Timeline, position: Position) -> Position | None:
    """Return the previous step outside blocks called from here; at a line, the previous line."""
    here = timeline.at(position)
    if here is not None and here.kind == "line":
        before = timeline.before(position)
        while before is not None and (step := timeline.at(before)) and step.depth > here.depth:
            before = timeline.before(before)
        return before
    depth = 0 if here is None else here.depth
    for number in range(min(position.number, len(timeline)) - 1, -1, -1):
        if timeline[number].depth <= depth:
            return Position(number)
    return None


def find_step_back_out(timeline: Timeline, position: Position) -> Position | None:
    """Return the block's entry; at the entry, the effect that called it, or the previous step."""
    here = timeline.at(position)
    if here is None:
        return Position(len(timeline) - 1) if len(timeline) else None
    for number in range(position.number, -1, -1):
        step = timeline[number]
        if step.run == here.run and step.kind == "enter" and step.position < position:
            return step.position
        if here.kind == "enter" and step.position < position and step.depth <= here.depth:
            return step.position
    return None


def find_difference(known: Step, repeated: Step) -> Diverged | None:
    """Return how a step and its repetition first differ; results count only if both finished."""
    pairs = [
        ("kind", known.kind, repeated.kind),
        ("place", known.place, repeated.place),
        ("turn", str(known.turn), str(repeated.turn)),
    ]
    if known.effect is not None and repeated.effect is not None:
        pairs.append(("effect", json.dumps(known.effect), json.dumps(repeated.effect)))
    if known.kind == "line":
        pairs.append(("line", str(known.code_line), str(repeated.code_line)))
    if known.is_done and repeated.is_done:
        for name in dict.fromkeys((*known.changes, *repeated.changes)):
            before = known.changes.get(name, NOTHING)
            now = repeated.changes.get(name, NOTHING)
            pairs.append((f"variable `{name}`", str(before), str(now)))
        pairs += [
            ("result", known.result_kind, repeated.result_kind),
            ("result", known.result, repeated.result),
            ("error", known.error, repeated.error),
            ("print", known.printed, repeated.printed),
            ("a variable, beyond the shown part,", known.digest, repeated.digest),
        ]
    for what, before, now in pairs:
        if before != now:
            return Diverged(repeated, what, before, now)
    return None
