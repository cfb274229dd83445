"""The lines of a results file: JSON Lines, one for each start of the runner and one for each result.

    {"kind": "run", "started": "2026-03-01T09:30:00Z", "model": "openai/gpt-4.1", "limits": {...}, ...}
    {"kind": "trial", "program": "menu", "method": "direct", "model": "openai/gpt-4.1", "repeat": 1, ...}
    {"kind": "graph", "size": 1000, "question": "who", "method": "direct", "passed": true, "seconds": 3.1, ...}
    {"kind": "gsm8k", "problem": 7, "method": "direct", "passed": true, "found": 11.0, "seconds": 2.9, ...}

    read_results(lines)   ->  ResultSet(runs=(BenchmarkRun(...),), results=(TrialResult(...), ...), remarks=())

A file only grows. A trial that was cut off, by a limit on cost or by a server that is down, is run again and then
has two lines: the last one counts. A last line without its newline was cut off by a kill: it is left out, with a
remark. Any other line that is not of one of these types is an error.
"""

from __future__ import annotations

import functools
import io
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar

from annotated_types import MinLen

from njrt.typed_json import InvalidJsonError, from_json
from spsbench.failures import EffectError, FailureCategory

TrialEnding = Literal["finished", "raised", "timeout", "crashed", "not built", "cost limit"]
"""How the process of a trial ended.

    finished     every case was played, and none of them raised
    raised       every case was played, and at least one of them raised
    timeout      it was killed because it took too long
    crashed      it died, or something else killed it
    not built    a static mode has no code for a block: no case was played
    cost limit   the limit on cost was reached: not a result, it is run again
"""


class DamagedResultsError(ValueError):
    """A line of a results file cannot be read; names the line."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A program, a method, a model and a repeat: what is to be run."""

    program: str
    method: str
    model: str
    """As the options name it: `openai/gpt-4.1`."""
    repeat: int
    """From 1. Part of every cache key, so that repeats are independent."""


