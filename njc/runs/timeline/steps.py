"""Steps of a run, and their timeline.

    timeline[1]                                     Step(effect, "mail.njpy:12", ...)
    timeline.variables_before(Position(1))          {"mail": "str = 'Hello'"}

Runs of blocks and their steps are numbered by their start, so the steps of a block that an effect calls come after that
effect. In a trace of several processes this is the order of the lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, overload

from njc.runs.timeline.trace_lines import UnreadableLine
from njrt.events import Prediction

StepKind = Literal["enter", "effect", "line", "exit"]
Variables = Mapping[str, str]
"""A line of text for each bound variable."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place between steps: before step `number`, or before a line of code, the `line`-th since that step."""

    number: int
    line: int = 0

    def __str__(self) -> str:
        """Return the typed form: `12`, or `12.3` for the third line after step 12."""
        return f"{self.number}.{self.line}" if self.line else str(self.number)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of one run of a block."""

    position: Position
    kind: StepKind
    run: int
    place: str
    """The place of the block, such as `mail.njpy:12`."""
    parent: int | None = None
    """The run that called this block."""
    depth: int = 0
    """The number of runs around this one."""
    instruction: str = ""
    model: str = ""
    effects: str = ""
    tried: str = ""
    turn: int = 0
    shown: tuple[Mapping[str, Any] | str, ...] = ()
    """The messages to the model that are new in this turn."""
    reply: Mapping[str, Any] | None = None
    effect: Mapping[str, Any] | None = None
    code_line: int = 0
    """For a line: its number in the code, from 1."""
    is_done: bool = False
    """Whether the step has finished; the following fields are known only then."""
    decisions: tuple[Mapping[str, Any], ...] = ()
    """The decisions of interceptors about the effect; `effect` is the original request."""
    prediction: Prediction | None = None
    result_kind: Literal["", "answer", "refusal", "outcome"] = ""
    result: str = ""
    """The answer to the model; for an exit, the outcome."""
    error: str = ""
    changes: Mapping[str, str | None] = field(default_factory=dict)
    """The changed variables, a line of text each; None for a variable that is no longer bound."""
    digest: str = ""
    """Of all variables after the step; empty in traces without states."""
    printed: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    """Of the reply of this turn; counted in the first effect of a turn."""
    seconds: float = 0.0

    @property
    def number(self) -> int:
        """The number of the step, from 0; for a line, of the step before it."""
        return self.position.number

    @property
    def executed(self) -> Mapping[str, Any] | None:
        """The effect that was performed or refused: as the last interceptor edited it."""
        return choose_executed_effect(self.effect, self.decisions)

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def is_refused(self) -> bool:
        return self.result_kind == "refusal"

    @property
    def jump(self) -> str:
        """The outcome of an exit other than the normal one: broke, continued, returned, raised, failed."""
        return self.result if self.kind == "exit" and self.result != "completed" else ""


def choose_executed_effect(
    requested: Mapping[str, Any] | None, decisions: Iterable[Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    """Return the effect after these decisions: the last edited one, else the requested one."""
    for decision in decisions:
        requested = decision.get("effect", requested)
    return requested


class Timeline(Sequence[Step]):
    """The steps so far: `timeline[k]` is step `k`; lines of code are `timeline.at(Position(k, n))`."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._lines: dict[int, list[Step]] = {}
        self.problems: list[UnreadableLine] = []

    def __len__(self) -> int:
        return len(self._steps)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | Sequence[Step]:
        return self._steps[index]

    def at(self, position: Position) -> Step | None:
        if position.line:
            lines = self._lines.get(position.number, ())
            return lines[position.line - 1] if position.line <= len(lines) else None
        return self._steps[position.number] if 0 <= position.number < len(self._steps) else None

    def lines_after(self, number: int) -> Sequence[Step]:
        """Return the known lines of code between step `number` and the next one."""
        return self._lines.get(number, ())

    def put(self, step: Step) -> None:
        """Add a step, or replace the one at its position."""
        here = self._steps
        number = step.position.number
        if step.position.line:
            here = self._lines.setdefault(step.position.number, [])
            number = step.position.line - 1
        assert number <= len(here), "steps come one by one"
        here[number : number + 1] = [step]

    def cut(self, position: Position) -> None:
        """Forget the steps from a position on."""
        first = position.number + (1 if position.line else 0)
        del self._steps[first:]
        for number in [number for number in self._lines if number >= position.number]:
            kept = position.line - 1 if number == position.number else 0
            self._lines[number] = self._lines[number][: max(0, kept)]

    def before(self, position: Position) -> Position | None:
        """Return the position of the known step before this one, lines of code included."""
        if position.line > 1:
            return Position(position.number, position.line - 1)
        if position.line == 1:
            return Position(position.number)
        if position.number == 0:
            return None
        number = min(position.number, len(self._steps)) - 1
        return Position(number, len(self._lines.get(number, ())))

    def variables_before(self, position: Position) -> Variables:
        """Return the variables of the step's run before the step, as text; empty for an entry."""
        return self._add_changes(position, lambda other: other < position)

    def variables_after(self, position: Position) -> Variables:
        """Return the variables of the step's run after the step, as text."""
        return self._add_changes(position, lambda other: other <= position)

    def _add_changes(self, position: Position, counts: Callable[[Position], bool]) -> Variables:
        here = self.at(position)
        if here is None:
            return {}
        steps = [step for step in self._steps[: position.number + 1] if step.run == here.run]
        if position.line:  # inside the last effect, which has the changes of all its lines
            for number in range(steps.pop().number, position.number + 1):
                steps += [line for line in self.lines_after(number) if line.run == here.run]
        variables: dict[str, str] = {}
        for step in steps:
            if counts(step.position):
                apply_changes(variables, step.changes)
        return variables

    def runs(self) -> Mapping[int, tuple[Step, ...]]:
        found: dict[int, list[Step]] = {}
        for step in self._steps:
            found.setdefault(step.run, []).append(step)
        return {run: tuple(steps) for run, steps in found.items()}


def apply_changes(variables: dict[str, str], changes: Mapping[str, str | None]) -> None:
    """Apply the changes of a step to the texts of variables."""
    for name, text in changes.items():
        if text is None:
            variables.pop(name, None)
        else:
            variables[name] = text
