"""Steps of a run, and the timeline that they make.

    began, asked, replied, performed, ended        the lines of a trace, or of a run under control
    ───────────────────────────────────────>       Timeline([Step(enter), Step(effect), Step(exit)])

A step is the entry of a block, an effect, its exit, or, where the model's code is stepped through, a line of it.
The runs of blocks are numbered from 1 in the order in which they begin. Steps are ordered by their beginning: those
of a block that is called by an effect come after that effect. In a trace of several processes or threads this order
is that of the lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, assert_never, overload

from njc.timeline.trace_lines import (
    AskedLine,
    BeganLine,
    EndedLine,
    PerformedLine,
    RepliedLine,
    TraceLine,
    UnansweredLine,
    UnreadableLine,
)
from njrt.prediction import Prediction

StepKind = Literal["enter", "effect", "line", "exit"]
Variables = Mapping[str, str]
"""A line of text for each variable that is bound."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place between steps: before step `number`, or before a line of code, the `line`-th since that step."""

    number: int
    line: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One step of one run of a block."""

    position: Position
    kind: StepKind
    run: int
    place: str
    """Where the block is, such as `mail.njpy:12`."""
    parent: int | None = None
    """The run whose code called this block."""
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
    """What the model replied in this turn."""
    effect: Mapping[str, Any] | None = None
    """The effect, with its `kind`."""
    code_line: int = 0
    """For a line: its number in the code, from 1."""
    is_done: bool = False
    """Whether the step has been carried out; what follows is known only then."""
    decisions: tuple[Mapping[str, Any], ...] = ()
    """What interceptors decided about the effect; `effect` is as the model requested it."""
    prediction: Prediction | None = None
    """What was predicted of the effect, if it was."""
    result_kind: Literal["", "answer", "refusal", "outcome"] = ""
    result: str = ""
    """What the model was answered; for an exit, the outcome."""
    error: str = ""
    changes: Mapping[str, str | None] = field(default_factory=dict)
    """What the step has changed, a line of text for each variable; None: no longer bound."""
    digest: str = ""
    """Of all variables after the step; empty in traces without states."""
    printed: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    """Of the reply of this turn; counted in the first effect of a turn."""
    seconds: float = 0.0

    @property
    def number(self) -> int:
        """The number of the step, from 0; a line has that of the step before it."""
        return self.position.number

    @property
    def tokens(self) -> int:
        """Input and output tokens of the reply of this turn."""
        return self.input_tokens + self.output_tokens

    @property
    def is_refused(self) -> bool:
        """Whether the effect was refused."""
        return self.result_kind == "refusal"

    @property
    def jump(self) -> str:
        """The outcome of an exit other than the normal one: broke, continued, returned, raised, failed."""
        return self.result if self.kind == "exit" and self.result != "completed" else ""


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run that has not ended: what its next steps have in common, and its variables so far."""

    number: int
    place: str
    parent: int | None
    depth: int
    instruction: str
    model: str
    effects: str
    turn: int = 0
    shown: tuple[Mapping[str, Any] | str, ...] = ()
    reply: Mapping[str, Any] | None = None
    tokens: tuple[int, int] = (0, 0)
    pending: Step | None = None
    """The effect that is being carried out."""
    line: Step | None = None
    """The line of its code that is being carried out."""
    variables: Variables = field(default_factory=dict)
    digest: str = ""


