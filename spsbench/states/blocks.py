"""The states of natural blocks, from a trace file.

    block shop.njpy:3             call     prices = list[int], 2 items = [3, 4]
        # Put the sum of <prices> into <:total>.
        Run: total = sum(prices)  line     (before the effect)
        end                       line     total = int = 7
                                  return   completed

Each run of a block becomes a function of a program that is written for the purpose: its lines are the effects, in
order. A block that the code of an effect has run is called by the line of that effect. Variables are as the trace
file has them: as lines of text that a model is shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from njc.timeline.trace_lines import (
    BeganLine,
    EndedLine,
    PerformedLine,
    StateTexts,
    TraceLine,
    UnreadableLine,
)
from spsbench.states.trace import DamagedStatesError, ProgramState, StateTrace

INDENT = "    "


@dataclass(slots=True)
class _BlockRun:
    """The lines of one run of a block (state: those that have come)."""

    began: BeganLine
    steps: list[PerformedLine | _BlockRun] = field(default_factory=list)
    ended: EndedLine | None = None


def read_block_traces(lines: Iterable[TraceLine]) -> Iterator[StateTrace]:
    """A trace for each run of a block that no other block has called, in the order of their begins."""
    runs: dict[str, _BlockRun] = {}
    outermost: list[_BlockRun] = []
    for line in lines:
        match line:
            case UnreadableLine(number=number, problem=problem):
                if not problem.startswith("cut off"):
                    raise DamagedStatesError(f"line {number} of the trace: {problem}")
            case BeganLine(run=name, parent=parent):
                run = runs[name] = _BlockRun(line)
                (runs[parent].steps if parent in runs else outermost).append(run)
            case PerformedLine(run=name) if name in runs:
                runs[name].steps.append(line)
            case EndedLine(run=name) if name in runs:
                runs[name].ended = line
    return map(make_block_trace, outermost)


def make_block_trace(run: _BlockRun) -> StateTrace:
    """The states of a run, of the blocks that it called, and the program that they are states of."""
    writer = _BlockWriter()
    writer.add_run(run, 0)
    return StateTrace(
        "\n".join(writer.source) + "\n", tuple(writer.states), is_cut=run.ended is None
    )


class _BlockWriter:
    """Writes runs as a program and its states (state: both so far)."""

    def __init__(self) -> None:
        self.source: list[str] = []
        self.states: list[ProgramState] = []
        self._later: list[tuple[int, _BlockRun, int]] = []

    def add_run(self, run: _BlockRun, depth: int) -> None:
        """Add a run and the runs inside of it; the text of a run stands before those inside of it."""
        began, effects = run.began, [step for step in run.steps if isinstance(step, PerformedLine)]
        first = self._add_text(f"block {began.place}", *(f"# {text}" for text in began.instruction))
        places = {
            id(effect): self._add_text(*describe_effect(effect), indent=1) for effect in effects
        }
        last = self._add_text("end", indent=1)
        self._add_state("call", first, depth, began.state)
        changes: StateTexts | None = None
        inner: list[_BlockRun] = []
        for step in run.steps:
            if isinstance(step, _BlockRun):
                inner.append(step)
                continue
            self._add_state("line", places[id(step)], depth, changes)
            for called in inner:
                self.add_run(called, depth + 1)
            inner, changes = [], step.changes
        for called in inner:  # of an effect that had not ended
            self.add_run(called, depth + 1)
        if run.ended is None:
            return
        self._add_state("line", last, depth, {**(changes or {}), **(run.ended.changes or {})})
        if run.ended.error:
            text = f"{run.ended.outcome}: {run.ended.error}"
            self.states.append(ProgramState("exception", last, depth, value=text))
        is_left = bool(run.ended.error)
        value = None if is_left else run.ended.outcome
        self.states.append(ProgramState("return", last, depth, value=value))

    def _add_text(self, *lines: str, indent: int = 0) -> int:
        """Add lines to the program, all but the first indented further; returns the number of the first."""
        number = len(self.source) + 1
        self.source += [
            INDENT * (indent + bool(position)) + line for position, line in enumerate(lines)
        ]
        return number

    def _add_state(self, event: Any, line: int, depth: int, texts: StateTexts | None) -> None:
        changed = {name: text for name, text in (texts or {}).items() if text is not None}
        removed = tuple(sorted(name for name, text in (texts or {}).items() if text is None))
        self.states.append(ProgramState(event, line, depth, changed, removed))


def describe_effect(line: PerformedLine) -> list[str]:
    """An effect as lines of text: its kind and its code, or its fields as JSON."""
    fields = dict(line.effect)
    kind, code = fields.pop("kind", "Effect"), fields.pop("code", None)
    if isinstance(code, list):
        code = "\n".join(code)
    text = code if isinstance(code, str) else json.dumps(fields, ensure_ascii=False)
    return f"{kind}: {text}".split("\n")
