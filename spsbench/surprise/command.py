"""`spsbench surprise`: is a wrong prediction an alarm for a wrong effect?

spsbench surprise --model openai/gpt-4.1-mini --out surprises.jsonl
spsbench surprise --model openai/local --sample 10 --seed 1 --out surprises.jsonl
spsbench surprise-report surprises.jsonl --out surprise.md
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import click

from spsbench import flags
from spsbench.report.results_report import ResultsReport, report_command


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
    from spsbench.studies.study import load_study_model
    from spsbench.surprise.playing import (
        STRATA,
        answer_surprise,
        list_jobs,
        list_planted_effects,
        sample_effects,
    )
    from spsbench.surprise.results import SURPRISE_KINDS, SurpriseRun
    from spsbench.surprise.table import REPORT
    from spsbench.trials.experiment import Experiment, run_experiment
    from spsbench.trials.workers import Workers

    if model is None:
        raise click.UsageError("nothing says which model predicts: --model NAME")
    workers = Workers(jobs, scheduler)
    effects = list(list_planted_effects(Random(seed).randrange))
    chosen = sample_effects(effects, sample, Random(seed).random)
    run = SurpriseRun(
        model=model,
        effects=len(effects),
        sample=sample,
        seed=seed,
        strata=STRATA,
        note=note,
        **workers.describe_start(),
    )
    asked = list_jobs(chosen, model, os.environ.get("NJC_BASE_URL"), seconds)
    predictions = Experiment(
        "predictions",
        out,
        SURPRISE_KINDS,
        asked,
        answer_surprise,
        run,
        ("seed", "effects"),
        workers,
    )
    if load_study_model(model, os.environ) is None:
        raise click.UsageError("a script cannot predict; name a model")
    ctx.exit(run_experiment(predictions, REPORT.format_text))


@report_command("surprise-report", "Write Markdown.")
def report() -> ResultsReport:
    """Report the results of `spsbench surprise`."""
    from spsbench.surprise.table import REPORT

    return REPORT
