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
    from spsbench.studies.graph_results import Asked, Asking

QUESTIONS = ("cite", "publish", "retract", "who", "how many", "leave")


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
    "--questions", default="all", metavar="LIST", help=f"Of {', '.join(QUESTIONS)}; or all."
)
@flags.model(default="scripted", show_default=True)
@flags.repeats(1)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The results, JSON Lines. What is there already is not asked again.",
)
@flags.effects(
    100, "Effects, and model calls, that a question may take; the paper's agents had 100 steps."
)
@flags.seconds("Wall time that a question may take.")
@click.option(
    "--context",
    type=flags.COUNT,
    default=1_000_000,
    show_default=True,
    help="Tokens that a prompt may have, at two characters a token; a longer one is not sent, and failed.",
)
@flags.temperature()
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
    from spsbench.studies.graph_asking import ask
    from spsbench.studies.graph_results import asked_of, entry_of, table
    from spsbench.studies.study import Limits, model_named
    from spsbench.studies.study_file import StudyFile

    file, todo = StudyFile(out, "graph"), list(askings(**asked))
    limits = Limits(effects, seconds, context, temperature)
    try:
        model = model_named(asked["model"], os.environ)
        known = {each.asking: each for each in map(asked_of, file.lines())}
        for number, asking in enumerate(todo, 1):
            if asking not in known:
                known[asking] = ask(asking, model, limits)
                file.append(entry_of(known[asking]))
                click.echo(f"{number}/{len(todo)} {told(known[asking])}", err=True)
    except (DamagedResultsError, NaturalError) as problem:
        raise click.ClickException(str(problem)) from None
    click.echo(table(known[asking] for asking in todo))


def askings(sizes: str, methods: str, questions: str, model: str, repeats: int) -> Iterator[Asking]:
    """Everything that is to be asked, the smallest graphs and the first repeats first."""
    from spsbench.methods import METHODS, chosen
    from spsbench.studies.graph_questions import SMALLEST
    from spsbench.studies.graph_results import Asking

    live = tuple(name for name, each in METHODS.items() if is_comparable(name, each))
    try:
        counts = sorted({int(size) for size in sizes.split(",")})
        names = chosen(methods, live, "method that passes a graph")
        asked = chosen(questions, QUESTIONS, "question")
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None
    if not counts or counts[0] < SMALLEST:
        raise click.UsageError(f"a graph has {SMALLEST} papers or more")
    for size in counts:
        for repeat in range(1, repeats + 1):
            for method in names:
                for question in asked:
                    yield Asking(size, method, model, repeat, question)


def is_comparable(name: str, method: Any) -> bool:
    """Whether a method says how a graph is passed; caches and code written beforehand are another matter."""
    return not (method.is_static or method.has_interpreter or name == "shared-python-cached")


def told(asked: Asked) -> str:
    """One result for whoever waits."""
    asking, took = asked.asking, asked.measures
    how = "right" if asked.passed else asked.error or "wrong"
    return (
        f"{asking.size:,} {asking.method} {asking.question} #{asking.repeat}: {how} "
        f"({took.calls} calls, {took.input_tokens:,} + {took.output_tokens:,} tokens, {took.seconds:.2f} s)"
    )
