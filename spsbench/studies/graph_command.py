"""`spsbench graph`: the paper's case study of a large object, pass-by-copy against shared state.

spsbench graph --sizes 10,100,1000 --model openai/gpt-4.1 --repeats 5 --out graph.jsonl
spsbench graph --model scripted                      our own time, without a model
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spsbench import flags

if TYPE_CHECKING:
    from spsbench.studies.graph_results import GraphResult, GraphTrial

QUESTION_NAMES = ("cite", "publish", "retract", "who", "how many", "leave")


@click.command("graph")
@click.option(
    "--sizes", default="10,100,1000,10000,100000", show_default=True, help="Papers in the graphs."
)
@click.option(
    "--methods",
    default="manual,baseline,nightjar,direct",
    show_default=True,
    metavar="LIST",
    help="`manual` passes by copy; all others share, each with its effects.",
)
@click.option(
    "--questions", default="all", metavar="LIST", help=f"Of {', '.join(QUESTION_NAMES)}; or all."
)
@flags.model_option(default="scripted", show_default=True)
@flags.repeats_option(1)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The results, JSON Lines. What is there already is not asked again.",
)
@flags.effects_option(
    100, "Effects, and model calls, that a question may take; the paper's agents had 100 steps."
)
@flags.seconds_option("Wall time that a question may take.")
@click.option(
    "--context",
    type=flags.POSITIVE_INT,
    default=1_000_000,
    show_default=True,
    help="Tokens that a prompt may have, at two characters a token; a longer one is not sent, and failed.",
)
@flags.temperature_option()
def command(
    out: Path | None,
    effects: int,
    seconds: float,
    context: int,
    temperature: float | None,
    **asked: Any,
) -> None:
    """Ask six questions on citation graphs of growing size: tokens, seconds, accuracy."""
    from njrt.errors import NaturalError
    from spsbench.results import DamagedResultsError
    from spsbench.studies.graph_asking import ask_graph_question
    from spsbench.studies.graph_results import (
        format_graph_table,
        graph_result_to_json,
        parse_graph_result,
    )
    from spsbench.studies.study import StudyLimits, load_study_model
    from spsbench.studies.study_file import StudyFile

    file, todo = StudyFile(out, "graph"), list(list_graph_trials(**asked))
    limits = StudyLimits(effects, seconds, context, temperature)
    try:
        model = load_study_model(asked["model"], os.environ)
        known = {each.asking: each for each in map(parse_graph_result, file.lines())}
        for number, asking in enumerate(todo, 1):
            if asking not in known:
                known[asking] = ask_graph_question(asking, model, limits)
                file.append(graph_result_to_json(known[asking]))
                click.echo(f"{number}/{len(todo)} {format_graph_progress(known[asking])}", err=True)
    except (DamagedResultsError, NaturalError) as problem:
        raise click.ClickException(str(problem)) from None
    click.echo(format_graph_table(known[asking] for asking in todo))


def list_graph_trials(
    sizes: str, methods: str, questions: str, model: str, repeats: int
) -> Iterator[GraphTrial]:
    """Everything that is to be asked, the smallest graphs and the first repeats first."""
    from spsbench.methods import METHODS, parse_name_list
    from spsbench.studies.graph_questions import MIN_PAPERS
    from spsbench.studies.graph_results import GraphTrial

    live = tuple(name for name, each in METHODS.items() if is_comparable(name, each))
    try:
        counts = sorted({int(size) for size in sizes.split(",")})
        names = parse_name_list(methods, live, "method that passes a graph")
        asked = parse_name_list(questions, QUESTION_NAMES, "question")
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None
    if not counts or counts[0] < MIN_PAPERS:
        raise click.UsageError(f"a graph has {MIN_PAPERS} papers or more")
    for size in counts:
        for repeat in range(1, repeats + 1):
            for method in names:
                for question in asked:
                    yield GraphTrial(size, method, model, repeat, question)


def is_comparable(name: str, method: Any) -> bool:
    """Whether a method says how a graph is passed; caches and code written beforehand are another matter."""
    return not (method.is_static or method.has_interpreter or name == "shared-python-cached")


def format_graph_progress(asked: GraphResult) -> str:
    """One result for whoever waits."""
    asking, took = asked.asking, asked.measures
    how = "right" if asked.passed else asked.error or "wrong"
    return (
        f"{asking.size:,} {asking.method} {asking.question} #{asking.repeat}: {how} "
        f"({took.calls} calls, {took.input_tokens:,} + {took.output_tokens:,} tokens, {took.seconds:.2f} s)"
    )
