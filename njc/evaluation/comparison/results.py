"""The results of a comparison: the cost of each mode's build and runs, and how many runs passed.

    ComparedRun(mode="static", number=2, passed=True, seconds=1.2, blocks={"mail.njpy:12": ModeUsage(calls=1, ...)})
    ...  ->  ModeSummary(mode="static", build=ModeBuild(...), runs=(...))  ->  a table, JSON, a page

A mode's build includes a reason if it failed. Each run is a line in a file, so that an interrupted comparison can
continue.
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any, Generic, Protocol, TypeVar

from njc.project.outputs import check_output, write_report
from njc.project.units import format_path
from njc.trace_lines import BeganLine, RepliedLine, TraceLine
from njrt.dataclass_json import InvalidJsonError, from_json, to_json
from njrt.errors import ConfigurationError, require_packages
from njrt.message_json import parse_json_lines
from njrt.records import record, replace


class KeyedResult(Protocol):
    """The result of a run, identified by its key."""

    @property
    def key(self) -> Hashable: ...


ResultT = TypeVar("ResultT", bound=KeyedResult)


_REPORT_MARKS = (b'name="generator" content="njc"', b'{\n  "command":')


def check_report(file: Path | None, inputs: Iterable[Path], *packages: str) -> None:
    """Raise ConfigurationError if a report needing these packages cannot be written or would replace another file."""
    if file is not None:
        check_output(file, *inputs)
        head = file.read_bytes()[:1000] if file.is_file() else b""
        if head and not any(mark in head for mark in _REPORT_MARKS):
            raise ConfigurationError(
                f"{format_path(file)} exists, and is not a report of njc; name another file"
            )
        require_packages("--html", "njpy[bench]", *packages)


@dataclass(slots=True)
class ResultFile(Generic[ResultT]):
    """The results in a file (state: the known results)."""

    path: Path
    kind: type[ResultT]
    known: dict[Any, ResultT] = field(default_factory=dict)

    def read(self) -> None:
        """Read the file, if any, except an unfinished last line; raises ConfigurationError with line and field."""
        if not self.path.exists():
            return
        name = format_path(self.path)
        lines = self.path.read_text(encoding="utf-8-sig", errors="replace").split("\n")
        if any(lines) and not next(filter(str.strip, lines), "{").startswith("{"):
            raise ConfigurationError(f"{name} has no results; name another file")
        for number, line in enumerate(lines, 1):
            if not any(parse_json_lines([line])):
                continue
            try:
                result = from_json(line, self.kind)
            except InvalidJsonError as error:
                ways = "correct the line, name another file, or discard it with --fresh"
                raise ConfigurationError(f"{name}:{number}: {error}; {ways}") from None
            self.known[result.key] = result
        if lines[-1]:
            write_report(self.path, "\n", "a")

    def add(self, result: ResultT) -> None:
        self.known[result.key] = result
        write_report(self.path, to_json(result) + "\n", "a")


@record
class ModeUsage:
    """What model calls used, and how runs of static code ended; `usd` omits calls without a known price."""

    calls: int = 0
    input: int = 0
    output: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    by_code: int = 0
    """Block runs done by code, in the mode `auto`."""
    unfit: int = 0
    """Runs that failed a guard in the code."""
    raised: int = 0
    """Code runs that raised an exception and were undone."""
    unpriced: int = 0
    """Calls without a known price."""

    def __add__(self, other: ModeUsage) -> ModeUsage:
        return ModeUsage(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    @property
    def tokens(self) -> int:
        return self.input + self.output


@record
class ModeBuild:
    """The cost of a build; `failure` is the reason if it failed, or else ""."""

    seconds: float
    usage: ModeUsage
    failure: str = ""


@record
class ComparedRun:
    """A single run of the command."""

    mode: str
    number: int
    passed: bool
    exit_code: int
    seconds: float
    blocks: Mapping[str, ModeUsage] = field(default_factory=dict)
    build: str = ""
    """A digest of the compiled files that the run executed."""

    @property
    def key(self) -> tuple[str, str, int]:
        return self.mode, self.build, self.number

    @property
    def usage(self) -> ModeUsage:
        return sum(self.blocks.values(), ModeUsage())


class PassSummary(ABC):
    """How many runs of a mode, a model, or a version of the program passed."""

    __slots__ = ()
    name: str

    @property
    @abstractmethod
    def groups(self) -> Sequence[tuple[int, int]]:
        """The numbers of passed runs and of all runs, for each case if there are cases."""

    @property
    def passed(self) -> int:
        return sum(passed for passed, _ in self.groups)

    @property
    def count(self) -> int:
        return sum(runs for _, runs in self.groups)

    @property
    def pass_rate(self) -> float:
        """The share of runs that passed; 0 if there are no runs."""
        return self.passed / (self.count or 1)

    @property
    def pass_interval(self) -> tuple[float, float]:
        """The 95 % interval of the rate; over the cases if there are several: runs of a case are not independent."""
        if len(self.groups) > 1 and self.count:
            return compute_pass_interval(self.pass_rate * len(self.groups), len(self.groups))
        return compute_pass_interval(self.passed, self.count)

    def estimate_power(self, power: int) -> float:
        """Return the estimate of pass^power, averaged over the groups; 0.0 if a group has fewer runs."""
        if any(runs < power for _, runs in self.groups):
            return 0.0
        return fmean(estimate_pass_power(*group, power) for group in self.groups)


def estimate_pass_power(passed: int, runs: int, power: int) -> float:
    """Return the estimate of pass^power from `runs` runs; `runs` must be at least `power`."""
    return math.comb(passed, power) / math.comb(runs, power)


@record
class ModeSummary(PassSummary):
    """One mode: its build and its runs."""

    name: str
    build: ModeBuild
    runs: tuple[ComparedRun, ...]

    @property
    def groups(self) -> Sequence[tuple[int, int]]:
        """A single group of all runs, which are interchangeable."""
        return [(sum(run.passed for run in self.runs), len(self.runs))]

    @property
    def seconds(self) -> float | None:
        """The median run time; None if there are no runs."""
        return median(run.seconds for run in self.runs) if self.runs else None

    @property
    def usage(self) -> ModeUsage:
        """What one run used on average: whole calls, tokens and runs, but exact seconds and dollars."""
        total, count = sum((run.usage for run in self.runs), ModeUsage()), len(self.runs) or 1
        means = {name: round(value / count) for name, value in asdict(total).items()}
        exact = {"usd": total.usd / count, "seconds": total.seconds / count}
        return ModeUsage(**means | exact | {"unpriced": total.unpriced})


def compute_pass_interval(passed: float, runs: int, z: float = 1.96) -> tuple[float, float]:
    """Compute the 95 % interval of a pass rate by Wilson (1927), which is also suitable for few runs."""
    if not runs:
        return 0.0, 1.0
    rate, square = passed / runs, z * z
    center = (rate + square / (2 * runs)) / (1 + square / runs)
    spread = rate * (1 - rate) / runs + square / (4 * runs * runs)
    half = z * math.sqrt(spread) / (1 + square / runs)
    return max(0.0, min(rate, center - half)), min(1.0, max(rate, center + half))


def sum_usage_by_block(trace: Iterable[TraceLine]) -> dict[str, ModeUsage]:
    """Add up the model calls in a trace file's lines by block place."""
    places: dict[str, str] = {}
    blocks: defaultdict[str, ModeUsage] = defaultdict(ModeUsage)
    for line in trace:
        match line:
            case BeganLine(run=run, place=place, tried=tried):
                places[run] = place or "elsewhere"
                if attempt := _ATTEMPT_USAGE.get(tried):
                    blocks[places[run]] += attempt
            case RepliedLine(run=run, cost=cost, seconds=seconds):
                is_unpriced = cost.usd is None and cost.input + cost.output > 0
                used = ModeUsage(1, cost.input, cost.output, cost.usd or 0.0, seconds)
                used = replace(used, unpriced=int(is_unpriced))
                blocks[places.get(run, "elsewhere")] += used
    return dict(blocks)


