"""An evaluation: predictors on parts of a data set, and on CruxEval, as lines of a results file.

{"part": "test", "predictor": "network", "group": "action", "name": "step_over", "steps": 600, "exact": 310, ...}
{"part": "CruxEval", "predictor": "network", "group": "task", "name": "input", "steps": 100, "exact": 0, ...}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from time import perf_counter

from njc.evaluation.comparison.text import format_text_table
from spsbench.crux.problems import CruxProblem, read_problems, sample_problems, trace_problem
from spsbench.neural.dataset import read_part
from spsbench.neural.files import replace_file
from spsbench.neural.network import load_network
from spsbench.neural.predictors import LastState, NeuralDebugger, NGram, Predictor
from spsbench.neural.scoring import ScoreRow, score_crux, score_steps, tabulate
from spsbench.states.trace import StateTrace

NGRAM_PROGRAMS = 10_000
"""Programs of the training data for the n-grams."""
HEADINGS = ("part", "predictor", "group", "name", "steps", "exact", "place", "values", "ms")
CruxTraces = Sequence[tuple[CruxProblem, StateTrace]]


def evaluate(
    data: Path, model: Path | None, parts: Sequence[str], programs: int, crux: CruxTraces
) -> list[ScoreRow]:
    """Return the rows of all predictors on all parts."""
    return [
        row
        for name, predictor in list_predictors(data, model)
        for row in _evaluate_one(name, predictor, data, parts, programs, crux)
    ]


def list_predictors(data: Path, model: Path | None) -> Iterator[tuple[str, Predictor]]:
    """Yield the baselines, and the network if there is one."""
    yield "last state", LastState()
    yield "n-gram", NGram.learn(islice(read_part(data, "train"), NGRAM_PROGRAMS))
    if model is not None:
        yield "network", NeuralDebugger(load_network(model))


def _evaluate_one(
    name: str,
    predictor: Predictor,
    data: Path,
    parts: Sequence[str],
    programs: int,
    crux: CruxTraces,
) -> Iterator[ScoreRow]:
    for part in parts:
        found = islice(read_part(data, part), programs)
        scores = list(score_steps(predictor, found, perf_counter))
        yield from tabulate(part, name, scores)
    if crux:
        for task, right in score_crux(predictor, crux).items():
            yield ScoreRow("CruxEval", name, "task", task, len(crux), right)


def read_crux_traces(path: Path, size: int) -> CruxTraces:
    """Return a sample of the problems of CruxEval, with their executions."""
    with path.open(encoding="utf-8") as lines:
        problems = read_problems(lines)
    return [(each, trace_problem(each)) for each in sample_problems(problems, size, 1)]


def write_rows(path: Path, rows: Sequence[ScoreRow]) -> None:
    """Write a results file."""
    replace_file(path, "".join(f"{json.dumps(asdict(row))}\n" for row in rows).encode())


def read_rows(path: Path) -> list[ScoreRow]:
    """Return the rows of a results file."""
    return [ScoreRow(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def format_rows(rows: Sequence[ScoreRow]) -> str:
    """Return the rows as a table of text, with shares of the steps."""
    return format_text_table(HEADINGS, [list_cells(row) for row in rows], labels=4)


def list_cells(row: ScoreRow) -> tuple[str, ...]:
    """Return a row as text."""
    shares = (
        "" if part is None else f"{part / max(row.steps, 1):.3f}"
        for part in (row.exact, row.place, row.values)
    )
    time = "" if row.milliseconds is None else f"{row.milliseconds:.1f}"
    return (row.part, row.predictor, row.group, row.name, f"{row.steps:,}", *shares, time)
