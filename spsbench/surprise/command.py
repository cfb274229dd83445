"""`spsbench surprise`: is a wrong prediction an alarm for a wrong effect?

spsbench surprise --model openai/gpt-4.1-mini --out surprises.jsonl
spsbench surprise --model openai/local --sample 10 --seed 1 --out surprises.jsonl
spsbench surprise --report surprises.jsonl           the table of a file, without a model
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
    from njrt.prediction import Prediction
    from spsbench.surprise.results import SurpriseResult, SurpriseTrial

SETUP_ERROR = "no prediction:"


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
@click.option("--note", default="", help="What to record of the model's server.")
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Only show the table of this file.",
)
def command(
    model: str | None, sample: int | None, seed: int, out: Path, note: str, report: Path | None
) -> None:
    """Plant wrong effects, and have a model predict each effect.

    The programs run on their perfect scripts. Each effect is predicted twice: as it is, and with a mistake (a wrong
    value, a dropped statement, a dropped jump). A wrong prediction is an alarm. The same command again goes on
    where the results end.
    """
    from spsbench.journal import Journal, JournalInUseError
    from spsbench.results import DamagedResultsError
    from spsbench.studies.study_command import load_study_model
    from spsbench.surprise.playing import list_planted_effects, play_effect
    from spsbench.surprise.results import SurpriseRun, SurpriseTrial, read_surprises
    from spsbench.surprise.table import format_surprise_table
    from spsbench.trials.machine import describe_machine, read_timestamp
    from spsbench.trials.progress import format_time_left

    if report is not None:
        lines = report.read_text(encoding="utf-8").splitlines(keepends=True)
        click.echo(format_surprise_table(read_surprises(lines).results))
        return
    if model is None:
        raise click.UsageError("nothing says which model predicts: --model NAME")
    effects = list(list_planted_effects(Random(seed).randrange))
    total = len(effects)
    if sample is not None and sample < total:
        effects = Random(seed).sample(effects, sample)
    predictor = load_study_model(model, os.environ)
    if predictor is None:
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
            to_do = [
                (SurpriseTrial(effect.program, effect.case, effect.piece, planted, model), effect)
                for effect in effects
                for planted in ("none", effect.mutation.kind)
            ]
            to_do = [(trial, effect) for trial, effect in to_do if trial not in results]
            began = time.monotonic()
            for number, (trial, effect) in enumerate(to_do, 1):
                started = read_timestamp()
                prediction = play_effect(effect, trial.planted != "none", predictor)
                if prediction is not None and prediction.problem.startswith(SETUP_ERROR):
                    raise click.ClickException(
                        f"{prediction.problem}; the same command goes on from here"
                    )
                result = results[trial] = _make_result(trial, prediction, started)
                journal.append(result)
                left = (time.monotonic() - began) / number * (len(to_do) - number)
                click.echo(
                    f"[{number}/{len(to_do)}] {_describe(result)}, about {format_time_left(left)} left",
                    err=True,
                )
    except (DamagedResultsError, JournalInUseError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(format_surprise_table(list(results.values())))


def _make_result(
    trial: SurpriseTrial, prediction: Prediction | None, started: str
) -> SurpriseResult:
    from njrt.prediction import Prediction
    from spsbench.surprise.results import SurpriseResult

    made = prediction or Prediction(problem="the case ended before this effect")
    return SurpriseResult(
        trial.program,
        trial.case,
        trial.piece,
        trial.planted,
        trial.model,
        is_surprise=made.is_surprise,
        mismatches=made.mismatches,
        problem=made.problem,
        input_tokens=made.input_tokens,
        output_tokens=made.output_tokens,
        seconds=round(made.seconds, 2),
        started=started,
    )


def _describe(result: SurpriseResult) -> str:
    verdict = result.problem or (
        "; ".join(result.mismatches)[:80] if result.is_surprise else "as predicted"
    )
    return f"{result.program} {result.case} {result.piece}, planted: {result.planted}: {verdict}"
