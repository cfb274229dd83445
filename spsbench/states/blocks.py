"""The states of natural blocks, from a trace file.

    block shop.njpy:3             call     prices = list[int], 2 items = [3, 4]
        Run: total = sum(prices)  line     (before the effect)
        end                       line     total = int = 7
                                  return   completed

Each run of a block becomes a function of a program generated for this purpose; its lines are the
effects. A block that an effect's code ran is called by that line. Variables are texts, as shown to
a model.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from njc.runs.timeline.step_builder import build_timeline
from njc.runs.timeline.steps import Step
from njc.trace_lines import TraceLine, UnreadableLine
from spsbench.results import InputError
from spsbench.states.trace import ProgramState, StateTrace

INDENT = "    "
BlockRuns = Mapping[int, Sequence[Step]]
"""The steps of each run of a block, from its entry; runs are in the order of their entries."""
CalledRuns = Mapping[int | None, Sequence[int]]
"""The runs called by the code of each run; under None, the runs that no other run called."""


def read_block_traces(lines: Iterable[TraceLine]) -> Iterator[StateTrace]:
    """Return a trace for each run of a block that no other block called, in the order of starts."""
    runs: dict[int, list[Step]] = {}
    called: defaultdict[int | None, list[int]] = defaultdict(list)
    for step in build_timeline(map(check_readable, lines)):
        if step.kind == "enter":
            runs[step.run] = []
            called[step.parent].append(step.run)
        runs[step.run].append(step)
    return (make_block_trace(runs, called, run) for run in called[None])


def check_readable(line: TraceLine) -> TraceLine:
    """Return a line of a trace; raises InputError if it is unreadable, unless it is cut off."""
    if isinstance(line, UnreadableLine) and not line.problem.startswith("cut off"):
        raise InputError(f"line {line.number} of the trace: {line.problem}")
    return line


def make_block_trace(runs: BlockRuns, called: CalledRuns, run: int) -> StateTrace:
    """Return the states of a run and the blocks that it called, with the program they belong to."""
    writer = _BlockWriter(runs, called)
    writer.add_run(run, 0)
    is_cut = runs[run][-1].kind != "exit"
    return StateTrace("\n".join(writer.source) + "\n", tuple(writer.states), is_cut)


class _BlockWriter:
    """Writes runs as a program and its states (state: the program and states so far)."""

    def __init__(self, runs: BlockRuns, called: CalledRuns) -> None:
        self._runs, self._called = runs, called
        self.source: list[str] = []
        self.states: list[ProgramState] = []

    def add_run(self, run: int, depth: int) -> None:
        """Add a run and the runs inside it, with its text before theirs."""
        began, *steps = self._runs[run]
        effects = [step for step in steps if step.kind == "effect" and step.is_done and step.effect]
        text = [f"# {line}" for line in began.instruction.split("\n")]
        first = self._add_text(f"block {began.place}", *text)
        places = [self._add_text(*describe_effect(effect), indent=1) for effect in effects]
        last = self._add_text("end", indent=1)
        self._add_state("call", first, depth, began.changes)
        inner = list(self._called.get(run, ()))
        changes: Mapping[str, str | None] = {}
        for number, (effect, place) in enumerate(zip(effects, places, strict=True), 1):
            self._add_state("line", place, depth, changes)
            until = effects[number].number if number < len(effects) else steps[-1].number
            while inner and self._runs[inner[0]][0].number < until:
                self.add_run(inner.pop(0), depth + 1)
            changes = effect.changes
        for called in inner:  # by an effect that had not ended
            self.add_run(called, depth + 1)
        if not steps or (ended := steps[-1]).kind != "exit":
            return
        self._add_state("line", last, depth, {**changes, **ended.changes})
        if ended.error:
            shown = f"{ended.result}: {ended.error}"
            self.states.append(ProgramState("exception", last, depth, value=shown))
        value = None if ended.error else ended.result
        self.states.append(ProgramState("return", last, depth, value=value))

    def _add_text(self, *lines: str, indent: int = 0) -> int:
        """Add lines to the program, later ones indented further; return the first line's number."""
        number = len(self.source) + 1
        self.source += [
            INDENT * (indent + bool(position)) + line for position, line in enumerate(lines)
        ]
        return number

    def _add_state(
        self, event: Any, line: int, depth: int, texts: Mapping[str, str | None]
    ) -> None:
        changed = {name: text for name, text in texts.items() if text is not None}
        removed = tuple(sorted(name for name, text in texts.items() if text is None))
        self.states.append(ProgramState(event, line, depth, changed, removed))


def describe_effect(step: Step) -> list[str]:
    """Return an effect as lines of text: its kind and its code, or its fields as JSON."""
    fields = dict(step.effect or {})
    kind, code = fields.pop("kind", "Effect"), fields.pop("code", None)
    if isinstance(code, list):
        code = "\n".join(code)
    text = code if isinstance(code, str) else json.dumps(fields, ensure_ascii=False)
    return f"{kind}: {text}".split("\n")
