"""`spsbench surprise`: is a wrong prediction an alarm for a wrong effect?

spsbench surprise --model openai/gpt-4.1-mini --out surprises.jsonl
spsbench surprise --model openai/local --sample 10 --seed 1 --out surprises.jsonl
spsbench surprise-report surprises.jsonl --out surprise.md
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import click

from spsbench import flags

if TYPE_CHECKING:
    from spsbench.surprise.results import SurpriseResult


@click.command("surprise")
@flags.model_option()
@click.option("--sample", type=flags.POSITIVE_INT, metavar="N", help="Only N effects, at random.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of sample and mistakes.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("surprises.jsonl"),
    show_default=True,
    help="Results file; its effects are skipped.",
)
@click.option("--scheduler", metavar="tcp://HOST:PORT", help="Run on this Dask cluster.")
@click.option("--note", default="", help="What to record of the model's server.")
def command(
    model: str | None,
    sample: int | None,
    seed: int,
    out: Path,
    scheduler: str | None,
    note: str,
) -> None:
    """Plant wrong effects, and have a model predict each effect.

    The programs run on their perfect scripts. Each effect is predicted twice: as it is, and with a mistake (a wrong
    value, a dropped statement, a dropped jump). A wrong prediction is an alarm. The same command again goes on
    where the results end.
    """
    from spsbench.journal import Journal, JournalInUseError
    from spsbench.results import DamagedResultsError
    from spsbench.studies.study_command import load_study_model
    from spsbench.surprise.playing import list_planted_effects
    from spsbench.surprise.results import (
        SurpriseResults,
        SurpriseRun,
        SurpriseTrial,
        read_surprises,
    )
    from spsbench.surprise.running import SurpriseJob, answer_surprise
    from spsbench.surprise.table import format_surprise_tables
    from spsbench.trials.machine import describe_machine, read_timestamp
    from spsbench.trials.progress import format_time_left
    from spsbench.trials.workers import LostTrial, NoWorkersError, run_jobs

    if model is None:
        raise click.UsageError("nothing says which model predicts: --model NAME")
    effects = list(list_planted_effects(Random(seed).randrange))
    total = len(effects)
    if sample is not None and sample < total:
        effects = Random(seed).sample(effects, sample)
    if load_study_model(model, os.environ) is None:
        raise click.UsageError("a script cannot predict; name a model")
    try:
        with Journal(out, read_surprises) as journal:
            results = {result.trial: result for result in journal.results.results}
            journal.append(
                SurpriseRun(
                    started=read_timestamp(),
                    model=model,
                    effects=total,
                    sample=sample,
                    seed=seed,
                    note=note,
                    **describe_machine(),
                )
            )
            base_url = os.environ.get("NJC_BASE_URL")
            jobs = [
                SurpriseJob(
                    SurpriseTrial(effect.program, effect.case, effect.piece, planted, model),
                    effect,
                    base_url,
                )
                for effect in effects
                for planted in ("none", effect.mutation.kind)
            ]
            jobs = [job for job in jobs if job.trial not in results]
            began = time.monotonic()
            answered = run_jobs(iter(jobs), answer_surprise, None, scheduler)
            for number, result in enumerate(answered, 1):
                if isinstance(result, LostTrial):
                    raise click.ClickException(
                        f"{result.reason}; the same command goes on from here"
                    )
                results[result.trial] = result
                journal.append(result)
                left = (time.monotonic() - began) / number * (len(jobs) - number)
                click.echo(
                    f"[{number}/{len(jobs)}] {_describe(result)}, about {format_time_left(left)} left",
                    err=True,
                )
    except (DamagedResultsError, JournalInUseError, NoWorkersError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(format_surprise_tables(SurpriseResults(results=tuple(results.values()))))


def _describe(result: SurpriseResult) -> str:
    verdict = result.problem or (
        "; ".join(result.mismatches)[:80] if result.is_surprise else "as predicted"
    )
    return f"{result.program} {result.case} {result.piece}, planted: {result.planted}: {verdict}"


@click.command("surprise-report")
@click.argument(
    "results",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write Markdown.")
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
