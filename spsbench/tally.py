"""Count a trace file's events: blocks, effects, calls, tokens, cost, and recoveries from refusals.

    count_trace(lines)   ->  TraceCounts(blocks=1, effects=2, calls=2, usage=TrialUsage(...), ...)

A trace is written event by event, so the trace of a killed trial can be counted, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields

from njrt.data.message_json import parse_json_lines
from njrt.messages import Json
from spsbench.failures import EffectError, Recovery, classify_refusal
from spsbench.results import TrialUsage, group_by


@dataclass(frozen=True, slots=True)
class TraceCounts:
    """The counts of one trace, or the sums of several."""

    blocks: int = 0
    effects: int = 0
    calls: int = 0
    reused: int = 0
    """Calls answered by a cache."""
    usage: TrialUsage = field(default_factory=TrialUsage)
    """Tokens of the calls answered by a model."""
    cost: float | None = 0.0
    raised: tuple[str, ...] = ()
    """The exceptions that blocks raised on purpose."""
    errors: tuple[EffectError, ...] = ()
    unanswered: tuple[str, ...] = ()
    """The errors of calls that had no reply."""

    def __add__(self, other: TraceCounts) -> TraceCounts:
        sums = {
            each.name: getattr(self, each.name) + getattr(other, each.name)
            for each in fields(self)
            if each.name != "cost"
        }
        is_priced = self.cost is not None and other.cost is not None
        cost = (self.cost or 0.0) + (other.cost or 0.0) if is_priced else None
        return TraceCounts(**sums, cost=cost)

    @property
    def has_given_up(self) -> bool:
        """Whether a block ended right after a refused effect, ignoring the error."""
        return any(error.recovery == "ignored error" for error in self.errors)


def count_trace(lines: Iterable[str]) -> TraceCounts:
    """Count the events of a trace, ignoring a last line that a kill cut off."""
    events: Sequence[Json] = list(parse_json_lines(lines))
    began = [event for event in events if event["event"] == "began"]
    replied = [event for event in events if event["event"] == "replied"]
    asked = sum(event["event"] == "asked" for event in events)
    ended = [event for event in events if event["event"] == "ended"]
    usage, paid = TrialUsage(), []
    for event in replied:  # replies from a cache or a script cost nothing
        used = event["reply"]["usage"]
        if event["source"] != "cache":
            usage += TrialUsage(used["input"], used.get("cached", 0), used["output"])
        if event["source"] == "model":
            paid.append(used.get("usd"))
    return TraceCounts(
        blocks=sum(event["effects"] != "llm" for event in began),
        effects=sum(event["event"] == "performed" for event in events),
        calls=asked,
        reused=sum(event["source"] == "cache" for event in replied),
        usage=usage,
        cost=None if None in paid else sum(paid, 0.0),
        raised=tuple(event["error"] for event in ended if event["outcome"] == "raised"),
        errors=tuple(_find_effect_errors(events)),
        unanswered=tuple(event["error"] for event in events if event["event"] == "unanswered"),
    )


def _find_effect_errors(events: Sequence[Json]) -> Iterator[EffectError]:
    """Yield the refused effects of all runs, each with the effect that follows in its run."""
    performed = group_by(
        (event for event in events if event["event"] == "performed"), lambda event: event["run"]
    )
    for effects in performed.values():
        for effect, following in zip(effects, [*effects[1:], None], strict=True):
            if effect["kind"] == "refusal":
                yield EffectError(
                    classify_refusal(effect["result"]), _classify_recovery(effect, following)
                )


ENDING_EFFECTS = ("done", "goto", "break", "continue", "return", "raise")
"""Effects that do nothing but end a block."""


def _classify_recovery(refused: Json, following: Json | None) -> Recovery:
    if following is None:
        return "not recovered"
    before, after = refused["effect"], following["effect"]
    if before == after:
        return "retry"
    if following["kind"] == "refusal":
        return "not recovered"
    if _name(after) in ENDING_EFFECTS and _name(before) not in ENDING_EFFECTS:
        return "ignored error"
    return "correction" if _name(before) == _name(after) else "workaround"


def _name(effect: Json) -> str:
    """Return the name of an effect, such as `goto` of `baseline.goto`; else its kind."""
    name: str = effect.get("function", effect["kind"])
    return name.rpartition(".")[2]
