"""The lines of a results file of `spsbench suite`: JSON Lines, one for each start and one for each result.

    {"kind": "suite run", "started": ..., "suite": "bfcl", "model": ..., "limits": {...}, "hardware": {...}, ...}
    {"kind": "suite", "suite": "bfcl", "task": "multi_turn_base_0", "form": "json", "repeat": 1, "passed": true, ...}

    read_suite_results(lines)   ->  SuiteResults(runs=(...), results=(...))

A line has no text of a suite: `--keep` writes the conversations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from spsbench.results import ExperimentResults, Hardware, read_experiment

SuiteName = Literal["bfcl", "m3", "mtp"]
SUITES: tuple[SuiteName, ...] = ("bfcl", "m3", "mtp")
FormName = Literal["json", "codeact", "natural", "answer", "bfcl"]
SuiteEnding = Literal["finished", "limit", "raised", "too long"]
"""How a task ended. `limit`: its calls or seconds were used; `too long`: a prompt did not fit into the model's context."""


@dataclass(frozen=True, slots=True)
class SuiteLimits:
    """The limits of a task, the same in all forms."""

    calls: int = 8
    """Model calls in one turn of the user."""
    seconds: float = 300.0
    """Wall time of the task."""
    reply_tokens: int = 300
    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class SuiteTrial:
    """A task in a form."""

    suite: SuiteName
    task: str
    form: FormName
    model: str
    repeat: int
    """From 1."""


@dataclass(frozen=True, slots=True)
class SuiteResult(SuiteTrial):
    """The result of a task in a form."""

    kind: Literal["suite"] = field(default="suite", kw_only=True)
    passed: bool
    ending: SuiteEnding
    error: str | None
    calls: int
    """Model calls."""
    tool_calls: int
    """Calls of the suite's tools."""
    input_tokens: int
    output_tokens: int
    seconds: float
    """Wall time."""
    model_seconds: float
    """The part of it spent waiting for the model."""
    started: str
    """ISO 8601, UTC."""

    @property
    def trial(self) -> SuiteTrial:
        """The task in its form."""
        return SuiteTrial(self.suite, self.task, self.form, self.model, self.repeat)


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """One start of the command on a file."""

    kind: Literal["suite run"] = field(default="suite run", kw_only=True)
    started: str
    """ISO 8601, UTC."""
    suite: SuiteName
    model: str
    forms: tuple[str, ...]
    tasks: int
    """In the suite."""
    sample: int | None
    """How many of them were drawn at random; None for all."""
    seed: int
    repeats: int
    limits: SuiteLimits
    executor: str
    jobs: int
    hardware: Hardware
    system: str
    python: str
    versions: Mapping[str, str]
    note: str = ""
    """A remark on the model's server, and on other work on the machine."""
    strata: str = "kind of task"
    """The groups that a sample has its share from."""


SuiteResults = ExperimentResults[SuiteRun, SuiteResult]


def read_suite_results(lines: Iterable[str]) -> SuiteResults:
    """Read a results file, as `read_experiment` does."""
    return read_experiment(lines, SuiteRun, SuiteResult)
