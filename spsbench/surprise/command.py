"""`spsbench surprise`: is a wrong prediction an alarm for a wrong effect?

spsbench surprise --model openai/gpt-4.1-mini --out surprises.jsonl
spsbench surprise --model openai/local --sample 10 --seed 1 --out surprises.jsonl
spsbench surprise-report surprises.jsonl --out surprise.md
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from random import Random

import click

from spsbench import flags


@click.command("surprise")
@flags.model_option()
@flags.sample_option("Only N effects, at random.")
@flags.seed_option(0, "Seed of sample and mistakes.")
@flags.reply_seconds_option(default=600.0)
@flags.jobs_option("Predictions at a time.")
@flags.out_option("surprises.jsonl", "effects")
@flags.scheduler_option()
@flags.note_option()
@click.pass_context
def command(
    ctx: click.Context,
    model: str | None,
    sample: int | None,
    seed: int,
    seconds: float,
    jobs: int | None,
    out: Path,
    scheduler: str | None,
    note: str,
) -> None:
    """Plant wrong effects, and have a model predict each effect.

    The programs run on their perfect scripts. Each effect is predicted twice: as it is, and with a mistake (a wrong
    value, a dropped statement, a dropped jump). A wrong prediction is an alarm. The same command again goes on
    where the results end.
    """
    from spsbench.experiment import show_end
    from spsbench.studies.study_command import load_study_model
    from spsbench.surprise.playing import list_planted_effects, sample_effects
    from spsbench.surprise.running import SurprisePlan, run_surprises
    from spsbench.surprise.table import format_surprise_tables
    from spsbench.trials.collecting import Workers
    from spsbench.trials.problems import report_problems

    if model is None:
        raise click.UsageError("nothing says which model predicts: --model NAME")
    show_line = partial(click.echo, err=True)
    effects = list(list_planted_effects(Random(seed).randrange))
    chosen = sample_effects(effects, sample, Random(seed).random)
    base_url = os.environ.get("NJC_BASE_URL")
    plan = SurprisePlan(
        model, len(effects), sample, seed, out, base_url, Workers(jobs, scheduler), note, seconds
    )
    with report_problems():
        if load_study_model(model, os.environ) is None:
            raise click.UsageError("a script cannot predict; name a model")
        summary = run_surprises(plan, chosen, show_line)
    if summary.results.results:
        click.echo(format_surprise_tables(summary.results))
    ctx.exit(show_end(summary, "predictions", out, show_line))


@click.command("surprise-report")
@click.argument("results", nargs=-1, required=True, type=flags.EXISTING_FILE)
@click.option("--out", type=flags.FILE, help="Write Markdown.")
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 where --out differs.")
def report_command(results: tuple[Path, ...], out: Path | None, check: bool) -> None:
    """Report the results of `spsbench surprise`."""
    from spsbench.report.results_report import ResultsReport, report_results
    from spsbench.surprise.results import read_surprises
    from spsbench.surprise.table import format_surprise_tables, render_surprise_report

    report = ResultsReport(
        "surprise-report", read_surprises, format_surprise_tables, render_surprise_report
    )
    report_results(report, results, out, check)
