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
from spsbench.perfect import perfect
from spsbench.script import said_to_manual
from spsbench.studies.graph_questions import Citations, Question, citations, questions_on
from spsbench.studies.graph_results import Asked, Asking
from spsbench.studies.study import Limits, run_study
from spsbench.suite import manual_of, natural_of


def ask(asking: Asking, model: Model | None, limits: Limits) -> Asked:
    """Play one question; without a model, a perfect script answers."""
    method = METHODS[asking.method]
    graph, questions = prepared(asking.size)
    question, program = questions[asking.question], program_of(method.file)
    shared = program.Graph(
        set(graph.nodes), {cited: set(citing) for cited, citing in graph.edges.items()}
    )
    started = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    played = run_study(
        lambda: program.main(iter(question.queries), shared),
        model or perfect_model(question, method),
        method,
        limits,
    )
    return Asked(
        asking,
        played.ending == "finished" and question.holds(played.value, shared.nodes, shared.edges),
        played.ending,
        played.error,
        played.measures,
        started,
    )


@functools.lru_cache(maxsize=1)
def prepared(size: int) -> tuple[Citations, dict[str, Question]]:
    """The graph of a size and the questions on it."""
    graph = citations(size)
    return graph, questions_on(graph)


@functools.cache
def program_of(file: str) -> ModuleType:
    """The program that passes by copy, or the one that shares."""
    return manual_of("graph") if file == "manual.py" else natural_of("graph")


def perfect_model(question: Question, method: Method) -> Model:
    """A model that knows the answer, for the measure of our own time."""
    if method.file == "manual.py":
        return Scripted(said_to_manual(question.perfect))
    return perfect(question.perfect, method.effects)
