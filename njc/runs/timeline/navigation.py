"""Where going back leads, and whether a repeated step is the same.

find_step_back_over(timeline, Position(9))       Position(4): the steps 5 to 8 are of a block that was called
find_difference(known, repeated)                 Divergence(step, "variable `total`", "int = 7", "int = 8")
"""

from __future__ import annotations

import json

from njc.runs.timeline.happenings import Divergence
from njc.runs.timeline.steps import Position, Step, Timeline

NOTHING = "(nothing)"


def find_step_back_over(timeline: Timeline, position: Position) -> Position | None:
    """Return the step before this one that is not inside of a block called from there; at a line, the line before."""
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
    """Return the entry of the block; from there, the effect that called it or the step before."""
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


def find_difference(known: Step, repeated: Step) -> Divergence | None:
    """Return the first difference between a step and its repetition, as far as both have been carried out."""
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
            ("a variable, beyond what is shown,", known.digest, repeated.digest),
        ]
    for what, before, now in pairs:
        if before != now:
            return Divergence(repeated, what, before, now)
    return None
