"""The report of a trial's process: written anew after each case, so that a killed trial has one.

write_report(TrialReport(0.12, cases={"one": CasePlayed(...)}), folder)
read_report(folder)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from njrt.data.private_files import replacing
from njrt.values.dataclass_json import from_json, to_json
from spsbench.results import TrialEnding

REPORT_FILE = "report.json"


@dataclass(frozen=True, slots=True)
class CasePlayed:
    """A case of the task was played and checked."""

    checks: Mapping[str, bool]
    error: str | None
    seconds: float


@dataclass(slots=True)
class TrialReport:
    """What a trial has done so far."""

    build_seconds: float | None = None
    """None if the process died before the build ended."""
    problem: str = ""
    """The reason if the program was not built: a static mode has no code for a block."""
    cases: dict[str, CasePlayed] = field(default_factory=dict)
    ending: TrialEnding | None = None
    """None if the process died, or has no program."""


def write_report(report: TrialReport, folder: Path) -> None:
    """Write a trial's report, in place of an earlier one."""
    with replacing(folder / REPORT_FILE) as file:
        file.write(to_json(report).encode())


def read_report(folder: Path) -> TrialReport:
    """Return a trial's last report, which is empty if it has written none."""
    path = folder / REPORT_FILE
    if not path.exists():
        return TrialReport()
    report: TrialReport = from_json(path.read_text(encoding="utf-8"), TrialReport)
    return report