_ATTEMPT_USAGE: Mapping[str, ModeUsage] = {
    "ran": ModeUsage(by_code=1),
    "unfit": ModeUsage(unfit=1),
    "raised": ModeUsage(raised=1),
}


def format_comparison_json(rows: Sequence[ModeSummary], command: str) -> str:
    """Write the whole comparison as JSON."""
    modes = [
        {
            "mode": row.name,
            "build": asdict(row.build),
            "trials": [asdict(run) for run in row.runs],
            "passed": row.passed,
            "pass_rate": row.pass_rate if row.runs else None,
            "pass_rate_interval": list(row.pass_interval) if row.runs else None,
            "median_seconds": row.seconds,
            "usage_per_trial": asdict(row.usage),
        }
        for row in rows
    ]
    return json.dumps({"command": command, "modes": modes}, indent=2, ensure_ascii=False)


_GATE = re.compile(
    r"(?:(?P<name>[a-z-]+):)?\s*pass(?:\^(?P<power>\d+))?\s*>=\s*(?P<threshold>[\d.]+)(?P<percent>%)?"
)


@record
class PassGate:
    """The `pass^power` of a mode, or of everything compared, must be at least `threshold`."""

    name: str | None
    power: int
    threshold: float

    def __str__(self) -> str:
        return f"pass^{self.power} >= {self.threshold:g}"


