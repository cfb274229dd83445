"""Lines of a surprises file, JSON Lines: one for each start of the command and one for each predicted effect.

{"kind": "surprise run", "model": ..., "effects": 118, "sample": 10, "seed": 1, "hardware": {...}, ...}
{"kind": "surprise", "program": "menu", "case": "one", "piece": 1, "planted": "wrong value", "is_surprise": true, ...}
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from spsbench.results import SampledRun, TrialLine

MutationKind = Literal["wrong value", "dropped statement", "dropped jump"]
Planted = Literal["none"] | MutationKind


@dataclass(frozen=True, slots=True)
class SurpriseTrial(TrialLine):
    """One predicted effect."""

    program: str
    case: str
    piece: int
    """The number of the effect within the case, from 1."""
    planted: Planted
    model: str

    def __str__(self) -> str:
        return f"{self.program} {self.case} {self.piece}, planted: {self.planted}"


@dataclass(frozen=True, slots=True)
class EffectFacts:
    """How an effect ended, and how much it changed the variables that its block sees."""

    ending: str
    """`goes on`, `refused`, or the jump: `break`, `continue`, `return` or `raise`."""
    variables: int
    """The number of variables that are new, changed or no longer bound."""
    characters: int
    """The length of the lines that show their new values in traces, such as `int = 3`."""


@dataclass(frozen=True, slots=True)
class SurpriseResult(SurpriseTrial):
    """The prediction of an effect, compared with the actual effect."""

    kind: Literal["surprise"] = field(default="surprise", kw_only=True)
    is_surprise: bool
    mismatches: tuple[str, ...]
    problem: str
    """The reason if the prediction was not compared, for example because the runtime refused the effect."""
    input_tokens: int
    output_tokens: int
    seconds: float
    """The time taken by the prediction."""
    started: str
    facts: EffectFacts | None = None
    """None in results of earlier versions, and if the case ended before the effect."""

    def describe(self) -> tuple[str, str]:
        found = "; ".join(self.mismatches)[:80] if self.is_surprise else "as predicted"
        return self.problem or found, f"{self.seconds:.1f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class SurpriseRun(SampledRun):
    """One start of the command on a file."""

    kind: Literal["surprise run"] = "surprise run"
    effects: int
    """The number of effects in the perfect scripts that have a mutation."""


SURPRISE_KINDS = (SurpriseRun, SurpriseResult)
