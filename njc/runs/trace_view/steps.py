"""The steps of one run, from its lines in a trace.

    BeganLine, AskedLine, RepliedLine, PerformedLine, EndedLine
        ->  TraceStep("enter"), TraceStep("effect", code="total = sum(prices)", result="7"), TraceStep("exit")

The first effect of a reply has the model call; a call without an effect is a step. Not detected: the lines of an effect.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, assert_never

from njc.runs.timeline.effect_text import (
    NO_CHANGE,
    format_effect,
    format_messages,
    format_reply,
    name_effect,
    summarize_variables,
)
from njc.runs.timeline.steps import choose_executed_effect
from njc.runs.timeline.trace_lines import (
    AskedLine,
    BeganLine,
    ComparedLine,
    EndedLine,
    EventLine,
    ModelCallCost,
    PerformedLine,
    RepliedLine,
    UnansweredLine,
)
from njrt.events import Prediction
from njrt.rendering.writer import remove_unstable_parts

StepKind = Literal["enter", "effect", "call", "exit"]
ResultKind = Literal["", "answer", "refusal", "outcome", "error"]
"""The end of a step: `outcome` if its effect ended the block, `error` if the model or the block failed."""

JUMPS = frozenset({"broke", "continued", "returned", "raised"})
"""The outcomes of a block that jumps."""

_UNSTABLE_MARKS = (" at 0x", " owner=", " id='", "started ", "daemon ", "{'")
"""A text without these is unchanged by `remove_unstable_parts`; looking for them is faster."""


@dataclass(frozen=True, slots=True)
class VariableChange:
    """A variable before and after a step, as text; None if it is not bound or not known."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step of a run. `at` is in seconds since the epoch; `digest` is equal for equal steps."""

    kind: StepKind
    at: float
    turn: int = 0
    call_seconds: float = 0.0
    code_seconds: float = 0.0
    model: str = ""
    source: str = ""
    cost: ModelCallCost = field(default_factory=ModelCallCost)
    shown: str = ""
    reply: str = ""
    effect: str = ""
    code: str = ""
    result: str = ""
    result_kind: ResultKind = ""
    changes: tuple[VariableChange, ...] = ()
    printed: str = ""
    prediction: Prediction | None = None
    touches: int = 0
    """The number of uses of program objects by contained code."""
    digest: bytes = field(default=b"", repr=False)

    @property
    def seconds(self) -> float:
        return self.call_seconds + self.code_seconds

    @property
    def is_refused(self) -> bool:
        """Whether the effect was refused, or the reply was not valid."""
        return self.result_kind == "refusal"

    @property
    def is_surprise(self) -> bool:
        return self.prediction is not None and self.prediction.is_surprise

    @property
    def is_unchanged(self) -> bool:
        """Return whether an effect changed no variable, printed nothing and did not jump."""
        return self.kind == "effect" and not (self.changes or self.printed or self.is_jump)

    @property
    def changed(self) -> str:
        if self.is_unchanged:
            return NO_CHANGE
        known = [change.name for change in self.changes if change.before is not None]
        changes = {change.name: change.after for change in self.changes}
        return summarize_variables(changes, known) or "printed" * bool(self.printed)

    @property
    def is_jump(self) -> bool:
        """Whether the effect left the block by a jump or an exception."""
        return self.result_kind == "outcome" and self.result.partition(":")[0] in JUMPS


