"""What a run of the benchmark writes down: JSON Lines, one for each start and one for each trial.

    {"kind": "run", "started": "2026-03-01T09:30:00Z", "model": "openai/gpt-4.1", "limits": {...}, ...}
    {"kind": "trial", "program": "menu", "method": "direct", "model": "openai/gpt-4.1", "repeat": 1, ...}

    read_results(lines)   ->  Results(runs=(Run(...),), results=(Result(...), ...), remarks=())

A file only grows. A trial that was cut off, by a limit on cost or a server that is down, is run again and then
stands there twice: the last line counts. A last line that was cut off by a kill is left out with a remark, for what it told was
never known to be written; any other damaged line is an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from njrt.message_json import format_json_line
from spsbench.failures import EffectError, FailureCategory

TrialEnding = Literal["finished", "raised", "timeout", "crashed", "not built", "cost limit"]
"""How the process of a trial ended.

    finished     every case was played, and none of them raised
    raised       every case was played, and at least one of them raised
    timeout      it was killed, for it took too long
    crashed      it died, or was killed by something else
    not built    a static mode has no code for a block, and so there was nothing to play
    cost limit   what may be spent was spent: not a result, and run again
"""


class DamagedResultsError(ValueError):
    """A line of a results file is not what the runner writes."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One play of a program under a method: what is to be done, before it is."""

    program: str
    method: str
    model: str
    """As the options name it: `openai/gpt-4.1`."""
    repeat: int
    """From 1. Part of every key of a cache, so that repeats are independent."""


@dataclass(frozen=True, slots=True)
class TrialUsage:
    """Tokens; `cached` are those of the input that the vendor had in its prompt cache."""

    input: int = 0
    cached: int = 0
    output: int = 0

    def __add__(self, other: TrialUsage) -> TrialUsage:
        return TrialUsage(
            self.input + other.input, self.cached + other.cached, self.output + other.output
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """Why not all checks hold: by rule where there is one (`spsbench.failures`), and in words."""

    category: FailureCategory
    message: str
    """One line."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What a trial gave. Checks are named `case: text`; those that were never reached are false."""

    trial: Trial
    ending: TrialEnding
    checks: Mapping[str, bool]
    build_seconds: float
    """Compiling, in the static modes with the model's calls; 0.0 for manual programs."""
    run_seconds: float
    blocks: int
    """Natural blocks that were entered."""
    effects: int
    """Effects that were asked for; for manual programs, pieces of code that an interpreter ran."""
    calls: int
    """Model calls while the program ran."""
    build_calls: int
    """Model calls while it was built."""
    usage: TrialUsage
    """What the calls used while the program ran, but for those that a cache answered."""
    build_usage: TrialUsage
    cost: float | None
    """US dollars, building included; None where a call has no known price."""
    failure: Failure | None
    """None where all checks hold."""
    started: str
    """ISO 8601, UTC."""
    reused_calls: int = 0
    """Those of `calls` and `build_calls` that a cache answered: no tokens, no cost and next to no seconds."""
    effect_errors: tuple[EffectError, ...] = ()
    """Each refusal of an effect, and what the model did about it."""

    @property
    def share(self) -> float:
        """The share of checks that hold, from 0 to 1."""
        return sum(self.checks.values()) / len(self.checks)

    @property
    def is_final(self) -> bool:
        """Whether the trial need not be run again: neither money nor the server cut it short."""
        is_down = self.failure is not None and self.failure.category == "server"
        return self.ending != "cost limit" and not is_down


@dataclass(frozen=True, slots=True)
class TrialLimits:
    """What a trial may use."""

    seconds: float = 1000.0
    """Wall time of the whole trial, building included; its processes are killed after that."""
    effects: int = 300
    """Effects of one run of a block, or pieces of code in one call of `llm`."""
    calls: int = 300
    """Model calls of one run of a block."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """The machine that the trials ran on; with a cluster, that of the client."""

    cpu: str
    cores: int
    memory_gib: float


@dataclass(frozen=True, slots=True)
class BenchmarkRun:
    """One start of the runner on a results file."""

    started: str
    """ISO 8601, UTC."""
    model: str
    limits: TrialLimits
    temperature: float | None
    """None: the vendor's own, and 0 for models that are asked in plain text."""
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


@dataclass(frozen=True, slots=True)
class ResultSet:
    """All that a results file holds; each trial at most once, the last line about it."""

    runs: tuple[BenchmarkRun, ...] = ()
    results: tuple[TrialResult, ...] = ()
    remarks: tuple[str, ...] = ()
    spent: float = 0.0
    """US dollars, those of trials that were cut off included."""


def format_result_line(entry: BenchmarkRun | TrialResult) -> str:
    """An entry as one line of JSON, without the line's end."""
    match entry:
        case BenchmarkRun():
            return format_json_line({"kind": "run"} | asdict(entry))
        case TrialResult():
            written = asdict(entry)
            return format_json_line({"kind": "trial"} | written.pop("trial") | written)


def read_results(lines: Iterable[str]) -> ResultSet:
    """Read a results file; raise `DamagedResultsError`, which names the line, where that is impossible."""
    runs: list[BenchmarkRun] = []
    results: dict[Trial, TrialResult] = {}
    remarks: list[str] = []
    spent = 0.0
    for number, line, is_cut in _number_lines(lines):
        try:
            entry = parse_result_entry(json.loads(line))
        except (ValueError, LookupError, TypeError) as error:
            if not is_cut:
                raise DamagedResultsError(
                    f"line {number} of the results is damaged ({_describe_error(error)}); "
                    "mend or delete this line"
                ) from None
            remarks.append(f"line {number}, the last, was cut off and is left out")
            continue
        match entry:
            case BenchmarkRun():
                runs.append(entry)
            case TrialResult():
                spent += entry.cost or 0.0
                results.pop(entry.trial, None)
                results[entry.trial] = entry
    return ResultSet(tuple(runs), tuple(results.values()), tuple(remarks), spent)


def _number_lines(lines: Iterable[str]) -> Iterator[tuple[int, str, bool]]:
    """The lines that hold something, with their numbers, and whether one lacks its end."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, line, not line.endswith("\n")


def _describe_error(error: Exception) -> str:
    return "not JSON" if isinstance(error, json.JSONDecodeError) else f"{error}"


def parse_result_entry(written: Mapping[str, Any]) -> BenchmarkRun | TrialResult:
    """Read one entry back; raise a LookupError, TypeError or ValueError where it is none."""
    parts = dict(written)
    match parts.pop("kind"):
        case "run":
            return BenchmarkRun(
                limits=TrialLimits(**parts.pop("limits")),
                hardware=Hardware(**parts.pop("hardware")),
                methods=tuple(parts.pop("methods")),
                programs=tuple(parts.pop("programs")),
                **parts,
            )
        case "trial":
            return _parse_result(parts)
        case kind:
            raise ValueError(f"there is no kind {kind!r}")


def _parse_result(parts: dict[str, Any]) -> TrialResult:
    trial = Trial(**{each.name: parts.pop(each.name) for each in fields(Trial)})
    failure = parts.pop("failure")
    result = TrialResult(
        trial=trial,
        usage=TrialUsage(**parts.pop("usage")),
        build_usage=TrialUsage(**parts.pop("build_usage")),
        failure=None if failure is None else Failure(**failure),
        effect_errors=tuple(EffectError(**each) for each in parts.pop("effect_errors", ())),
        **parts,
    )
    if result.ending not in get_args(TrialEnding):
        raise ValueError(f"there is no ending {result.ending!r}")
    if not result.checks:
        raise ValueError("there are no checks")
    return result
