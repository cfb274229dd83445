"""What a trace says in numbers: blocks, effects, calls, tokens, cost, and what became of refused effects.

    tally(lines of a trace file)   ->  Tally(blocks=1, effects=2, calls=2, usage=Usage(...), cost=0.004, ...)

A trace is written event by event, so that it also tells of a trial that was killed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from njrt.message_json import parse_json_lines
from spsbench.failures import EffectError, Recovery, classify_refusal
from spsbench.results import TrialUsage

TraceEvent = Mapping[str, Any]
"""A line of a trace file, read."""


@dataclass(frozen=True, slots=True)
class TraceCounts:
    """The numbers of one trace, or of several together."""

    blocks: int = 0
    effects: int = 0
    calls: int = 0
    reused: int = 0
    """Calls that a cache answered."""
    usage: TrialUsage = field(default_factory=TrialUsage)
    """Tokens of the calls that a model answered."""
    cost: float | None = 0.0
    raised: tuple[str, ...] = ()
    """The exceptions that blocks raised on purpose."""
    errors: tuple[EffectError, ...] = ()
    unanswered: tuple[str, ...] = ()
    """What went wrong in place of replies."""

    def __add__(self, other: TraceCounts) -> TraceCounts:
        is_priced = self.cost is not None and other.cost is not None
        return TraceCounts(
            self.blocks + other.blocks,
            self.effects + other.effects,
            self.calls + other.calls,
            self.reused + other.reused,
            self.usage + other.usage,
            (self.cost or 0.0) + (other.cost or 0.0) if is_priced else None,
            self.raised + other.raised,
            self.errors + other.errors,
            self.unanswered + other.unanswered,
        )

    @property
    def has_given_up(self) -> bool:
        """Whether a block ended on an error as if nothing had been."""
        return any(error.recovery == "ignored error" for error in self.errors)


def count_trace(lines: Iterable[str]) -> TraceCounts:
    """Count what a trace tells; a last line that a kill cut off is left out."""
    events: Sequence[TraceEvent] = list(parse_json_lines(lines))
    began = [each for each in events if each["event"] == "began"]
    replied = [each for each in events if each["event"] == "replied"]
    asked = sum(each["event"] == "asked" for each in events)
    ended = [each for each in events if each["event"] == "ended"]
    return TraceCounts(
        blocks=sum(each["effects"] != "llm" for each in began),
        effects=sum(each["event"] == "performed" for each in events),
        calls=asked,
        reused=sum(each["source"] == "cache" for each in replied),
        usage=sum(
            (_read_usage(each) for each in replied if each["source"] != "cache"), TrialUsage()
        ),
        cost=_sum_cost(replied),
        raised=tuple(each["error"] for each in ended if each["outcome"] == "raised"),
        errors=tuple(_find_effect_errors(events)),
        unanswered=tuple(each["error"] for each in events if each["event"] == "unanswered"),
    )


def _read_usage(replied: TraceEvent) -> TrialUsage:
    used = replied["reply"]["usage"]
    return TrialUsage(used["input"], used.get("cached", 0), used["output"])


def _sum_cost(replied: Sequence[TraceEvent]) -> float | None:
    """What the replies cost; what comes out of a cache or a script is free."""
    paid = [each["reply"]["usage"].get("usd") for each in replied if each["source"] == "model"]
    return None if None in paid else sum(paid, 0.0)


def _find_effect_errors(events: Sequence[TraceEvent]) -> Iterator[EffectError]:
    """The refused effects of all runs, each with what came next in its run."""
    performed: dict[str, list[TraceEvent]] = {}
    for event in events:
        if event["event"] == "performed":
            performed.setdefault(event["run"], []).append(event)
    for effects in performed.values():
        for effect, following in zip(effects, [*effects[1:], None], strict=True):
            if effect["kind"] == "refusal":
                yield EffectError(
                    classify_refusal(effect["result"]), _classify_recovery(effect, following)
                )


ENDING_EFFECTS = ("Done", "Goto", "BreakLoop", "ContinueLoop", "ReturnValue", "RaiseError")
"""Effects that do nothing but end a block."""


def _classify_recovery(refused: TraceEvent, following: TraceEvent | None) -> Recovery:
    if following is None:
        return "not recovered"
    before, after = refused["effect"], following["effect"]
    if before == after:
        return "retry"
    if following["kind"] == "refusal":
        return "not recovered"
    if after["kind"] in ENDING_EFFECTS and before["kind"] not in ENDING_EFFECTS:
        return "ignored error"
    return "correction" if before["kind"] == after["kind"] else "workaround"
