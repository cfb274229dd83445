"""`spsbench crux`: predict outputs, inputs and states of CruxEval's functions.

spsbench crux --data cruxeval.jsonl --model openai/local --sample 100 --out crux.jsonl
spsbench crux --data cruxeval.jsonl --model openai/local --tasks states --states 50
spsbench crux --data cruxeval.jsonl --score generations_output.json
spsbench crux --report crux.jsonl > crux.md
"""

from __future__ import annotations

from typing import Any

import click

from spsbench import flags


@click.command("crux")
@flags.file_option("--data", "Problems in the format of CruxEval.")
@flags.names("--tasks", "output,input,states", "What to ask for.")
@flags.names("--forms", "direct,action,path,trace", "How to ask for it.")
@flags.model_option()
@flags.number("--sample", "Problems (default: all).")
@flags.value("--states", 100, "Steps for each action.")
@flags.seed_option(1, "Seed of the sample.")
@flags.repeats_option(1)
@flags.number("--jobs", "Questions at a time.")
@flags.out_option("crux.jsonl", "questions")
@flags.temperature_option(0.0)
@flags.value("--max-steps", 40, "Replies on one path.")
@flags.reply_seconds_option(default=120.0)
@flags.executor_option("threads", "Ask from here or from a Dask cluster.")
@flags.scheduler_option("Scheduler of the cluster.")
@flags.file_option("--score", "Score this file; ask nothing.", multiple=True, metavar="GENERATIONS")
@click.option(
    "--task",
    type=click.Choice(["output", "input"]),
    help="What --score has (default: by its name).",
)
@flags.note_option("A note for the report.")
@flags.file_option("--report", "Print the report on results as Markdown.")
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """Ask a model for outputs, inputs and states.

    The same command again continues the results. --score and --report ask nothing.
    """
    from spsbench.crux.asking import ask_questions, report_results, score_files

    if values["report"] is not None:
        report_results(values["report"])
    elif values["data"] is None:
        raise click.UsageError("--data names the file of problems, such as cruxeval.jsonl")
    elif values["score"]:
        score_files(values)
    else:
        ctx.exit(ask_questions(values))
