"""`spsbench run`: run trials and write their results.

spsbench run --methods direct,manual --programs menu,graph --out results.jsonl
spsbench run --methods all --model openai/gpt-4.1 --repeats 5 --jobs 8 --limit-cost 20
spsbench run --methods all --model scripted
spsbench run --methods static,reviewed --lock strong/njc.lock --model openai/local
"""

from __future__ import annotations

from typing import Any

import click

from spsbench import flags


@click.command("run")
@flags.names("--methods", "all", "Methods by name, or all.", show_default=False)
@flags.names("--programs", "all", "Programs by name, or all.", show_default=False)
@flags.model_option(required=True)
@flags.value("--repeats", 5, "Repeats of each.")
@flags.value("--jobs", 1, "Parallel trials.")
@flags.out_option("results.jsonl", "trials")
@flags.seconds_option("Seconds of a trial, with its build.")
@flags.value("--effects", 300, "Effects of one run of a block.")
@flags.value("--max-calls", 300, "Model calls of one run of a block.")
@flags.temperature_option()
@click.option(
    "--limit-cost",
    type=flags.POSITIVE_FLOAT,
    metavar="USD",
    help="Start no trial once all have cost this.",
)
@flags.file_option("--lock", "The njc.lock with the code of static methods.")
@click.option(
    "--keep", type=flags.FOLDER, metavar="FOLDER", help="Keep traces, output and lock of trials."
)
@click.pass_context
def command(ctx: click.Context, /, **flag_values: Any) -> None:
    """Run trials: programs under methods, repeat by repeat.

    Each trial is a separate process. The same command again continues the results.
    """
    from spsbench.trials.executing import run_benchmark

    ctx.exit(run_benchmark(flag_values))
