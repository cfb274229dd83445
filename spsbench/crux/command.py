"""`spsbench crux`: predict outputs, inputs and states of CruxEval's functions.

spsbench crux --data cruxeval.jsonl --model openai/local --sample 100 --out crux.jsonl
spsbench crux --data cruxeval.jsonl --model openai/local --tasks states --states 50
spsbench crux --report crux.jsonl > crux.md
"""

from __future__ import annotations

from typing import Any

import click

from spsbench import flags


@click.command("crux")
@flags.file_option("--data", "Problems in the format of CruxEval.")
@flags.names("--tasks", "output,input,states", "What to ask for.")
@flags.names("--forms", "direct,action,trace", "How to ask for it.")
@flags.model_option()
@flags.number("--sample", "Problems (default: all).")
@flags.value("--states", 100, "Steps for each action.")
@flags.seed_option(1, "Seed of the sample.")
@flags.number("--jobs", "Questions at a time.")
@flags.out_option("crux.jsonl", "questions")
@flags.temperature_option(0.0)
@flags.reply_seconds_option(default=120.0)
@flags.note_option("A note for the report.")
@flags.file_option("--report", "Print the report on results as Markdown.")
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """Ask a model for outputs, inputs and states.

    The same command again continues the results. --report asks nothing.
    """
    from spsbench.crux.asking import ask_questions, report_results

    if values["report"] is not None:
        report_results(values["report"])
    elif values["data"] is None:
        raise click.UsageError("--data names the file of problems, such as cruxeval.jsonl")
    else:
        ctx.exit(ask_questions(values))