class Timeline(Sequence[Step]):
    """The steps so far: `timeline[k]` is step `k`; lines of code are `timeline.at(Position(k, n))`."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._lines: dict[int, list[Step]] = {}
        self.problems: list[UnreadableLine] = []
        """The lines of the trace that could not be read."""

    def __len__(self) -> int:
        return len(self._steps)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | Sequence[Step]:
        return self._steps[index]

    def at(self, position: Position) -> Step | None:
        """The step at a position, if it is known."""
        if position.line:
            lines = self._lines.get(position.number, ())
            return lines[position.line - 1] if position.line <= len(lines) else None
        return self._steps[position.number] if 0 <= position.number < len(self._steps) else None

    def lines_after(self, number: int) -> Sequence[Step]:
        """The lines of code that are known between step `number` and the next one."""
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
        """The position of the known step before this one, lines of code included."""
        if position.line > 1:
            return Position(position.number, position.line - 1)
        if position.line == 1:
            return Position(position.number)
        if position.number == 0:
            return None
        number = min(position.number, len(self._steps)) - 1
        return Position(number, len(self._lines.get(number, ())))

    def variables_before(self, position: Position) -> Variables:
        """The variables of the step's run before the step, as text; empty for an entry."""
        step = self.at(position)
        return self._add_changes(step, position, is_after=False) if step else {}

    def variables_after(self, position: Position) -> Variables:
        """The variables of the step's run after the step, as text."""
        step = self.at(position)
        return self._add_changes(step, position, is_after=True) if step else {}

    def _add_changes(self, step: Step, position: Position, is_after: bool) -> Variables:
        steps = [
            other
            for other in self._steps[: position.number + 1]
            if other.run == step.run
            and (other.position < position or (is_after and other.position == position))
        ]
        if position.line:  # inside the last effect, whose changes are those of all its lines
            effect = steps.pop()
            steps += [
                line
                for number in range(effect.number, position.number + 1)
                for line in self._lines.get(number, ())
                if line.run == step.run
                and (line.position < position or (is_after and line.position == position))
            ]
        variables: dict[str, str] = {}
        for other in steps:
            apply_changes(variables, other.changes)
        return variables

    def runs(self) -> Mapping[int, tuple[Step, ...]]:
        """The steps of each run, without lines."""
        found: dict[int, list[Step]] = {}
        for step in self._steps:
            found.setdefault(step.run, []).append(step)
        return {run: tuple(steps) for run, steps in found.items()}


def apply_changes(variables: dict[str, str], changes: Mapping[str, str | None]) -> None:
    """Change the texts of variables as a step did."""
    for name, text in changes.items():
        if text is None:
            variables.pop(name, None)
        else:
            variables[name] = text


@dataclass(frozen=True, slots=True)
class PendingLine:
    """A run under control: an effect is about to be carried out."""

    run: str
    turn: int
    effect: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A run under control: a line of the model's code is about to run; the changes are those before it."""

    run: str
    line: int
    changes: Mapping[str, str | None]
    digest: str


@dataclass(frozen=True, slots=True)
class CodeLinesEnd:
    """A run under control: lines of code are no longer steps."""


ControlLine = TraceLine | PendingLine | CodeLine | CodeLinesEnd


@dataclass(frozen=True, slots=True)
class StepBuilderState:
    """What a `StepBuilder` knows at one point, to go on from there again."""

    next: Position
    runs: Mapping[str, OpenRun]
    begun: int


