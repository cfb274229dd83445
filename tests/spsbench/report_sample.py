"""Results as runs write them, small enough to check by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from njrt.message_json import format_json_line
from spsbench.failures import EffectError
from spsbench.results import (
    BenchmarkRun,
    Failure,
    Hardware,
    Trial,
    TrialLimits,
    TrialResult,
    TrialUsage,
    format_result_line,
)
from spsbench.studies.graph_results import GraphResult, GraphTrial, graph_result_to_json
from spsbench.studies.gsm8k_results import Gsm8kResult, Gsm8kTrial
from spsbench.studies.gsm8k_results import gsm8k_result_to_json as solved_entry
from spsbench.studies.study import Measures

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
    """A trial in which so many of the checks hold."""
    return TrialResult(
        Trial(program, method, MODEL, repeat),
        "finished",
        {f"check {number}": number < passed for number in range(checks)},
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
        effect_errors=(EffectError("type error", "correction"),) if method == "direct" else (),
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
    """A results file."""
    return [format_result_line(each) + "\n" for each in (run, *results)]


def asked(size: int, method: str, tokens: int, *, too_long: bool = False) -> GraphResult:
    """A question on a graph."""
    took = Measures(0.1, 0.09, 0.01, 0 if too_long else 1, 1, tokens, 0, 5, 400, None)
    ending = "too long" if too_long else "finished"
    return GraphResult(
        GraphTrial(size, method, MODEL, 1, "who"), not too_long, ending, None, took, DAY
    )


GRAPH = tuple(
    asked(size, method, tokens, too_long=method == "manual" and size == 100_000)
    for size in (10, 1000, 100_000)
    for method, tokens in (("manual", 10 * size), ("direct", 300))
)


def graph_lines(questions: Sequence[GraphResult] = GRAPH) -> list[str]:
    """A file of the study on graphs."""
    return [
        format_json_line({"kind": "graph"} | graph_result_to_json(each)) + "\n"
        for each in questions
    ]


def gsm8k_lines() -> list[str]:
    """A file of the study on school problems: three right of four."""
    took = GRAPH[0].measures
    return [
        format_json_line(
            {"kind": "gsm8k"}
            | solved_entry(
                Gsm8kResult(
                    Gsm8kTrial(number, "direct", MODEL, 1),
                    number < 3,
                    1.0,
                    "finished",
                    None,
                    took,
                    DAY,
                )
            )
        )
        + "\n"
        for number in range(4)
    ]


def priced(results: Iterable[TrialResult], dollars: float) -> tuple[TrialResult, ...]:
    """The same trials at a price."""
    return tuple(replace(each, cost=dollars) for each in results)
