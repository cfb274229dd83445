"""`spsbench graph`, the case study.

spsbench graph --sizes 10,100,1000 --model openai/gpt-4.1 --repeats 5 --out graph.jsonl
spsbench graph --model scripted                      the time of njc itself, without a model

It compares passing a large object by copy with shared state.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

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
@flags.value("--repeats", 1, "Repeats of each.")
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
