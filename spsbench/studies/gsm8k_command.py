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
    from spsbench.studies.gsm8k_results import Gsm8kResult


@click.command("gsm8k")
@click.argument("problems", type=click.File(encoding="utf-8"), required=False)
@click.option(
    "--methods", default="manual,direct", show_default=True, metavar="LIST", help="Live methods."
)
@flags.model_option(required=True)
@flags.repeats_option(1)
@click.option("--first", type=flags.POSITIVE_INT, metavar="N", help="Only the first N problems.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The results, JSON Lines. What is there already is not solved again.",
)
@click.option("--temperature", type=click.FloatRange(min=0), default=0.0, show_default=True)
@flags.effects_option(100, "Effects, and model calls, that a problem may take.")
@flags.seconds_option("Wall time that a problem may take.")
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
    from spsbench.methods import METHODS, parse_name_list
    from spsbench.results import DamagedResultsError
    from spsbench.studies.gsm8k_problems import ProblemError, parse_problems, read_sample_problems
    from spsbench.studies.gsm8k_results import (
        Gsm8kTrial,
        format_gsm8k_table,
        gsm8k_result_to_json,
        parse_gsm8k_result,
    )
    from spsbench.studies.gsm8k_solving import solve_problem
    from spsbench.studies.study import StudyLimits, load_study_model
    from spsbench.studies.study_file import StudyFile

    try:
        live = tuple(name for name, each in METHODS.items() if not each.is_static)
        names = parse_name_list(methods, live, "live method")
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None
    file, limits = StudyFile(out, "gsm8k"), StudyLimits(effects, seconds, temperature=temperature)
    try:
        read = list(parse_problems(read_sample_problems() if problems is None else problems))[
            :first
        ]
        todo = [
            (Gsm8kTrial(each.number, name, model, repeat), each)
            for repeat in range(1, repeats + 1)
            for name in names
            for each in read
        ]
        asked = load_study_model(model, os.environ)
        known = {each.solving: each for each in map(parse_gsm8k_result, file.lines())}
        for position, (solving, each) in enumerate(todo, 1):
            if solving not in known:
                known[solving] = solve_problem(solving, each, asked, limits)
                file.append(gsm8k_result_to_json(known[solving]))
                click.echo(
                    f"{position}/{len(todo)} {format_gsm8k_progress(known[solving])}", err=True
                )
    except (DamagedResultsError, NaturalError, ProblemError) as problem:
        raise click.ClickException(str(problem)) from None
    click.echo(format_gsm8k_table(known[solving] for solving, _ in todo))


def format_gsm8k_progress(solved: Gsm8kResult) -> str:
    """One result for whoever waits."""
    solving, took = solved.solving, solved.measures
    how = "right" if solved.passed else solved.error or f"wrong: {solved.found}"
    return (
        f"problem {solving.problem} {solving.method} #{solving.repeat}: {how} "
        f"({took.calls} calls, {took.seconds:.2f} s)"
    )
