"""Building steps from the lines of a trace or of a controlled run.

began, asked, replied, performed, ended        the lines
───────────────────────────────────────>       Step(enter), Step(effect), Step(exit)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from njc.debug.timeline.steps import (
    ModelCall,
    Step,
    StepKind,
    Variables,
    apply_changes,
)
from njc.debug.trace_lines import (
    AskedLine,
    BeganLine,
    EndedLine,
    EventLine,
    PerformedLine,
    RepliedLine,
    TraceLine,
    UnansweredLine,
    UnreadableLine,
)
from njrt.data.records import record


@dataclass(slots=True)
class OpenRun:
    """An unfinished run: its steps' shared fields, and variables so far (state: all but `base`)."""

    base: Step
    """A step with the fields that all steps of the run share."""
    turn: int = 0
    shown: tuple[Mapping[str, Any] | str, ...] = ()
    reply: Mapping[str, Any] | None = None
    call: ModelCall | None = None
    """The model call of this turn, until its first effect."""
    pending: Step | None = None
    """The effect that is running."""
    around: tuple[Step, ...] = ()
    """The effects around the pending call; their code makes it."""
    variables: Variables = field(default_factory=dict)


@record
class PendingLine:
    """In a controlled run: an effect is about to run."""

    run: str
    turn: int
    effect: Mapping[str, Any]


ControlLine = TraceLine | PendingLine


@dataclass(slots=True)
class StepBuilder:
    """Makes steps from the lines of a trace or of a controlled run (state: the unfinished runs)."""

    has_one_run: bool = False
    """Whether all lines are of one run.

    Its model calls without an effect are steps, and its start may be missing.
    """
    next: int = 0
    """The number of the next step."""
    runs: dict[str, OpenRun] = field(default_factory=dict)
    begun: int = 0
    """The number of runs so far."""

    def add(self, line: ControlLine) -> Iterator[Step]:
        """Yield the steps that this line starts or finishes; lines of unknown runs yield none."""
        if isinstance(line, UnreadableLine):
            return
        if isinstance(line, BeganLine):
            yield from self._begin(line)
            return
        if self.has_one_run and line.run not in self.runs:
            self.runs[line.run] = OpenRun(Step(0, "enter", 1, "(unknown)"))
        if line.run not in self.runs:
            return
        run = self.runs[line.run]
        match line:
            case AskedLine(turn=turn, shown=shown):
                yield from self._finish_call(run)
                run.turn, run.shown, run.reply = turn, tuple(shown), None
                run.call = ModelCall(line.at.timestamp())
            case RepliedLine(reply=reply):
                began = run.call.at if run.call else line.at.timestamp()
                run.call = ModelCall(began, line.seconds, line.model, line.source, line.cost, "")
                run.reply = reply
            case UnansweredLine():
                call = run.call or ModelCall(line.at.timestamp())
                run.call = replace(call, seconds=line.seconds, error=line.error)
            case PendingLine(effect=effect):
                yield self._add_effect(run, effect)
            case PerformedLine():
                yield from self._finish_effect(line, run)
            case EndedLine():
                yield from self._end(line, run)
            case _:
                assert_never(line)

    def _make(self, run: OpenRun, kind: StepKind, **fields: Any) -> Step:
        number, self.next = self.next, self.next + 1
        return replace(run.base, number=number, kind=kind, **fields)

    def _make_in_turn(self, run: OpenRun, kind: StepKind, **fields: Any) -> Step:
        turn = {"turn": run.turn, "shown": run.shown, "reply": run.reply}
        return self._make(run, kind, **turn, **fields)

    def _begin(self, line: BeganLine) -> Iterator[Step]:
        around = self.runs.get(line.parent or "")
        if around is not None and around.pending is None:  # in a trace, the effect is written later
            yield self._add_effect(around, None)
        self.begun += 1
        base = Step(
            0,
            "enter",
            self.begun,
            line.place,
            line.file,
            around.base.run if around else None,
            around.base.depth + 1 if around else 0,
            "\n".join(line.instruction),
            line.model,
            line.effects,
        )
        run = self.runs[line.run] = OpenRun(base, variables=apply_changes({}, line.state or {}))
        done = {"is_done": True, "changes": line.state or {}, "digest": line.digest}
        yield self._make(run, "enter", at=line.at.timestamp(), **done)

    def _finish_call(self, run: OpenRun) -> Iterator[Step]:
        """Yield the model call, if no effect followed it."""
        call = run.call or (run.pending and run.pending.call)
        if call and self.has_one_run:
            kind = "error" if call.error else ""
            done = {"is_done": True, "result": call.error, "result_kind": kind}
            yield self._make_in_turn(run, "call", call=call, **done)

    def finish(self) -> Iterator[Step]:
        """Yield the model calls that are still open when the lines end."""
        for run in self.runs.values():
            yield from self._finish_call(run)

    def _add_effect(self, run: OpenRun, effect: Mapping[str, Any] | None) -> Step:
        step = self._make_in_turn(run, "effect", call=run.call, effect=effect)
        is_inner = run.pending is not None and is_call(effect)
        run.around = (*run.around, run.pending) if run.pending and is_inner else ()
        run.pending, run.call = step, None
        return step

    def _finish_effect(self, line: PerformedLine, run: OpenRun) -> Iterator[Step]:
        made_by_code = is_call(line.effect)
        # In a trace, the effect that contains the code comes after the calls made by the code.
        if made_by_code and run.pending is None:
            yield self._add_effect(run, None)
        if run.pending is None or (made_by_code and not is_call(run.pending.effect)):
            yield self._add_effect(run, line.effect)
        assert run.pending is not None
        finished = replace(
            run.pending,
            effect=line.effect,
            decisions=tuple(line.decisions),
            result_kind=line.kind,
            result=line.result,
            touches=line.touches,
            seconds=line.seconds,
            **read_results(line, run.variables),
        )
        if made_by_code:  # the effect around the call continues
            run.pending = run.around[-1] if run.around else None
            run.around = run.around[:-1]
            yield finished
            return
        run.variables = apply_changes(run.variables, line.changes or {})
        run.pending = None
        yield finished

    def _end(self, line: EndedLine, run: OpenRun) -> Iterator[Step]:
        if run.pending is not None and not self.has_one_run:
            yield replace(run.pending, is_done=True, result_kind="outcome", result=line.outcome)
        yield from self._finish_call(run)
        self.runs.pop(line.run, None)
        yield self._make(
            run,
            "exit",
            turn=run.turn,
            result_kind="error" if line.outcome == "failed" else "outcome",
            result=line.outcome,
            error=line.note,
            seconds=line.seconds,
            **read_results(line, run.variables),
        )


def build_steps(lines: Iterable[EventLine]) -> Iterator[Step]:
    """Yield the finished steps of one run in the order of their ends, even without its start."""
    builder = StepBuilder(has_one_run=True)
    for line in lines:
        yield from (step for step in builder.add(line) if step.is_done)
    yield from builder.finish()


def read_results(line: PerformedLine | EndedLine, variables: Variables) -> dict[str, Any]:
    """Return the fields of a step known once it has finished, given the variables before it."""
    changes = line.changes or {}
    return {
        "is_done": True,
        "changes": changes,
        "before": {name: variables[name] for name in changes if name in variables},
        "digest": line.digest,
        "parts": line.parts,
        "printed": line.printed,
        "at": line.at.timestamp(),
    }


def is_call(effect: Mapping[str, Any] | None) -> bool:
    """Return whether an effect is a call of a gated function, made by another effect's code."""
    return effect is not None and effect.get("kind") == "Touch"