class StepBuilder:
    """Makes steps of the lines of a trace or of a run under control (state: the runs that have not ended)."""

    def __init__(self, state: StepBuilderState | None = None) -> None:
        state = state or StepBuilderState(Position(0), {}, 0)
        self._next, self._begun = state.next, state.begun
        self._runs = dict(state.runs)

    @property
    def state(self) -> StepBuilderState:
        """What is needed to go on from here again."""
        return StepBuilderState(self._next, dict(self._runs), self._begun)

    @property
    def reached(self) -> Position:
        """The position after all steps that have begun."""
        number, line = self._next.number, self._next.line
        return Position(number - 1, line + 1) if number else Position(0)

    def add(self, line: ControlLine) -> Iterator[Step]:
        """Give the steps that this line begins or finishes; lines of unknown runs give none."""
        if isinstance(line, UnreadableLine):
            return
        if isinstance(line, CodeLinesEnd):
            self._runs = {key: replace(run, line=None) for key, run in self._runs.items()}
            return
        if isinstance(line, BeganLine):
            yield from self._begin(line)
            return
        run = self._runs.get(line.run)
        if run is None:
            return
        match line:
            case AskedLine(turn=turn, shown=shown):
                self._runs[line.run] = replace(
                    run, turn=turn, shown=tuple(shown), reply=None, tokens=(0, 0)
                )
            case RepliedLine(reply=reply):
                usage = reply.get("usage", {})
                tokens = (int(usage.get("input", 0)), int(usage.get("output", 0)))
                self._runs[line.run] = replace(run, reply=reply, tokens=tokens)
            case UnansweredLine():
                pass
            case PendingLine(effect=effect):
                yield self._add_effect(line.run, run, effect)
            case CodeLine():
                yield from self._add_code_line(line, run)
            case PerformedLine():
                yield from self._finish_effect(line, run)
            case EndedLine():
                yield from self._end(line, run)
            case _:
                assert_never(line)

    def _take_position(self) -> Position:
        number, self._next = self._next.number, Position(self._next.number + 1)
        return Position(number)

    def _make(self, run: OpenRun, position: Position, kind: StepKind, **fields: Any) -> Step:
        return Step(
            position,
            kind,
            run.number,
            run.place,
            run.parent,
            run.depth,
            run.instruction,
            run.model,
            run.effects,
            **fields,
        )

    def _begin(self, line: BeganLine) -> Iterator[Step]:
        around = self._runs.get(line.parent or "")
        if around is not None and around.pending is None:  # a trace: its effect is written later
            yield self._add_effect(line.parent or "", around, None)
            around = self._runs[line.parent or ""]
        self._begun += 1
        variables: dict[str, str] = {}
        apply_changes(variables, line.state or {})
        run = OpenRun(
            self._begun,
            line.place,
            around.number if around else None,
            around.depth + 1 if around else 0,
            "\n".join(line.instruction),
            line.model,
            line.effects,
            variables=variables,
            digest=line.digest,
        )
        self._runs[line.run] = run
        yield self._make(
            run,
            self._take_position(),
            "enter",
            tried=line.tried,
            is_done=True,
            changes=line.state or {},
            digest=line.digest,
        )

    def _add_effect(self, key: str, run: OpenRun, effect: Mapping[str, Any] | None) -> Step:
        step = self._make(
            run,
            self._take_position(),
            "effect",
            turn=run.turn,
            shown=run.shown,
            reply=run.reply,
            effect=effect,
            input_tokens=run.tokens[0],
            output_tokens=run.tokens[1],
        )
        self._runs[key] = replace(run, pending=step, line=None, tokens=(0, 0))
        return step

    def _add_code_line(self, line: CodeLine, run: OpenRun) -> Iterator[Step]:
        if finished := self._finish_code_line(run, line.changes, line.digest):
            yield finished
        number = self._next.number - 1
        self._next = Position(self._next.number, self._next.line + 1)
        position = Position(number, self._next.line)
        variables = dict(run.variables)
        apply_changes(variables, line.changes)
        effect = run.pending.effect if run.pending else None
        step = self._make(run, position, "line", turn=run.turn, effect=effect, code_line=line.line)
        self._runs[line.run] = replace(run, variables=variables, line=step, digest=line.digest)
        yield step

    def _finish_code_line(
        self, run: OpenRun, changes: Mapping[str, str | None], digest: str
    ) -> Step | None:
        """The line that has been carried out; `changes` may have those of earlier lines too."""
        if run.line is None:
            return None
        own = {name: text for name, text in changes.items() if run.variables.get(name) != text}
        return replace(run.line, is_done=True, changes=own, digest=digest)

    def _finish_effect(self, line: PerformedLine, run: OpenRun) -> Iterator[Step]:
        if run.pending is None:
            yield self._add_effect(line.run, run, line.effect)
            run = self._runs[line.run]
        assert run.pending is not None
        changes = line.changes or {}
        if finished := self._finish_code_line(run, changes, line.digest):
            yield finished
        variables = dict(run.variables)
        apply_changes(variables, changes)
        self._runs[line.run] = replace(
            run, pending=None, line=None, variables=variables, digest=line.digest
        )
        yield replace(
            run.pending,
            effect=line.effect,
            is_done=True,
            decisions=tuple(line.decisions),
            prediction=line.prediction,
            result_kind=line.kind,
            result=line.result,
            changes=changes,
            digest=line.digest,
            printed=line.printed,
            seconds=line.seconds,
        )

    def _end(self, line: EndedLine, run: OpenRun) -> Iterator[Step]:
        if run.pending is not None:
            yield replace(run.pending, is_done=True, result_kind="outcome", result=line.outcome)
        del self._runs[line.run]
        yield self._make(
            run,
            self._take_position(),
            "exit",
            turn=run.turn,
            is_done=True,
            result_kind="outcome",
            result=line.outcome,
            error=line.error,
            changes=line.changes or {},
            digest=line.digest,
            printed=line.printed,
            seconds=line.seconds,
        )


def build_timeline(lines: Iterable[TraceLine]) -> Timeline:
    """The timeline of a trace."""
    timeline, builder = Timeline(), StepBuilder()
    for line in lines:
        if isinstance(line, UnreadableLine):
            timeline.problems.append(line)
        for step in builder.add(line):
            timeline.put(step)
    return timeline
