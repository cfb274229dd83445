"""Modes held against each other: what building and running a program cost in each, and how often it passed.

    Trial(mode="static", number=2, passed=True, seconds=1.2, blocks={"mail.njpy:12": Usage(calls=1, ...)})
    ...  ->  Row(mode="static", build=Built(...), trials=(...))  ->  a table, JSON, a page

A mode that cannot be built is a row with the reason. Trials are kept one a line, so that a comparison that is
interrupted goes on where it was.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from njrt.message_json import format_json_line, parse_json_lines


@dataclass(frozen=True, slots=True)
class ModeUsage:
    """What model calls used, and how code fared; `usd` leaves out calls without a known price."""

    calls: int = 0
    input: int = 0
    output: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    by_code: int = 0
    """Runs of a block that code did, in the mode `auto`."""
    unfit: int = 0
    """Runs for which the guard of the code did not hold."""
    raised: int = 0
    """Runs in which the code raised, and was undone."""

    def __add__(self, other: ModeUsage) -> ModeUsage:
        return ModeUsage(
            self.calls + other.calls,
            self.input + other.input,
            self.output + other.output,
            self.usd + other.usd,
            self.seconds + other.seconds,
            self.by_code + other.by_code,
            self.unfit + other.unfit,
            self.raised + other.raised,
        )

    @property
    def tokens(self) -> int:
        """Tokens, in and out together."""
        return self.input + self.output


@dataclass(frozen=True, slots=True)
class ModeBuild:
    """What building took; `failure` says why there is nothing to run, if so."""

    seconds: float
    usage: ModeUsage
    failure: str = ""


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run of the command."""

    mode: str
    number: int
    passed: bool
    exit_code: int
    seconds: float
    blocks: Mapping[str, ModeUsage] = field(default_factory=dict)
    """What each block used, by its place."""

    @property
    def usage(self) -> ModeUsage:
        """What all blocks used together."""
        return sum(self.blocks.values(), ModeUsage())


@dataclass(frozen=True, slots=True)
class ModeSummary:
    """One mode: how it was built and what came of its trials."""

    mode: str
    build: ModeBuild
    trials: tuple[ComparedRun, ...]

    @property
    def passed(self) -> int:
        """How many trials passed."""
        return sum(trial.passed for trial in self.trials)

    @property
    def seconds(self) -> float | None:
        """The median of the run times; None of no trials."""
        return median(trial.seconds for trial in self.trials) if self.trials else None

    @property
    def usage(self) -> ModeUsage:
        """What one trial used on the average, rounded to whole calls and tokens."""
        total, count = sum((each.usage for each in self.trials), ModeUsage()), len(self.trials) or 1
        return ModeUsage(
            round(total.calls / count),
            round(total.input / count),
            round(total.output / count),
            total.usd / count,
            total.seconds / count,
            round(total.by_code / count),
            round(total.unfit / count),
            round(total.raised / count),
        )


def compute_pass_interval(passed: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a pass rate, by Wilson (1927): sensible for few trials too."""
    if not trials:
        return 0.0, 1.0
    rate, square = passed / trials, z * z
    center = (rate + square / (2 * trials)) / (1 + square / trials)
    spread = rate * (1 - rate) / trials + square / (4 * trials * trials)
    half = z * math.sqrt(spread) / (1 + square / trials)
    return max(0.0, min(rate, center - half)), min(1.0, max(rate, center + half))


def sum_usage_by_block(trace: Iterable[str]) -> dict[str, ModeUsage]:
    """Add up the model calls in the lines of a trace file, by the place of the block."""
    places: dict[str, str] = {}
    blocks: dict[str, ModeUsage] = {}
    for event in parse_json_lines(trace):
        if event["event"] == "began":
            place = places[event["run"]] = event["place"] or "elsewhere"
            if fared := _ATTEMPT_USAGE.get(event.get("tried", "")):
                blocks[place] = blocks.get(place, ModeUsage()) + fared
        elif event["event"] == "replied":
            place, used = places.get(event["run"], "elsewhere"), event["reply"].get("usage", {})
            blocks[place] = blocks.get(place, ModeUsage()) + ModeUsage(
                1,
                used.get("input", 0),
                used.get("output", 0),
                used.get("usd") or 0.0,
                event.get("seconds", 0.0),
            )
    return blocks


_ATTEMPT_USAGE: Mapping[str, ModeUsage] = {
    "ran": ModeUsage(by_code=1),
    "unfit": ModeUsage(unfit=1),
    "raised": ModeUsage(raised=1),
}


def format_compared_run(trial: ComparedRun) -> str:
    """Write a trial as one line of JSON."""
    return format_json_line(asdict(trial))


def parse_compared_runs(lines: Iterable[str]) -> Iterator[ComparedRun]:
    """Read trials back; a line that a killed process has broken off is passed over."""
    for line in lines:
        with suppress(ValueError, TypeError, KeyError):
            yield parse_compared_run(line)


def parse_compared_run(line: str) -> ComparedRun:
    """Read a trial back."""
    written: dict[str, Any] = json.loads(line)
    blocks = {place: ModeUsage(**used) for place, used in written.pop("blocks").items()}
    return ComparedRun(**written, blocks=blocks)


def format_comparison_json(rows: Sequence[ModeSummary], command: str) -> str:
    """The whole comparison, for programs."""
    return json.dumps(
        {"command": command, "modes": [_summary_to_json(row) for row in rows]},
        indent=2,
        ensure_ascii=False,
    )


def _summary_to_json(row: ModeSummary) -> dict[str, Any]:
    low, high = compute_pass_interval(row.passed, len(row.trials))
    return {
        "mode": row.mode,
        "build": asdict(row.build),
        "trials": [asdict(trial) for trial in row.trials],
        "passed": row.passed,
        "pass_rate": row.passed / len(row.trials) if row.trials else None,
        "pass_rate_interval": [low, high] if row.trials else None,
        "median_seconds": row.seconds,
        "usage_per_trial": asdict(row.usage),
    }
