"""`spsbench graph` and `spsbench gsm8k`, the case studies.

spsbench graph --sizes 10,100,1000 --model openai/gpt-4.1 --repeats 5 --out graph.jsonl
spsbench graph --model scripted                      the time of njc itself, without a model
spsbench gsm8k --model openai/local                  the 20 problems of the sample
spsbench gsm8k test.jsonl --model openai/gpt-4.1 --repeats 3 --out gsm8k.jsonl

`graph` compares passing a large object by copy with shared state; for school problems, shared state has no advantage
and should have no cost.
"""

from __future__ import annotations

import os
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import click

from spsbench import flags


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
def graph_command(
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
    from spsbench.studies.graph_asking import (
        ask_graph_question,
        format_graph_table,
        list_graph_trials,
    )
    from spsbench.studies.study import StudyJob, StudyLimits, run_case_study
    from spsbench.trials.answering import load_model

    trials = list(list_graph_trials(**asked))
    limits = StudyLimits(effects, seconds, context, temperature)
    model = load_model(asked["model"], os.environ.get("NJC_BASE_URL"))
    ask = partial(ask_graph_question, model=model, limits=limits)
    jobs = [StudyJob(trial, ask) for trial in trials]
    ctx.exit(run_case_study("questions", out, jobs, format_graph_table))


@click.command("gsm8k")
@click.argument("problems", type=flags.TEXT, required=False)
@flags.names("--methods", "manual,direct", "Live methods.")
@flags.model_option(required=True)
@flags.repeats_option(1)
@flags.number("--first", "Only the first N problems.")
@flags.out_option(None, "problems")
@flags.temperature_option(0.0)
@flags.value("--effects", 100, "Effects and model calls for a problem.")
@flags.seconds_option("Limit of wall time for a problem.")
@click.pass_context
def gsm8k_command(
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
    file of problems: the number of the line identifies a result.
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
    from spsbench.studies.study import StudyJob, StudyLimits, run_case_study
    from spsbench.trials.answering import load_model

    live = tuple(name for name, method in METHODS.items() if not method.is_static)
    names = flags.list_names(methods, live, "live method")
    limits = StudyLimits(effects, seconds, temperature=temperature)
    if problems is None:
        chosen = list(islice(parse_problems(read_sample_problems()), first))
    else:
        with naming(problems.name):
            chosen = list(islice(parse_problems(problems), first))
    asked = load_model(model, os.environ.get("NJC_BASE_URL"))
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