@dataclass(frozen=True, slots=True)
class TrialUsage:
    """Tokens; `cached` counts the input tokens that were in the vendor's prompt cache."""

    input: int = 0
    cached: int = 0
    output: int = 0

    def __add__(self, other: TrialUsage) -> TrialUsage:
        return TrialUsage(
            self.input + other.input, self.cached + other.cached, self.output + other.output
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a check failed: a category (`spsbench.failures`) and a message."""

    category: FailureCategory
    message: str
    """One line."""


@dataclass(frozen=True, slots=True)
class TrialResult(Trial):
    """The result of a trial. Checks are named `case: text`; those that were never reached are false."""

    kind: Literal["trial"] = field(default="trial", kw_only=True)
    ending: TrialEnding
    checks: Annotated[Mapping[str, bool], MinLen(1)]
    build_seconds: float
    """Compiling, in the static modes with the model's calls; 0.0 for manual programs."""
    run_seconds: float
    blocks: int
    """Natural blocks that were entered."""
    effects: int
    """Requested effects; for manual programs, pieces of code that an interpreter ran."""
    calls: int
    """Model calls while the program ran."""
    build_calls: int
    """Model calls while it was built."""
    usage: TrialUsage
    """Of the calls while the program ran, without those that a cache answered."""
    build_usage: TrialUsage
    cost: float | None
    """US dollars, building included; None if a call has no known price."""
    failure: Failure | None
    """None if all checks hold."""
    started: str
    """ISO 8601, UTC."""
    digest: str = ""
    """Of the program and its checks; empty in results that were written before there were digests."""
    reused_calls: int = 0
    """Those of `calls` and `build_calls` that a cache answered, without tokens and cost."""
    effect_errors: tuple[EffectError, ...] = ()
    """Each refused effect, and what the model did next."""

    @property
    def trial(self) -> Trial:
        """What was run."""
        return Trial(self.program, self.method, self.model, self.repeat)

    @property
    def share(self) -> float:
        """The share of checks that hold, from 0 to 1."""
        return sum(self.checks.values()) / len(self.checks)

    @property
    def is_final(self) -> bool:
        """Whether the trial was not cut off by the limit on cost or a failing server; those are run again."""
        is_down = self.failure is not None and self.failure.category == "server"
        return self.ending != "cost limit" and not is_down


@dataclass(frozen=True, slots=True)
class TrialLimits:
    """The limits of a trial."""

    seconds: float = 1000.0
    """Wall time of the whole trial, building included; then its processes are killed."""
    effects: int = 300
    """Effects of one run of a block, or pieces of code in one call of `llm`."""
    calls: int = 300
    """Model calls of one run of a block."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """The machine on which the trials ran; with a cluster, that of the client."""

    cpu: str
    cores: int
    memory_gib: float


@dataclass(frozen=True, slots=True)
class BenchmarkRun:
    """One start of the runner on a results file."""

    kind: Literal["run"] = field(default="run", kw_only=True)
    started: str
    """ISO 8601, UTC."""
    model: str
    limits: TrialLimits
    temperature: float | None
    """None: the vendor's default, and 0 for models of plain text."""
    repeats: int
    methods: tuple[str, ...]
    programs: tuple[str, ...]
    jobs: int
    executor: str
    hardware: Hardware
    system: str
    python: str
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of njpy and the SDKs."""


StudyEnding = Literal["finished", "raised", "too long"]
"""How a run of a case study ended. `too long`: a prompt did not fit into the model's context."""


@dataclass(frozen=True, slots=True)
class Measures:
    """What one run of a case study used."""

    seconds: float
    """Wall time."""
    model_seconds: float
    """The part of it spent waiting for the model."""
    own_seconds: float
    """The rest: the program and our runtime."""
    calls: int
    effects: int
    input_tokens: int
    cached_tokens: int
    """The input tokens that were in the vendor's prompt cache."""
    output_tokens: int
    prompt_chars: int
    """Characters of the longest conversation, also where it was too long to be sent."""
    cost: float | None
    """US dollars; None if a price is unknown."""


@dataclass(frozen=True, slots=True)
class StudyResult(Measures):
    """The result of one run of a case study."""

    passed: bool
    ending: StudyEnding
    error: str | None
    started: str
    """ISO 8601, UTC."""


@dataclass(frozen=True, slots=True)
class GraphTrial:
    """One question on a graph of one size under one method: what is to be run."""

    size: int
    method: str
    model: str
    repeat: int
    """From 1."""
    question: str


@dataclass(frozen=True, slots=True)
class GraphResult(StudyResult):
    """The result of one question on a graph."""

    kind: Literal["graph"] = field(default="graph", kw_only=True)
    size: int
    method: str
    model: str
    repeat: int
    question: str

    @property
    def trial(self) -> GraphTrial:
        """What was run."""
        return GraphTrial(self.size, self.method, self.model, self.repeat, self.question)


@dataclass(frozen=True, slots=True)
class Gsm8kTrial:
    """One problem under one method: what is to be run."""

    problem: int
    method: str
    model: str
    repeat: int
    """From 1."""


@dataclass(frozen=True, slots=True)
class Gsm8kResult(StudyResult):
    """The result of one problem of GSM8K."""

    kind: Literal["gsm8k"] = field(default="gsm8k", kw_only=True)
    problem: int
    method: str
    model: str
    repeat: int
    found: float | None
    """The value that the program returned; None if it is not a number."""

    @property
    def trial(self) -> Gsm8kTrial:
        """What was run."""
        return Gsm8kTrial(self.problem, self.method, self.model, self.repeat)


class FinishedTrial(Protocol):
    """A result that says what was run."""

    @property
    def trial(self) -> Any:
        """What was run: hashable, and the same for a second run."""


Finished = TypeVar("Finished", bound=FinishedTrial)


@dataclass(frozen=True, slots=True)
class ResultSet:
    """All lines of a results file; of each trial only the last."""

    runs: tuple[BenchmarkRun, ...] = ()
    results: tuple[TrialResult, ...] = ()
    graph: tuple[GraphResult, ...] = ()
    gsm8k: tuple[Gsm8kResult, ...] = ()
    remarks: tuple[str, ...] = ()
    spent: float = 0.0
    """US dollars, including the trials that were cut off."""


def read_results(lines: Iterable[str]) -> ResultSet:
    """Read a results file; `DamagedResultsError` names a line that cannot be read."""
    entries, remarks = read_lines(
        lines, build_line_type(BenchmarkRun, TrialResult, GraphResult, Gsm8kResult)
    )
    return ResultSet(
        tuple(entry for entry in entries if isinstance(entry, BenchmarkRun)),
        select_last_results(entries, TrialResult),
        select_last_results(entries, GraphResult),
        select_last_results(entries, Gsm8kResult),
        remarks,
        sum((entry.cost or 0.0 for entry in entries if isinstance(entry, TrialResult)), 0.0),
    )


def split_lines(text: str) -> list[str]:
    """The lines of JSON Lines: unlike `str.splitlines`, not cut at U+2028 and the like, which JSON does not escape."""
    return list(io.StringIO(text))


def read_lines(lines: Iterable[str], line_type: object) -> tuple[list[Any], tuple[str, ...]]:
    """The entries of a file that only grows, and remarks; `DamagedResultsError` names a line that cannot be read."""
    entries: list[Any] = []
    remarks: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entries.append(from_json(line, line_type))
        except InvalidJsonError as error:
            if "does not match any of the expected tags" in str(error):
                raise DamagedResultsError(
                    f"line {number} of the results is damaged, or of another command ({error}); name another file"
                ) from None
            if line.endswith("\n"):
                raise DamagedResultsError(
                    f"line {number} of the results is damaged ({error}); repair or delete it"
                ) from None
            remarks.append(f"line {number}, the last, was cut off and is left out")
    return entries, tuple(remarks)


def build_line_type(*kinds: Any) -> object:
    """Return the union of these dataclasses, discriminated by `kind`."""
    from pydantic import Discriminator

    return Annotated[functools.reduce(operator.or_, kinds), Discriminator("kind")]


RunT = TypeVar("RunT")


@dataclass(frozen=True, slots=True)
class ExperimentResults(Generic[RunT, Finished]):
    """All lines of the file of an experiment; of each trial the last."""

    runs: tuple[RunT, ...] = ()
    results: tuple[Finished, ...] = ()


def read_experiment(
    lines: Iterable[str], run: type[RunT], result: type[Finished]
) -> ExperimentResults[RunT, Finished]:
    """Read the file of an experiment; a cut-off last line is left out.

    Raises:
        DamagedResultsError: another line cannot be read; names it.
    """
    entries, _ = read_lines(lines, build_line_type(run, result))
    runs = tuple(entry for entry in entries if isinstance(entry, run))
    return ExperimentResults(runs, select_last_results(entries, result))


def select_last_results(entries: Iterable[object], kind: type[Finished]) -> tuple[Finished, ...]:
    """Return the results of one kind; of each trial the last, in the order of their last lines."""
    last: dict[object, Finished] = {}
    for entry in entries:
        if isinstance(entry, kind):
            last.pop(entry.trial, None)
            last[entry.trial] = entry
    return tuple(last.values())
