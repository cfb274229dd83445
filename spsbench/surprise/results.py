"""The lines of a file of surprises, JSON Lines: one for each start of the command, one for each predicted effect.

{"kind": "surprise run", "model": ..., "effects": 118, "sample": 10, "seed": 1, "hardware": {...}, ...}
{"kind": "surprise", "program": "menu", "case": "one", "piece": 1, "planted": "wrong value", "is_surprise": true, ...}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from spsbench.results import ExperimentResults, Hardware, read_experiment
from spsbench.surprise.playing import MutationKind

Planted = Literal["none"] | MutationKind


@dataclass(frozen=True, slots=True)
class SurpriseTrial:
    """One predicted effect: what is to be run."""

    program: str
    case: str
    piece: int
    """The number of the effect among those of the case, from 1."""
    planted: Planted
    model: str


@dataclass(frozen=True, slots=True)
class SurpriseResult(SurpriseTrial):
    """What the prediction of an effect said."""

    kind: Literal["surprise"] = field(default="surprise", kw_only=True)
    is_surprise: bool
    mismatches: tuple[str, ...]
    problem: str
    """Why the prediction was not compared, if so; an effect that the runtime refused is such a case."""
    input_tokens: int
    output_tokens: int
    seconds: float
    """Of the prediction."""
    started: str

    @property
    def trial(self) -> SurpriseTrial:
        """What was run."""
        return SurpriseTrial(self.program, self.case, self.piece, self.planted, self.model)


@dataclass(frozen=True, slots=True)
class SurpriseRun:
    """One start of the command on a file."""

    kind: Literal["surprise run"] = field(default="surprise run", kw_only=True)
    started: str
    model: str
    effects: int
    """Effects of the perfect scripts that have a mutation."""
    sample: int | None
    """How many of them were drawn at random; None for all."""
    seed: int
    note: str
    hardware: Hardware
    system: str
    python: str
    versions: Mapping[str, str]
    strata: str = ""
    """What the sample has its share of; empty if all effects were drawn alike."""
    jobs: int = 1
    executor: str = "threads"


SurpriseResults = ExperimentResults[SurpriseRun, SurpriseResult]


def read_surprises(lines: Iterable[str]) -> SurpriseResults:
    """Read a file of surprises, as `read_experiment` does."""
    return read_experiment(lines, SurpriseRun, SurpriseResult)
