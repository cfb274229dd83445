"""What the process of a trial reports, a line at a time, so that a trial that is killed has reported what it did.

{"kind": "built", "seconds": 0.12}
{"kind": "case", "name": "one", "checks": {"one sushi is sold": true, ...}, "error": null, "seconds": 2.3}
{"kind": "ended", "ending": "finished"}

read_report(lines)      TrialReport(built=ProgramBuilt(0.12), cases={"one": CasePlayed(...)}, ending="finished")
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from njrt.typed_json import from_json
from spsbench.results import TrialEnding


@dataclass(frozen=True, slots=True)
class ProgramBuilt:
    """The program is ready to be played."""

    kind: Literal["built"] = field(default="built", kw_only=True)
    seconds: float


@dataclass(frozen=True, slots=True)
class BuildFailed:
    """There is no program: a static mode has no code for a block."""

    kind: Literal["not built"] = field(default="not built", kw_only=True)
    message: str
    seconds: float


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


ReportLine = ProgramBuilt | BuildFailed | CasePlayed | TrialEnded


@dataclass(frozen=True, slots=True)
class TrialReport:
    """All lines of a report."""

    built: ProgramBuilt | BuildFailed | None = None
    """None if the process died before the program was built."""
    cases: Mapping[str, CasePlayed] = field(default_factory=dict)
    ending: TrialEnding | None = None
    """None if the process died, or has no program."""


def read_report(lines: Iterable[str]) -> TrialReport:
    """Read a report."""
    built: ProgramBuilt | BuildFailed | None = None
    cases: dict[str, CasePlayed] = {}
    ending: TrialEnding | None = None
    for line in lines:
        match from_json(line, _build_line_type()):
            case ProgramBuilt() | BuildFailed() as built:
                pass
            case CasePlayed() as played:
                cases[played.name] = played
            case TrialEnded(ending=ending):
                pass
    return TrialReport(built, cases, ending)


@functools.cache
def _build_line_type() -> object:
    from pydantic import Discriminator

    return Annotated[ReportLine, Discriminator("kind")]
