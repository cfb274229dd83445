"""`spsbench suite` and `spsbench suite-report`: other people's suites of tasks, each in several forms.

spsbench suite bfcl --model openai/local --sample 50 --out bfcl.jsonl
spsbench suite m3 --data code-act/scripts/eval/m3tooleval --model openai/local --out m3.jsonl
spsbench suite mtp --data mtp-evaluation --model scripted
spsbench suite-report bfcl.jsonl m3.jsonl
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spsbench import flags

if TYPE_CHECKING:
    from spsbench.suites.running import SuitePlan
    from spsbench.suites.task import SuiteName, SuiteTask


@click.command("suite")
@click.argument("suite", type=click.Choice(["bfcl", "m3", "mtp"]))
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of the suite (m3, mtp).",
)
@click.option(
    "--forms", default="all", show_default=True, metavar="LIST", help="How tasks are put."
)
@flags.model_option()
@flags.sample_option("Tasks, at random (default: all).")
@flags.seed_option(1, "Seed of the sample.")
@flags.repeats_option(1)
@click.option(
    "--max-calls",
    type=flags.POSITIVE_INT,
    default=8,
    show_default=True,
    help="Model calls in a turn of the user.",
)
@click.option(
    "--seconds",
    type=flags.POSITIVE_FLOAT,
    default=300.0,
    show_default=True,
    help="Limit of wall time for a task.",
)
@click.option(
    "--reply-tokens",
    type=flags.POSITIVE_INT,
    default=300,
    show_default=True,
    help="Longest reply.",
)
@click.option(
    "--temperature",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="Temperature.",
)
@flags.out_option("suite.jsonl", "tasks")
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write the conversations into this folder.",
)
@flags.note_option()
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """Put the tasks of a suite to a model, in several forms.

    SUITE is bfcl (multi-turn tasks of the package bfcl-eval), m3 (M3ToolEval, a folder) or mtp (byLLM's tasks, a
    folder). The forms are json, codeact, natural, and answer for mtp, bfcl for bfcl. The same command again continues its
    results file.
    """
    from spsbench.experiment import show_end
    from spsbench.suites.running import run_suite
    from spsbench.suites.table import format_suite_tables
    from spsbench.suites.task import SuiteError
    from spsbench.trials.problems import report_problems

    show_line = partial(click.echo, err=True)
    with report_problems(SuiteError):
        plan = build_plan(values)
        tasks = load_tasks(values["suite"], values["data"])
        summary = run_suite(plan, tasks, values["out"], show_line)
    click.echo(format_suite_tables(summary.results))
    ctx.exit(show_end(summary, "tasks", values["out"], show_line))


def build_plan(values: dict[str, Any]) -> SuitePlan:
    """Return the plan that the flags request."""
    from spsbench.methods import parse_name_list
    from spsbench.studies.study_command import load_study_model
    from spsbench.suites.forms import FORMS
    from spsbench.suites.running import SuitePlan
    from spsbench.suites.task import SuiteLimits

    if values["model"] is None:
        raise click.UsageError("--model names a model, such as openai/NAME, or `scripted`")
    names = tuple(form.name for form in FORMS.values() if values["suite"] in form.suites)
    try:
        forms: Any = parse_name_list(values["forms"], names, "form")
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None
    return SuitePlan(
        values["suite"],
        forms,
        values["model"],
        load_study_model(values["model"], os.environ),
        SuiteLimits(
            values["max_calls"], values["seconds"], values["reply_tokens"], values["temperature"]
        ),
        **{name: values[name] for name in ("sample", "seed", "repeats", "keep", "note")},
    )


def load_tasks(suite: SuiteName, folder: Path | None) -> tuple[SuiteTask, ...]:
    """Return the tasks of a suite."""
    from spsbench.suites.bfcl import load_bfcl_tasks
    from spsbench.suites.m3 import load_m3_tasks
    from spsbench.suites.mtp import load_mtp_tasks

    if suite == "bfcl":
        return load_bfcl_tasks()
    if folder is None:
        raise click.UsageError(f"--data names the folder of {suite}")
    return load_m3_tasks(folder) if suite == "m3" else load_mtp_tasks(folder)


@click.command("suite-report")
@click.argument("results", nargs=-1, required=True, type=flags.EXISTING_FILE)
def report_command(results: tuple[Path, ...]) -> None:
    """Report the results of `spsbench suite`."""
    from spsbench.report.results_report import read_results_file
    from spsbench.suites.table import format_suite_tables
    from spsbench.suites.task import read_suite_results

    for path in results:
        found = read_results_file(path, read_suite_results)
        click.echo(f"{path}\n\n{format_suite_tables(found)}\n")
