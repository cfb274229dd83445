"""The report of a trial's process, line by line, so that a killed trial has reported its progress.

{"kind": "built", "seconds": 0.12, "problem": ""} {"kind": "case", "name": "one", "checks": {"one
sushi is sold": true, ...}, "error": null, "seconds": 2.3} {"kind": "ended", "ending": "finished"}

read_report(lines)      TrialReport(built=ProgramBuilt(0.12), cases={"one": CasePlayed(...)}, ...)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from njrt.values.dataclass_json import from_json
from spsbench.results import TrialEnding, build_line_type


@dataclass(frozen=True, slots=True)
class ProgramBuilt:
    """The build has ended."""

    kind: Literal["built"] = field(default="built", kw_only=True)
    seconds: float
    problem: str = ""
    """The reason if the program was not built: a static mode has no code for a block."""


@dataclass(frozen=True, slots=True)
class CasePlayed:
    """A case of the task was played and checked."""

    kind: Literal["case"] = field(default="case", kw_only=True)
    name: str
    checks: Mapping[str, bool]
    error: str | None
    seconds: float


@dataclass(frozen=True, slots=True)
class TrialEnded:
    """The process has nothing more to do."""

    kind: Literal["ended"] = field(default="ended", kw_only=True)
    ending: TrialEnding


ReportLine = ProgramBuilt | CasePlayed | TrialEnded


@dataclass(slots=True)
class TrialReport:
    """All lines of a report."""

    built: ProgramBuilt | None = None
    """None if the process died before the build ended."""
    cases: dict[str, CasePlayed] = field(default_factory=dict)
    ending: TrialEnding | None = None
    """None if the process died, or has no program."""


def read_report(lines: Iterable[str]) -> TrialReport:
    """Read a report."""
    line_type = build_line_type(ProgramBuilt, CasePlayed, TrialEnded)
    report = TrialReport()
    for text in lines:
        line: ReportLine = from_json(text, line_type)
        match line:
            case ProgramBuilt():
                report.built = line
            case CasePlayed():
                report.cases[line.name] = line
            case TrialEnded():
                report.ending = line.ending
    return report
