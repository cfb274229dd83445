"""Lines of a repairs file: JSON Lines, one for each start of the command and one for each repair.

    {"kind": "repair run", "started": ..., "model": ..., "settings": {...}, "hardware": {...}, ...}
    {"kind": "repair", "problem": "quixbugs/gcd", "condition": "trace", "passed": true, ...}

A line has the model's output but no text from a data set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from spsbench.results import Ordinal, RunLine, Timestamp, TrialLine

Condition = Literal[
    "trace", "test", "neither", "rationale",
    "turn1", "turn2", "turn3", "turn1-test", "turn2-test", "turn3-test",
]  # fmt: skip
"""The texts that the model sees in addition to the buggy program.

    trace       the failing test, and the steps of its run as comments in the program
    test        the failing test
    neither     only that a test fails
    rationale   past: the failing test, and a rationale by another model
    turn1       past: as `trace`, after two similar right repairs of the first turn; so turn2, turn3
    turn1-test  past: as `test`, after the same repairs; so turn2-test, turn3-test
"""
CONDITIONS: tuple[Condition, ...] = get_args(Condition)
ASKED: tuple[Condition, ...] = ("trace", "test", "neither")
"""The conditions of new repairs; of the others, there are only results of njc 0.2."""


@dataclass(frozen=True, slots=True)
class RepairSettings:
    """The budget of a repair, which is the same under all conditions."""

    calls: int = 1
    tokens: int | None = None
    """Input and output tokens of all calls in a repair, if njc 0.2 limited them."""
    reply_tokens: int = 1024
    """The maximum length of a reply."""
    temperature: float | None = None
    test_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class RepairTrial(TrialLine):
    """One repair."""

    problem: str
    condition: Condition
    model: str
    sample: Ordinal

    def __str__(self) -> str:
        return f"{self.problem} {self.condition} #{self.sample}"


@dataclass(frozen=True, slots=True)
class RepairReply:
    """One reply, and the test result of its code."""

    rationale: str
    code: str
    """Empty if the reply has no code."""
    verdict: str
    """`passes`, or the first problem."""


@dataclass(frozen=True, slots=True)
class RepairResult(RepairTrial):
    """The result of a repair."""

    kind: Literal["repair"] = field(default="repair", kw_only=True)
    passed: bool
    replies: tuple[RepairReply, ...]
    input_tokens: int
    output_tokens: int
    seconds: float
    """Wall time, tests included."""
    started: Timestamp
    error: str = ""
    """The reason if the model did not answer because the prompt was too long."""
    shown_rationale: str = ""
    """The other model's rationale, under the condition `rationale`."""

    def describe(self) -> tuple[str, str]:
        last = self.replies[-1].verdict if self.replies else self.error
        verdict = "passes" if self.passed else " ".join(last.split())[:80]
        tokens = f"{self.input_tokens:,} + {self.output_tokens:,} tokens"
        return verdict, f"{tokens}, {self.seconds:.1f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRun(RunLine):
    """One start of the command on a file."""

    kind: Literal["repair run"] = "repair run"
    sample: int | None
    """The number of problems drawn at random; None for all."""
    seed: int
    strata: str = ""
    """The property of which the sample of an earlier version has its share."""
    data: Mapping[str, str]
    """The names of the data files, and the first digits of their SHA-256."""
    problems: int
    """The number in the data."""
    conditions: tuple[Condition, ...]
    samples: int
    """The number of repairs of each problem under each condition."""
    settings: RepairSettings
    rationales: str
    """The model that wrote the rationales of the condition `rationale`."""


REPAIR_KINDS = (RepairRun, RepairResult)
