"""`spsbench repair`: a model repairs buggy programs.

spsbench repair --data humanevalfix.jsonl --model openai/gpt-4.1 --samples 5 --out repairs.jsonl
spsbench repair --data quixbugs.jsonl --conditions trace,test --sample 20 --model openai/local ...
spsbench repair-report r.jsonl --out report.md
"""

from __future__ import annotations

from typing import Any

import click

from spsbench import flags


@click.command("repair")
@flags.file_option("--data", "Problems (JSON Lines).", multiple=True, required=True)
@flags.names("--conditions", "trace,test,neither", "Information for the model.")
@flags.model_option()
@flags.value("--samples", 1, "Repairs of a problem, by condition.")
@click.option("--sample", type=flags.POSITIVE_INT, metavar="N", help="Only N problems, at random.")
@flags.value("--seed", 0, "Seed of --sample.", int)
@flags.value("--reply-tokens", 1024, "Longest reply.")
@flags.temperature_option()
@flags.seconds_option("Limit of wall time for one reply.", 600.0)
@flags.value("--test-seconds", 5.0, "Limit of tests.", flags.POSITIVE_FLOAT)
@flags.value("--jobs", 1, "Parallel repairs.")
@flags.out_option("repairs.jsonl", "repairs")
@click.option("--note", default="", metavar="TEXT", help="What to record of the server.")
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """Have a model repair buggy programs, and test its fixes.

    DATA are files of HumanEvalFix or QuixBugs. The conditions are trace (the failing test, and the
    steps of its run as comments), test (the failing test), and neither. The same command continues
    the results.
    """
    from spsbench.repair.solving import repair_problems

    ctx.exit(repair_problems(values))
