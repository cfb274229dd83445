"""Ask one question on a graph of one size, by copy or on the shared object, and measure it.

    ask_graph_question(GraphTrial(1000, "direct", "openai/local", 1, "who"), model, StudyLimits())
        ->  GraphResult(passed=True, ...)

`manual` is the program that passes by copy: the whole graph is in the prompt and, after an update,
in the reply. With the other methods, the prompt works on the program's own graph. Only the
program's `main` is timed, without building and checking the graph.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import product
from statistics import mean

import click

from njc.measure.comparison.text import format_text_table
from njrt.models.model import Model
from spsbench import flags
from spsbench.methods import METHODS
from spsbench.perfect import make_script_model
from spsbench.results import GraphResult, GraphTrial, group_by, list_mean_cells
from spsbench.studies.graph_questions import (
    MIN_PAPERS,
    CitationGraph,
    GraphQuestion,
    build_citation_graph,
    build_questions,
)
from spsbench.studies.study import StudyLimits, load_study_program, run_study


def ask_graph_question(trial: GraphTrial, model: Model | None, limits: StudyLimits) -> GraphResult:
    """Ask one question; without a model, a perfect script answers."""
    method = METHODS[trial.method]
    graph, questions = prepare_graph(trial.size)
    question, program = questions[trial.question], load_study_program("graph", method.file)
    edges = {cited: set(citing) for cited, citing in graph.edges.items()}
    shared = program.Graph(set(graph.nodes), edges)
    played = run_study(
        lambda: program.main(iter(question.queries), shared),
        model or make_script_model(question.perfect, method),
        method,
        limits,
    )
    is_right = question.holds(played.value or [], shared.nodes, shared.edges)
    passed = played.ending == "finished" and is_right
    return GraphResult(**asdict(trial), **played.fields, passed=passed)


@functools.lru_cache(maxsize=1)
def prepare_graph(size: int) -> tuple[CitationGraph, dict[str, GraphQuestion]]:
    """Return the graph of a given size and the questions on it."""
    graph = build_citation_graph(size)
    return graph, build_questions(graph)


QUESTION_NAMES = ("cite", "publish", "retract", "who", "how many", "leave")


def list_graph_trials(
    sizes: str, methods: str, questions: str, model: str, repeats: int
) -> Iterator[GraphTrial]:
    """Yield all questions to ask, starting with the smallest graphs and the first repeats."""
    # Only methods that differ in how a graph is passed, not those with a cache or static code.
    comparable = tuple(
        name
        for name, method in METHODS.items()
        if not (method.is_static or method.has_interpreter or name == "shared-python-cached")
    )
    try:
        counts = sorted({int(size) for size in sizes.split(",")})
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None
    names = flags.list_names(methods, comparable, "method that passes a graph")
    asked = flags.list_names(questions, QUESTION_NAMES, "question")
    if not counts or counts[0] < MIN_PAPERS:
        raise click.UsageError(f"a graph has {MIN_PAPERS} papers or more")
    for size, repeat, name, question in product(counts, range(1, repeats + 1), names, asked):
        yield GraphTrial(size, name, model, repeat, question)


# ── the means over many questions, as a table: a row for each size and method ─────────────────────


COLUMNS = (
    *("size", "method", "asked", "right", "too long", "calls", "effects"),
    *("tokens in", "out", "model s", "own s", "prompt"),
)


def format_graph_table(results: Iterable[GraphResult]) -> str:
    """Return the means over questions and repeats, for each size and method."""
    return format_text_table(COLUMNS, [*map(make_graph_row, group_graph_results(results))], 2)


def group_graph_results(results: Iterable[GraphResult]) -> Iterable[list[GraphResult]]:
    """Return the results grouped by size and method, the smallest graphs first."""
    ordered = sorted(results, key=lambda result: result.size)
    return group_by(ordered, lambda result: (result.size, result.method)).values()


def make_graph_row(group: Sequence[GraphResult]) -> tuple[str, ...]:
    """Return the means of one group; the usage columns omit prompts too long to be sent."""
    first = group[0]
    sent = [result for result in group if result.calls]
    measured = (
        *("calls", "effects", "input_tokens", "output_tokens", "model_seconds", "own_seconds"),
    )
    return (
        f"{first.size:,}",
        first.method,
        f"{len(group)}",
        f"{mean(result.passed for result in group):.0%}",
        f"{sum(result.ending == 'too long' for result in group)}",
        *(list_mean_cells(sent, *measured) if sent else ("-",) * len(measured)),
        f"{max(result.prompt_chars for result in group):,}",
    )
