"""Results as runs write them, small enough to check by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from njrt.message_json import json_line
from spsbench.failures import EffectError
from spsbench.results import Failure, Hardware, Limits, Result, Run, Trial, Usage, line_of
from spsbench.studies.graph_results import Asked, Asking, entry_of
from spsbench.studies.gsm8k_results import Solved, Solving
from spsbench.studies.gsm8k_results import entry_of as solved_entry
from spsbench.studies.study import Measures

MODEL = "openai/local"
DAY = "2026-03-01T09:30:00Z"
RUN = Run(
    started=DAY,
    model=MODEL,
    limits=Limits(),
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
) -> Result:
    """A trial in which so many of the checks hold."""
    return Result(
        Trial(program, method, MODEL, repeat),
        "finished",
        {f"check {number}": number < passed for number in range(checks)},
        build_seconds=0.5 if method == "static" else 0.0,
        run_seconds=seconds,
        blocks=1,
        effects=0 if method == "manual" else 3,
        calls=2,
        build_calls=1 if method == "static" else 0,
        usage=Usage(100, 40, 10),
        build_usage=Usage(1000, 0, 100) if method == "static" else Usage(),
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


def lines(results: Iterable[Result], run: Run = RUN) -> list[str]:
    """A results file."""
    return [line_of(each) + "\n" for each in (run, *results)]


def asked(size: int, method: str, tokens: int, *, too_long: bool = False) -> Asked:
    """A question on a graph."""
    took = Measures(0.1, 0.09, 0.01, 0 if too_long else 1, 1, tokens, 0, 5, 400, None)
    ending = "too long" if too_long else "finished"
    return Asked(Asking(size, method, MODEL, 1, "who"), not too_long, ending, None, took, DAY)


GRAPH = tuple(
    asked(size, method, tokens, too_long=method == "manual" and size == 100_000)
    for size in (10, 1000, 100_000)
    for method, tokens in (("manual", 10 * size), ("direct", 300))
)


def graph_lines(questions: Sequence[Asked] = GRAPH) -> list[str]:
    """A file of the study on graphs."""
    return [json_line({"kind": "graph"} | entry_of(each)) + "\n" for each in questions]


def gsm8k_lines() -> list[str]:
    """A file of the study on school problems: three right of four."""
    took = GRAPH[0].measures
    return [
        json_line(
            {"kind": "gsm8k"}
            | solved_entry(
                Solved(
                    Solving(number, "direct", MODEL, 1),
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


def priced(results: Iterable[Result], dollars: float) -> tuple[Result, ...]:
    """The same trials at a price."""
    return tuple(replace(each, cost=dollars) for each in results)
