"""Count a trace file's events: blocks, effects, calls, tokens, cost.

    count_trace(lines)   ->  TraceCounts(blocks=1, effects=2, calls=2, usage=TrialUsage(...), ...)

A trace is written event by event, so the trace of a killed trial can be counted, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise

from njrt.data.message_json import parse_json_lines
from njrt.messages import Json
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
    given_up: int = 0
    """The number of traces in which a block ended right after a refused effect."""
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
        given_up=int(_has_given_up(events)),
        unanswered=tuple(event["error"] for event in events if event["event"] == "unanswered"),
    )


def _has_given_up(events: Iterable[Json]) -> bool:
    """Return whether an effect that only ends a block follows another one that was refused."""
    performed = (event for event in events if event["event"] == "performed")
    return any(
        before["kind"] == "refusal" != after["kind"]
        and _name(after["effect"]) in ENDING_EFFECTS
        and _name(before["effect"]) not in ENDING_EFFECTS
        for effects in group_by(performed, lambda event: event["run"]).values()
        for before, after in pairwise(effects)
    )


ENDING_EFFECTS = ("done", "goto", "break", "continue", "return", "raise")
"""Effects that do nothing but end a block."""


def _name(effect: Json) -> str:
    """Return the name of an effect, such as `goto` of `baseline.goto`; else its kind."""
    name: str = effect.get("function", effect["kind"])
    return name.rpartition(".")[2]
