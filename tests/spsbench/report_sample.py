"""Results as runs write them, small enough to check by hand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from njrt.values.dataclass_json import to_json
from spsbench.results import (
    BenchmarkRun,
    Failure,
    Hardware,
    TrialLimits,
    TrialResult,
    TrialUsage,
)

MODEL = "openai/local"
DAY = "2026-03-01T09:30:00Z"
RUN = BenchmarkRun(
    started=DAY,
    model=MODEL,
    limits=TrialLimits(),
    temperature=None,
    repeats=2,
    methods=("manual", "direct"),
    programs=("menu", "graph"),
    jobs=1,
    executor="local",
    hardware=Hardware("A Processor", 2, 8.0),
    system="Linux",
    python="3.11.2",
    versions={"njpy": "0.1.0"},
)


def result(
    program: str, method: str, repeat: int, passed: int, checks: int = 4, seconds: float = 1.0
) -> TrialResult:
    """Return a trial in which so many of the checks hold."""
    return TrialResult(
        program=program,
        method=method,
        model=MODEL,
        repeat=repeat,
        ending="finished",
        checks={f"check {number}": number < passed for number in range(checks)},
        build_seconds=0.5 if method == "static" else 0.0,
        run_seconds=seconds,
        blocks=1,
        effects=0 if method == "manual" else 3,
        calls=2,
        build_calls=1 if method == "static" else 0,
        usage=TrialUsage(100, 40, 10),
        build_usage=TrialUsage(1000, 0, 100) if method == "static" else TrialUsage(),
        cost=None,
        failure=None if passed == checks else Failure("wrong result", "a check does not hold"),
        started=DAY,
    )


WHOLE = (
    *(result("menu", "manual", repeat, 2, seconds=2.0) for repeat in (1, 2)),
    *(result("graph", "manual", repeat, 1, seconds=4.0) for repeat in (1, 2)),
    result("menu", "direct", 1, 4, seconds=1.0),
    result("graph", "direct", 1, 2, seconds=3.0),
    result("menu", "direct", 2, 4, seconds=2.0),
    result("graph", "direct", 2, 4, seconds=6.0),
)
"""Two methods, two programs, two repeats, none missing."""


def lines(results: Iterable[TrialResult], run: BenchmarkRun = RUN) -> list[str]:
    """Return a results file."""
    return [to_json(entry) + "\n" for entry in (run, *results)]


def priced(results: Iterable[TrialResult], dollars: float) -> tuple[TrialResult, ...]:
    """Return the same trials at a price."""
    return tuple(replace(result, cost=dollars) for result in results)
