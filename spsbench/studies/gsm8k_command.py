"""`spsbench gsm8k`: school problems, where shared state has no advantage and should have no cost.

spsbench gsm8k --model openai/local                    the 20 problems of the sample
spsbench gsm8k test.jsonl --model openai/gpt-4.1 --repeats 3 --out gsm8k.jsonl
"""

from __future__ import annotations

import os
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TextIO

import click

from spsbench import flags


@click.command("gsm8k")
@click.argument("problems", type=flags.TEXT, required=False)
@flags.names("--methods", "manual,direct", "Live methods.")
@flags.model_option(required=True)
@flags.repeats_option(1)
@click.option("--first", type=flags.POSITIVE_INT, metavar="N", help="Only the first N problems.")
@flags.out_option(None, "problems")
@flags.temperature_option(0.0)
@flags.value("--effects", 100, "Effects and model calls for a problem.")
@flags.seconds_option("Limit of wall time for a problem.")
@click.pass_context
def command(
    ctx: click.Context,
    problems: TextIO | None,
    methods: str,
    model: str,
    repeats: int,
    first: int | None,
    out: Path | None,
    temperature: float,
    effects: int,
    seconds: float,
) -> None:
    """Solve problems in the format of GSM8K.

    PROBLEMS is a file (default: 20 problems that come with the benchmark).

    A line is a JSON object with a question and an answer that ends in `#### 42`. Use another --out for another
    file of problems: results are told apart by the number of the line.
    """
    from spsbench.journal import naming
    from spsbench.methods import METHODS
    from spsbench.results import Gsm8kTrial
    from spsbench.studies.gsm8k_solving import (
        format_gsm8k_table,
        parse_problems,
        read_sample_problems,
        solve_problem,
    )
    from spsbench.studies.study import StudyJob, StudyLimits, load_study_model, run_case_study

    live = tuple(name for name, method in METHODS.items() if not method.is_static)
    names = flags.list_names(methods, live, "live method")
    limits = StudyLimits(effects, seconds, temperature=temperature)
    if problems is None:
        chosen = list(islice(parse_problems(read_sample_problems()), first))
    else:
        with naming(problems.name):
            chosen = list(islice(parse_problems(problems), first))
    asked = load_study_model(model, os.environ)
    jobs = [
        StudyJob(
            Gsm8kTrial(problem.number, name, model, repeat),
            partial(solve_problem, problem=problem, model=asked, limits=limits),
        )
        for repeat in range(1, repeats + 1)
        for name in names
        for problem in chosen
    ]
    ctx.exit(run_case_study("problems", out, jobs, format_gsm8k_table))
