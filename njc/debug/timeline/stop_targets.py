"""Where to stop on the way forward, where to go back to, and how repeated steps differ.

Mode("over", depth=1).is_end(step)            at the next step in this block or outside it
find_step_back_over(timeline, 9)              4: steps 5 to 8 belong to a called block
find_difference(known, repeated)              Diverged(step, "variable `n`", "int = 7", "int = 8")
"""

from __future__ import annotations

import json
from typing import Literal, assert_never

from njc.debug.timeline.happenings import Diverged
from njc.debug.timeline.steps import Step, Timeline
from njrt.data.records import record

ModeKind = Literal["into", "over", "out", "run", "to"]


@record
class Mode:
    """How far the program runs. `run` and `depth` are from the step of the last stop."""

    kind: ModeKind
    """`run`: to a breakpoint; `to`: to the step `target`, ignoring breakpoints."""
    run: int = 0
    depth: int = 0
    from_exit: bool = False
    """Whether the last stop was at the exit of a block."""
    target: int | None = None

    def is_end(self, step: Step) -> bool:
        """Return whether the program stops at a step that has just started."""
        match self.kind:
            case "into":
                return True
            case "over":
                return step.depth <= self.depth
            case "out" if self.from_exit:
                return step.depth < self.depth or self.depth == 0
            case "out":
                return step.depth < self.depth or (step.run == self.run and step.kind == "exit")
            case "run":
                return False
            case "to":
                return self.target is not None and step.number >= self.target
            case _:
                assert_never(self.kind)


NOTHING = "(nothing)"
_WORDS = {
    "result_kind": "result",
    "printed": "print",
    "digest": "a variable, beyond the shown part,",
}


def find_step_back_over(timeline: Timeline, number: int) -> int | None:
    """Return the previous step outside blocks called from here."""
    here = timeline.at(number)
    depth = 0 if here is None else here.depth
    return next((it.number for it in reversed(timeline[:number]) if it.depth <= depth), None)


def find_step_back_out(timeline: Timeline, number: int) -> int | None:
    """Return the block's entry; at the entry, the effect that called it, or the previous step."""
    here = timeline.at(number)
    for step in reversed(timeline[:number]):
        is_entry = here is not None and step.run == here.run and step.kind == "enter"
        is_before = here is None or (here.kind == "enter" and step.depth <= here.depth)
        if is_entry or is_before:
            return step.number
    return None


def find_difference(known: Step, repeated: Step) -> Diverged | None:
    """Return how a step and its repetition first differ; results count only if both finished."""

    def read(name: str) -> tuple[str, object, object]:
        return _WORDS.get(name, name), getattr(known, name), getattr(repeated, name)

    pairs = [read(name) for name in ("kind", "place", "turn")]
    if known.effect is not None and repeated.effect is not None:
        pairs.append(("effect", json.dumps(known.effect), json.dumps(repeated.effect)))
    if known.is_done and repeated.is_done:
        for name in dict.fromkeys((*known.changes, *repeated.changes)):
            before, now = (step.changes.get(name, NOTHING) for step in (known, repeated))
            pairs.append((f"variable `{name}`", before, now))
        pairs += [read(name) for name in ("result_kind", "result", "error", "printed", "digest")]
    found = next((pair for pair in pairs if pair[1] != pair[2]), None)
    return Diverged(repeated, found[0], str(found[1]), str(found[2])) if found else None
