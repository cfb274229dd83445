"""Ask one question on a graph of one size, by copy or on the shared object, and measure what it takes.

    ask(Asking(1000, "direct", "openai/local", 1, "who"), model, Limits())     ->  Asked(passed=True, ...)

`manual` is the program that passes by copy: the whole graph goes into the prompt, and after an update the whole
graph comes back. In the other methods the prompt works on the program's own graph. The clock runs while the
program's `main` runs: making the graph and checking it are not in it.
"""

from __future__ import annotations

import functools
from datetime import UTC, datetime
from types import ModuleType

from njrt.models.model import Model
from njrt.models.scripted import Scripted
from spsbench.methods import METHODS, Method
from spsbench.perfect import make_perfect_model
from spsbench.script import make_manual_replies
from spsbench.studies.graph_questions import (
    CitationGraph,
    GraphQuestion,
    build_citation_graph,
    build_questions,
)
from spsbench.studies.graph_results import GraphResult, GraphTrial
from spsbench.studies.study import StudyLimits, run_study
from spsbench.suite import load_manual_program, load_natural_program


def ask_graph_question(asking: GraphTrial, model: Model | None, limits: StudyLimits) -> GraphResult:
    """Play one question; without a model, a perfect script answers."""
    method = METHODS[asking.method]
    graph, questions = prepare_graph(asking.size)
    question, program = questions[asking.question], load_graph_program(method.file)
    shared = program.Graph(
        set(graph.nodes), {cited: set(citing) for cited, citing in graph.edges.items()}
    )
    started = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    played = run_study(
        lambda: program.main(iter(question.queries), shared),
        model or make_graph_model(question, method),
        method,
        limits,
    )
    return GraphResult(
        asking,
        played.ending == "finished" and question.holds(played.value, shared.nodes, shared.edges),
        played.ending,
        played.error,
        played.measures,
        started,
    )


@functools.lru_cache(maxsize=1)
def prepare_graph(size: int) -> tuple[CitationGraph, dict[str, GraphQuestion]]:
    """The graph of a size and the questions on it."""
    graph = build_citation_graph(size)
    return graph, build_questions(graph)


@functools.cache
def load_graph_program(file: str) -> ModuleType:
    """The program that passes by copy, or the one that shares."""
    return load_manual_program("graph") if file == "manual.py" else load_natural_program("graph")


def make_graph_model(question: GraphQuestion, method: Method) -> Model:
    """A model that knows the answer, for the measure of our own time."""
    if method.file == "manual.py":
        return Scripted(make_manual_replies(question.perfect))
    return make_perfect_model(question.perfect, method.effects)
