"""`spsbench suite` and `spsbench suite-report`: other people's suites of tasks, each in several forms.

spsbench suite bfcl --model openai/local --sample 50 --out bfcl.jsonl
spsbench suite m3 --data code-act/scripts/eval/m3tooleval --model openai/local --out m3.jsonl
spsbench suite mtp --data mtp-evaluation --model scripted
spsbench suite-report bfcl.jsonl m3.jsonl
"""

from __future__ import annotations

from typing import Any

import click

from spsbench import flags


@click.command("suite")
@click.argument("suite", type=click.Choice(["bfcl", "m3", "mtp"]))
@click.option("--data", type=flags.EXISTING_FOLDER, help="Folder of the suite (m3, mtp).")
@flags.names("--forms", "all", "How tasks are put.")
@flags.model_option()
@flags.number("--sample", "Tasks, at random (default: all).")
@flags.seed_option(1, "Seed of the sample.")
@flags.repeats_option(1)
@flags.value("--max-calls", 8, "Model calls in a turn of the user.")
@flags.seconds_option("Limit of wall time for a task.", 300.0)
@flags.value("--reply-tokens", 300, "Longest reply.")
@flags.temperature_option(0.0)
@flags.out_option("suite.jsonl", "tasks")
@click.option("--keep", type=flags.FOLDER, help="Write the conversations into this folder.")
@flags.note_option()
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """Put the tasks of a suite to a model, in several forms.

    SUITE is bfcl (multi-turn tasks of the package bfcl-eval), m3 (M3ToolEval, a folder) or mtp (byLLM's tasks, a
    folder). The forms are json, codeact, natural, and answer for mtp, bfcl for bfcl. The same command again continues its
    results file.
    """
    from spsbench.suites.running import play_suite

    ctx.exit(play_suite(values))
