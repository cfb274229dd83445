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

from njrt.message_json import json_line, json_lines


@dataclass(frozen=True, slots=True)
class Usage:
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

    def __add__(self, other: Usage) -> Usage:
        return Usage(
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
class Built:
    """What building took; `failure` says why there is nothing to run, if so."""

    seconds: float
    usage: Usage
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of the command."""

    mode: str
    number: int
    passed: bool
    exit_code: int
    seconds: float
    blocks: Mapping[str, Usage] = field(default_factory=dict)
    """What each block used, by its place."""

    @property
    def usage(self) -> Usage:
        """What all blocks used together."""
        return sum(self.blocks.values(), Usage())


@dataclass(frozen=True, slots=True)
class Row:
    """One mode: how it was built and what came of its trials."""

    mode: str
    build: Built
    trials: tuple[Trial, ...]

    @property
    def passed(self) -> int:
        """How many trials passed."""
        return sum(trial.passed for trial in self.trials)

    @property
    def seconds(self) -> float | None:
        """The median of the run times; None of no trials."""
        return median(trial.seconds for trial in self.trials) if self.trials else None

    @property
    def usage(self) -> Usage:
        """What one trial used on the average, rounded to whole calls and tokens."""
        total, count = sum((each.usage for each in self.trials), Usage()), len(self.trials) or 1
        return Usage(
            round(total.calls / count),
            round(total.input / count),
            round(total.output / count),
            total.usd / count,
            total.seconds / count,
            round(total.by_code / count),
            round(total.unfit / count),
            round(total.raised / count),
        )


def interval(passed: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a pass rate, by Wilson (1927): sensible for few trials too."""
    if not trials:
        return 0.0, 1.0
    rate, square = passed / trials, z * z
    center = (rate + square / (2 * trials)) / (1 + square / trials)
    spread = rate * (1 - rate) / trials + square / (4 * trials * trials)
    half = z * math.sqrt(spread) / (1 + square / trials)
    return max(0.0, min(rate, center - half)), min(1.0, max(rate, center + half))


def usage_by_block(trace: Iterable[str]) -> dict[str, Usage]:
    """Add up the model calls in the lines of a trace file, by the place of the block."""
    places: dict[str, str] = {}
    blocks: dict[str, Usage] = {}
    for event in json_lines(trace):
        if event["event"] == "began":
            place = places[event["run"]] = event["place"] or "elsewhere"
            if fared := _FARED.get(event.get("tried", "")):
                blocks[place] = blocks.get(place, Usage()) + fared
        elif event["event"] == "replied":
            place, used = places.get(event["run"], "elsewhere"), event["reply"].get("usage", {})
            blocks[place] = blocks.get(place, Usage()) + Usage(
                1,
                used.get("input", 0),
                used.get("output", 0),
                used.get("usd") or 0.0,
                event.get("seconds", 0.0),
            )
    return blocks


_FARED: Mapping[str, Usage] = {
    "ran": Usage(by_code=1),
    "unfit": Usage(unfit=1),
    "raised": Usage(raised=1),
}


def trial_line(trial: Trial) -> str:
    """Write a trial as one line of JSON."""
    return json_line(asdict(trial))


def trials_in(lines: Iterable[str]) -> Iterator[Trial]:
    """Read trials back; a line that a killed process has broken off is passed over."""
    for line in lines:
        with suppress(ValueError, TypeError, KeyError):
            yield trial_of(line)


def trial_of(line: str) -> Trial:
    """Read a trial back."""
    written: dict[str, Any] = json.loads(line)
    blocks = {place: Usage(**used) for place, used in written.pop("blocks").items()}
    return Trial(**written, blocks=blocks)


def as_json(rows: Sequence[Row], command: str) -> str:
    """The whole comparison, for programs."""
    return json.dumps(
        {"command": command, "modes": [_row_json(row) for row in rows]},
        indent=2,
        ensure_ascii=False,
    )


def _row_json(row: Row) -> dict[str, Any]:
    low, high = interval(row.passed, len(row.trials))
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
