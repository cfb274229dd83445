"""Steps of a run, and their timeline.

    timeline[1]                                     Step(effect, "mail.njpy:12", ...)
    timeline.variables_before(1)                    {"mail": "str = 'Hello'"}

Block runs and their steps are numbered as they start, so the steps of a block that an effect calls
come after that effect. In a trace of several processes, this is the order of the lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Literal

from njc.debug.timeline.effect_text import (
    format_effect,
    format_messages,
    format_reply,
)
from njc.debug.trace_lines import ModelCallCost
from njrt.data.records import record

StepKind = Literal["enter", "effect", "call", "exit"]
"""A model `call` without an effect is a step only in the steps of a single run."""
ResultKind = Literal["", "answer", "refusal", "outcome", "error"]
"""How a step ended: `outcome` if it ended the block, `error` if the model or the block failed."""

JUMPS = frozenset({"broke", "continued", "returned", "raised"})
"""The outcomes of blocks that end by a jump."""

Variables = Mapping[str, str]
"""Each bound variable, described on one line."""


@record
class ModelCall:
    """A model call. `at` is its start in seconds since the epoch; `error` is empty if answered."""

    at: float
    seconds: float = 0.0
    model: str = ""
    source: str = ""
    cost: ModelCallCost = field(default_factory=ModelCallCost)
    error: str = "no reply in the trace"


@record
class Step:
    """One step of one run of a block."""

    number: int
    """Counted from 0."""
    kind: StepKind
    run: int
    place: str
    """The place of the block, such as `mail.njpy:12`."""
    file: str = ""
    """The path of the block's source, if the program is running and was compiled in memory."""
    parent: int | None = None
    """The run that called this block."""
    depth: int = 0
    """The number of runs around this one."""
    instruction: str = ""
    model: str = ""
    effects: str = ""
    turn: int = 0
    shown: tuple[Mapping[str, Any] | str, ...] = ()
    """The messages to the model that were added in this turn."""
    reply: Mapping[str, Any] | None = None
    call: ModelCall | None = None
    """The model call of this turn; set only for the turn's first effect."""
    effect: Mapping[str, Any] | None = None
    is_done: bool = False
    """Whether the step has finished; the fields below are only known then."""
    decisions: tuple[Mapping[str, Any], ...] = ()
    """The interceptors' decisions about the effect; `effect` is the original request."""
    result_kind: ResultKind = ""
    result: str = ""
    """The answer to the model; for an exit, the outcome."""
    error: str = ""
    changes: Mapping[str, str | None] = field(default_factory=dict)
    """The changed variables, each described on one line; None for one that is no longer bound."""
    before: Mapping[str, str] = field(default_factory=dict)
    """The previous values of the changed variables that were bound before."""
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What has changed in objects, by path: what `was` there and what is there `now`."""
    digest: str = ""
    """The digest of all variables after the step; empty in traces without states."""
    printed: str = ""
    touches: int = 0
    """The number of calls of the program by contained code."""
    at: float = 0.0
    """The time when the step ended, or when the block was entered, in seconds since the epoch."""
    seconds: float = 0.0
    """The time that an effect took, excluding the model call."""

    @property
    def executed(self) -> Mapping[str, Any] | None:
        """The effect that was performed or refused, as last edited by an interceptor."""
        return choose_executed_effect(self.effect, self.decisions)

    @property
    def start(self) -> float:
        return self.call.at if self.call else self.at - self.seconds

    @property
    def cost(self) -> ModelCallCost:
        return self.call.cost if self.call else ModelCallCost()

    @property
    def call_seconds(self) -> float:
        return self.call.seconds if self.call else 0.0

    @property
    def tokens(self) -> int:
        return self.cost.input + self.cost.output

    @property
    def name(self) -> str:
        """The kind of effect; at an entry, the block's effect set."""
        return self.effects if self.kind == "enter" else str((self.executed or {}).get("kind", ""))

    @property
    def code(self) -> str:
        """The effect as text; at an entry, the instruction."""
        return self.instruction if self.kind == "enter" else format_effect(self.executed or {})

    @property
    def shown_text(self) -> str:
        """The messages to the model, if the model call belongs to this step."""
        return format_messages(self.shown) if self.call else ""

    @property
    def reply_text(self) -> str:
        """The model's reply, if the model call belongs to this step."""
        return format_reply(self.reply) if self.call and self.reply is not None else ""

    @property
    def ending(self) -> str:
        """The answer to the model; for an exit, how the block ended."""
        return ": ".join(filter(None, (self.result, self.error)))

    def list_changes(self) -> list[tuple[str, str | None, str | None]]:
        """Return changed variables and parts of objects: name or path, text before and after."""
        variables = [(name, self.before.get(name), after) for name, after in self.changes.items()]
        parts = [
            (
                path,
                repr(it["was"]) if "was" in it else None,
                repr(it["now"]) if "now" in it else "(removed)",
            )
            for path, it in self.parts.items()
        ]
        return [*variables, *parts]

    @property
    def is_refused(self) -> bool:
        return self.result_kind == "refusal"

    @property
    def is_jump(self) -> bool:
        """Whether the block was left by a jump or an exception."""
        return self.result_kind == "outcome" and self.result.partition(":")[0] in JUMPS

    @property
    def is_unchanged(self) -> bool:
        """Whether an effect changed no variable, printed nothing and did not jump."""
        return self.kind == "effect" and not (self.changes or self.printed or self.is_jump)

    @property
    def jump(self) -> str:
        """An exit's outcome, unless it is normal: broke, continued, returned, raised, failed."""
        return self.result if self.kind == "exit" and self.result != "completed" else ""


def choose_executed_effect(
    requested: Mapping[str, Any] | None, decisions: Iterable[Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    """Return the effect after these decisions: the last edit, or else the requested effect."""
    for decision in decisions:
        if isinstance(effect := decision.get("effect"), Mapping):
            requested = effect
    return requested


class Timeline(list[Step]):
    """The steps of one run of a program; `timeline[k]` is step `k`."""

    def at(self, number: int) -> Step | None:
        """Return a step, or None before the first and after the last one."""
        return self[number] if 0 <= number < len(self) else None

    def put(self, step: Step) -> None:
        """Add a step, or replace the one with its number."""
        assert step.number <= len(self), "steps come one by one"
        self[step.number : step.number + 1] = [step]

    def variables_before(self, number: int) -> Variables:
        """Return the variables of the step's run as text before the step; empty for an entry."""
        here = self.at(number)
        variables: dict[str, str] = {}
        for step in self[:number]:
            if here is not None and step.run == here.run:
                variables = apply_changes(variables, step.changes)
        return variables


def apply_changes(variables: Variables, changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return the variables after the changes of a step."""
    return {name: text for name, text in {**variables, **changes}.items() if text is not None}
