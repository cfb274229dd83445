"""`spsbench graph`: the paper's case study of a large object, pass-by-copy against shared state.

spsbench graph --sizes 10,100,1000 --model openai/gpt-4.1 --repeats 5 --out graph.jsonl
spsbench graph --model scripted                      the time of our own code, without a model
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spsbench import flags

if TYPE_CHECKING:
    from spsbench.results import GraphTrial

QUESTION_NAMES = ("cite", "publish", "retract", "who", "how many", "leave")


@click.command("graph")
@click.option(
    "--sizes", default="10,100,1000,10000,100000", show_default=True, help="Papers in the graphs."
)
@flags.names(
    "--methods", "manual,baseline,nightjar,direct", "Methods; all but `manual` share the graph."
)
@flags.names("--questions", "all", "Questions by name, or all.", show_default=False)
@flags.model_option(default="scripted", show_default=True)
@flags.repeats_option(1)
@flags.out_option(None, "questions")
@flags.value("--effects", 100, "Effects and model calls for a question.")
@flags.seconds_option("Limit of wall time for a question.")
@flags.value("--context", 1_000_000, "Tokens of a prompt, at 2 characters each.")
@flags.temperature_option()
@click.pass_context
def command(
    ctx: click.Context,
    /,
    out: Path | None,
    effects: int,
    seconds: float,
    context: int,
    temperature: float | None,
    **asked: Any,
) -> None:
    """Ask questions on citation graphs of growing size."""
    from spsbench.studies.graph_asking import ask_graph_question, format_graph_table
    from spsbench.studies.study import StudyJob, StudyLimits, load_study_model, run_case_study

    trials = list(list_graph_trials(**asked))
    limits = StudyLimits(effects, seconds, context, temperature)
    model = load_study_model(asked["model"], os.environ)
    ask = partial(ask_graph_question, model=model, limits=limits)
    jobs = [StudyJob(trial, ask) for trial in trials]
    ctx.exit(run_case_study("questions", out, jobs, format_graph_table))


def list_graph_trials(
    sizes: str, methods: str, questions: str, model: str, repeats: int
) -> Iterator[GraphTrial]:
    """Yield all questions to ask: the smallest graphs and the first repeats first."""
    from spsbench.methods import METHODS
    from spsbench.results import GraphTrial
    from spsbench.studies.graph_questions import MIN_PAPERS

    # Methods that differ in how a graph is passed, and not in a cache or static code.
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