@record
class GateResult:
    """A gate applied to a row: the estimate, its 95 % interval, and whether the gate holds."""

    gate: PassGate
    name: str
    estimate: float
    interval: tuple[float, float]
    holds: bool

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "does not hold"
        low, high = self.interval
        return f"{self.name}: {self.gate} {verdict}: {self.estimate:.3f} (95 % interval {low:.3f} to {high:.3f})"


def parse_gate(text: str) -> PassGate:
    """Parse `[MODE:]pass^K>=X`; raises ConfigurationError."""
    found = _GATE.fullmatch(text.strip())
    try:
        if found is None:
            raise ValueError
        power = int(found["power"] or 1)
        threshold = float(found["threshold"]) / (100 if found["percent"] else 1)
        if not (power >= 1 and 0 <= threshold <= 1):
            raise ValueError
    except ValueError:
        raise ConfigurationError(
            f"`{text}` is not a gate; write [MODE:]pass^K>=X with X from 0 to 1, such as 'pass^3>=0.9'"
        ) from None
    return PassGate(found["name"], power, threshold)


def parse_gates(
    texts: Iterable[str], names: Collection[str], runs: int, flag: str
) -> list[PassGate]:
    """Parse gates on rows with these names, with as many runs as `flag` sets; raises ConfigurationError."""
    gates = [parse_gate(text) for text in texts]
    for gate in gates:
        if gate.name is not None and gate.name not in names:
            raise ConfigurationError(f"the gate is on `{gate.name}`, which is not compared")
        if gate.power > runs:
            raise ConfigurationError(
                f"pass^{gate.power} needs {gate.power} runs: {flag} {gate.power}"
            )
    return gates


def check_gates(gates: Iterable[PassGate], rows: Sequence[PassSummary]) -> list[GateResult]:
    """Return each gate for each row that it applies to; it does not hold for a mode that could not be built."""
    checked = []
    for gate, row in ((gate, row) for gate in gates for row in rows):
        if gate.name not in (None, row.name):
            continue
        estimate, cases = row.estimate_power(gate.power), len(row.groups)
        if cases > 1:
            interval = compute_pass_interval(estimate * cases, cases)
        else:
            low, high = row.pass_interval
            interval = low**gate.power, high**gate.power
        holds = row.count > 0 and estimate >= gate.threshold
        checked.append(GateResult(gate, row.name, estimate, interval, holds))
    return checked