def build_steps(lines: Iterable[EventLine]) -> Iterator[TraceStep]:
    """Yield the steps of one run, in order; a call without an effect or a reply is a step too."""
    state: dict[str, str] = {}
    asked: AskedLine | None = None
    answer: RepliedLine | UnansweredLine | None = None
    compared = ""
    for line in lines:
        at = line.at.timestamp()
        match line:
            case BeganLine():
                yield TraceStep(
                    "enter",
                    at,
                    model=line.model,
                    effect=line.effects,
                    code="\n".join(map(str, line.instruction)),
                    changes=_apply_changes(state, line.state),
                    digest=_digest(line),
                )
            case AskedLine():
                if asked is not None:
                    yield _make_call_step(asked, answer)
                asked, answer = line, None
            case RepliedLine() | UnansweredLine():
                asked = asked or AskedLine(line.run, line.at, "asked", line.turn)
                answer = line
            case PerformedLine():
                # A touch belongs to the code of the next effect.
                is_touch = name_effect(line.effect) == "Touch"
                step = TraceStep("effect", at - line.seconds, line.turn, digest=_digest(line))
                if asked is not None and not is_touch:
                    call = _make_call_step(asked, answer)
                    step = replace(call, kind="effect", digest=_digest(asked, line))
                    asked = None
                effect = choose_executed_effect(line.effect, line.decisions) or {}
                yield replace(
                    step,
                    code_seconds=line.seconds,
                    effect=name_effect(effect),
                    code=format_effect(effect),
                    result=line.result,
                    result_kind=line.kind,
                    changes=() if is_touch else _apply_changes(state, line.changes),
                    printed=line.printed,
                    prediction=line.prediction,
                    touches=line.touches,
                )
            case ComparedLine():
                differences = "; ".join(line.differences)
                compared = f"canary: {line.problem or differences or 'the same as the code'}"
            case EndedLine():
                if asked is not None:
                    yield _make_call_step(asked, answer)
                yield TraceStep(
                    "exit",
                    at,
                    result=": ".join(filter(None, (line.outcome, line.note, compared))),
                    result_kind="error" if line.outcome == "failed" else "outcome",
                    changes=_apply_changes(state, line.changes),
                    printed=line.printed,
                    digest=_digest(line),
                )
                asked = None
            case _:
                assert_never(line)
    if asked is not None:
        yield _make_call_step(asked, answer)


def _make_call_step(asked: AskedLine, answer: RepliedLine | UnansweredLine | None) -> TraceStep:
    at, shown = asked.at.timestamp(), format_messages(asked.shown)
    step = TraceStep("call", at, asked.turn, shown=shown, digest=_digest(asked))
    if isinstance(answer, RepliedLine):
        return replace(
            step,
            call_seconds=answer.seconds,
            model=answer.model,
            source=answer.source,
            cost=answer.cost,
            reply=format_reply(answer.reply),
        )
    seconds, problem = (answer.seconds, answer.error) if answer else (0.0, "no reply in the trace")
    return replace(step, call_seconds=seconds, result=problem, result_kind="error")


def _apply_changes(
    state: dict[str, str], changes: Mapping[str, str | None] | None
) -> tuple[VariableChange, ...]:
    """Bring the state up to date; return the changes with the texts from before."""
    found = []
    for name, after in (changes or {}).items():
        found.append(VariableChange(name, state.get(name), after))
        if after is None:
            state.pop(name, None)
        else:
            state[name] = after
    return tuple(found)


def name_prediction(prediction: Prediction | None) -> str:
    """Return whether an effect was as predicted, in words; empty if nothing was predicted."""
    if prediction is None:
        return ""
    if prediction.problem:
        return "not compared"
    return "surprise" if prediction.is_surprise else "as predicted"


def format_differences(prediction: Prediction | None) -> str:
    """Return the differences from the prediction, or why they are unknown: one per line."""
    if prediction is None:
        return ""
    return "\n".join([prediction.problem] if prediction.problem else prediction.mismatches)


def _digest(*lines: EventLine) -> bytes:
    digest = hashlib.blake2b(digest_size=8)
    for line in lines:
        digest.update(format_comparable(line).encode("utf-8", "backslashreplace"))
    return digest.digest()


def format_comparable(line: EventLine) -> str:
    """Return the part of a line that equals in runs of the same program: no times, tokens, names of models, addresses."""
    match line:
        case BeganLine(place=place, instruction=instruction, state=state):
            parts: list[Any] = [place, instruction, state]
        case AskedLine(shown=shown):
            parts = [shown]
        case PerformedLine(effect=effect, kind=kind, result=result, changes=changes):
            parts = [effect, kind, result, changes, line.printed]
        case UnansweredLine(error=error):
            parts = [error]
        case ComparedLine(differences=differences, problem=problem):
            parts = [differences, problem]
        case EndedLine(outcome=outcome, error=error, changes=changes):
            parts = [outcome, error, changes, line.printed]
        case RepliedLine():
            return ""
        case _:
            assert_never(line)
    text = f"{line.event}{json.dumps(parts, ensure_ascii=False)}"
    return remove_unstable_parts(text) if any(mark in text for mark in _UNSTABLE_MARKS) else text
