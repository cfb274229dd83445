"""Ask one question on a graph of one size, by copy or on the shared object, and measure it.

    ask_graph_question(GraphTrial(1000, "direct", "openai/local", 1, "who"), model, StudyLimits())
        ->  GraphResult(passed=True, ...)

`manual` is the program that passes by copy: the whole graph is in the prompt, and after an update the whole graph
is in the reply. In the other methods the prompt works on the program's own graph. Only the program's `main` is
timed, without building and checking the graph.
"""

from __future__ import annotations

import functools
from dataclasses import asdict
from types import ModuleType

from njrt.models.model import Model
from njrt.models.scripted import Scripted
from spsbench.methods import METHODS, Method
from spsbench.perfect import make_perfect_model
from spsbench.results import GraphResult, GraphTrial
from spsbench.script import make_manual_replies
from spsbench.studies.graph_questions import (
    CitationGraph,
    GraphQuestion,
    build_citation_graph,
    build_questions,
)
from spsbench.studies.study import StudyLimits, run_study
from spsbench.suite import load_manual_program, load_natural_program


def ask_graph_question(trial: GraphTrial, model: Model | None, limits: StudyLimits) -> GraphResult:
    """Ask one question; without a model, a perfect script answers."""
    method = METHODS[trial.method]
    graph, questions = prepare_graph(trial.size)
    question, program = questions[trial.question], load_graph_program(method.file)
    shared = program.Graph(
        set(graph.nodes), {cited: set(citing) for cited, citing in graph.edges.items()}
    )
    played = run_study(
        lambda: program.main(iter(question.queries), shared),
        model or make_graph_model(question, method),
        method,
        limits,
    )
    return GraphResult(
        **asdict(trial),
        **asdict(played.measures),
        passed=played.ending == "finished"
        and question.holds(played.value, shared.nodes, shared.edges),
        ending=played.ending,
        error=played.error,
        started=played.started,
    )


@functools.lru_cache(maxsize=1)
def prepare_graph(size: int) -> tuple[CitationGraph, dict[str, GraphQuestion]]:
    """Return the graph of a size and the questions on it."""
    graph = build_citation_graph(size)
    return graph, build_questions(graph)


@functools.cache
def load_graph_program(file: str) -> ModuleType:
    """Return the program that passes by copy, or the one that shares its graph."""
    return load_manual_program("graph") if file == "manual.py" else load_natural_program("graph")


def make_graph_model(question: GraphQuestion, method: Method) -> Model:
    """Return a model that knows the answer, to measure the time of our own code."""
    if not method.is_natural:
        return Scripted(make_manual_replies(question.perfect))
    return make_perfect_model(question.perfect, method.effects)
