"""`spsbench suite` and `spsbench suite-report`: other people's suites of tasks, each in several forms.

spsbench suite bfcl --model openai/local --sample 50 --out bfcl.jsonl
spsbench suite m3 --data code-act/scripts/eval/m3tooleval --model openai/local --out m3.jsonl
spsbench suite mtp --data mtp-evaluation --model scripted
spsbench suite-report bfcl.jsonl m3.jsonl
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spsbench import flags

if TYPE_CHECKING:
    from spsbench.suites.task import SuiteName, SuiteRun, SuiteTask


@click.command("suite")
@click.argument("suite", type=click.Choice(["bfcl", "m3", "mtp"]))
@click.option("--data", type=flags.EXISTING_FOLDER, help="Folder of the suite (m3, mtp).")
@flags.names("--forms", "all", "How tasks are put.")
@flags.model_option()
@flags.sample_option("Tasks, at random (default: all).")
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
    from spsbench.report.results_report import format_tables
    from spsbench.studies.study import load_study_model
    from spsbench.suites.running import list_jobs, play_job
    from spsbench.suites.table import list_tables
    from spsbench.suites.task import SUITE_KINDS
    from spsbench.trials.experiment import Experiment, run_experiment

    tasks = load_tasks(values["suite"], values["data"])
    run = build_run(values, len(tasks))
    model = load_study_model(run.model, os.environ)
    jobs = list_jobs(run, tasks, model, values["keep"])
    compared = ("suite", "model", "limits")
    played = Experiment("tasks", values["out"], SUITE_KINDS, jobs, play_job, run, compared)
    ctx.exit(run_experiment(played, lambda found: format_tables(list_tables(found))))


def build_run(values: dict[str, Any], tasks: int) -> SuiteRun:
    """Return the run that the flags request, of a suite with so many tasks."""
    from spsbench.suites.forms import FORMS
    from spsbench.suites.task import SuiteLimits, SuiteRun
    from spsbench.trials.workers import Workers

    if values["model"] is None:
        raise click.UsageError("--model names a model, such as openai/NAME, or `scripted`")
    names = tuple(form.name for form in FORMS.values() if values["suite"] in form.suites)
    forms: Any = flags.list_names(values["forms"], names, "form")
    limits = ("max_calls", "seconds", "reply_tokens", "temperature")
    return SuiteRun(
        forms=forms,
        tasks=tasks,
        limits=SuiteLimits(*(values[name] for name in limits)),
        **{name: values[name] for name in ("suite", "model", "sample", "seed", "repeats", "note")},
        **Workers().describe_start(),
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
    from spsbench.journal import read_results_file
    from spsbench.report.results_report import format_tables
    from spsbench.suites.table import list_tables
    from spsbench.suites.task import SUITE_KINDS

    for path in results:
        found = read_results_file(path, SUITE_KINDS)
        click.echo(f"{path}\n\n{format_tables(list_tables(found))}\n")
