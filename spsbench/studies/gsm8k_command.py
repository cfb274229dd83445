"""`spsbench gsm8k`: school problems, where shared state brings nothing, and must not cost anything either.

spsbench gsm8k --model openai/local                    the 20 problems of the sample
spsbench gsm8k test.jsonl --model openai/gpt-4.1 --repeats 3 --out gsm8k.jsonl
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spsbench import flags

if TYPE_CHECKING:
    from spsbench.studies.gsm8k_results import Solved


@click.command("gsm8k")
@click.argument("problems", type=click.File(encoding="utf-8"), required=False)
@click.option(
    "--methods", default="manual,direct", show_default=True, metavar="LIST", help="Live methods."
)
@flags.model(required=True)
@flags.repeats(1)
@click.option("--first", type=flags.COUNT, metavar="N", help="Only the first N problems.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The results, JSON Lines. What is there already is not solved again.",
)
@click.option("--temperature", type=click.FloatRange(min=0), default=0.0, show_default=True)
@flags.effects(100, "Effects, and model calls, that a problem may take.")
@flags.seconds("Wall time that a problem may take.")
def command(
    problems: Iterable[str] | None,
    methods: str,
    model: str,
    repeats: int,
    first: int | None,
    out: Path | None,
    temperature: float,
    effects: int,
    seconds: float,
) -> None:
    """Solve PROBLEMS, a file in the format of GSM8K, or the 20 that come with the benchmark.

    A line is a JSON object with a question and an answer that ends in `#### 42`. Give each file of problems
    results of its own: they are told apart by the number of the line.
    """
    from njrt.errors import NaturalError
    from spsbench.methods import METHODS, chosen
    from spsbench.results import DamagedResultsError
    from spsbench.studies.gsm8k_problems import ProblemError, problems_in, sample
    from spsbench.studies.gsm8k_results import Solving, entry_of, solved_of, table
    from spsbench.studies.gsm8k_solving import solve
    from spsbench.studies.study import Limits, model_named
    from spsbench.studies.study_file import StudyFile

    try:
        live = tuple(name for name, each in METHODS.items() if not each.is_static)
        names = chosen(methods, live, "live method")
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None
    file, limits = StudyFile(out, "gsm8k"), Limits(effects, seconds, temperature=temperature)
    try:
        read = list(problems_in(sample() if problems is None else problems))[:first]
        todo = [
            (Solving(each.number, name, model, repeat), each)
            for repeat in range(1, repeats + 1)
            for name in names
            for each in read
        ]
        asked = model_named(model, os.environ)
        known = {each.solving: each for each in map(solved_of, file.lines())}
        for position, (solving, each) in enumerate(todo, 1):
            if solving not in known:
                known[solving] = solve(solving, each, asked, limits)
                file.append(entry_of(known[solving]))
                click.echo(f"{position}/{len(todo)} {told(known[solving])}", err=True)
    except (DamagedResultsError, NaturalError, ProblemError) as problem:
        raise click.ClickException(str(problem)) from None
    click.echo(table(known[solving] for solving, _ in todo))


def told(solved: Solved) -> str:
    """One result for whoever waits."""
    solving, took = solved.solving, solved.measures
    how = "right" if solved.passed else solved.error or f"wrong: {solved.found}"
    return (
        f"problem {solving.problem} {solving.method} #{solving.repeat}: {how} "
        f"({took.calls} calls, {took.seconds:.2f} s)"
    )
