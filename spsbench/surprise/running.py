"""A run of `spsbench surprise`: the remaining effects are predicted, and each result is written at once.

run_surprises(plan, effects, show_line)                                      ExperimentSummary(results, done=28, left=0)
answer_surprise(SurpriseJob(trial, effect, "http://127.0.0.1:8000/v1"))      SurpriseResult(...), or LostTrial(...)
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from njrt.errors import ModelError
from njrt.events import Prediction
from njrt.models.choose import choose_model
from njrt.options import Options
from spsbench.experiment import (
    Experiment,
    ExperimentSummary,
    ShowLine,
    describe_start,
    refuse_other_values,
    run_experiment,
)
from spsbench.studies.study import format_study_error, is_prompt_too_long
from spsbench.surprise.playing import STRATA, PlantedEffect, play_effect
from spsbench.surprise.results import (
    SurpriseResult,
    SurpriseResults,
    SurpriseRun,
    SurpriseTrial,
    read_surprises,
)
from spsbench.trials.collecting import Workers
from spsbench.trials.machine import read_timestamp
from spsbench.trials.workers import LostTrial


@dataclass(frozen=True, slots=True)
class SurprisePlan:
    """What to predict, and how."""

    model: str
    effects: int
    """Of all programs, before some were drawn."""
    sample: int | None
    seed: int
    out: Path
    base_url: str | None
    workers: Workers
    note: str
    seconds: float
    """For one reply."""


@dataclass(frozen=True, slots=True)
class SurpriseJob:
    """A trial and everything that is needed to run it."""

    trial: SurpriseTrial
    effect: PlantedEffect
    base_url: str | None
    seconds: float
    """For one reply."""


def answer_surprise(
    job: SurpriseJob, stop: threading.Event | None = None
) -> SurpriseResult | LostTrial:
    """Predict the effect of a job; it is lost where the model's server fails. `stop` is for longer jobs."""
    trial, started = job.trial, read_timestamp()
    predictor = choose_model(Options(model=trial.model, base_url=job.base_url), os.environ)
    try:
        found = play_effect(job.effect, trial.planted != "none", predictor, job.seconds)
    except ModelError as error:
        if not is_prompt_too_long(error):
            return LostTrial(trial, format_study_error(error))
        found = Prediction(problem=f"no prediction: {type(error).__name__}")
    made = found or Prediction(problem="the case ended before this effect")
    return SurpriseResult(
        **asdict(trial),
        is_surprise=made.is_surprise,
        mismatches=made.mismatches,
        problem=made.problem,
        input_tokens=made.input_tokens,
        output_tokens=made.output_tokens,
        seconds=round(made.seconds, 2),
        started=started,
    )


def run_surprises(
    plan: SurprisePlan, effects: Sequence[PlantedEffect], show_line: ShowLine
) -> ExperimentSummary[SurpriseResults]:
    """Predict the remaining effects of a plan, each as it is and with its mistake."""
    jobs = [
        SurpriseJob(
            SurpriseTrial(effect.program, effect.case, effect.piece, planted, plan.model),
            effect,
            plan.base_url,
            plan.seconds,
        )
        for effect in effects
        for planted in ("none", effect.mutation.kind)
    ]
    return run_experiment(
        Experiment(
            "predictions",
            plan.out,
            plan.workers,
            jobs,
            answer_surprise,
            build_surprise_run(plan),
            read_surprises,
            lambda found: found.results,
            lambda found: refuse_other_values(
                found.runs, {"seed": plan.seed, "effects": plan.effects}
            ),
            name_trial,
            describe_result,
        ),
        show_line,
    )


def build_surprise_run(plan: SurprisePlan) -> SurpriseRun:
    """Return the line of a results file for this start."""
    return SurpriseRun(
        model=plan.model,
        effects=plan.effects,
        sample=plan.sample,
        seed=plan.seed,
        strata=STRATA,
        note=plan.note,
        **describe_start(plan.workers, "threads"),
    )


def name_trial(trial: SurpriseTrial) -> str:
    """Return a predicted effect in a few words."""
    return f"{trial.program} {trial.case} {trial.piece}, planted: {trial.planted}"


def describe_result(result: SurpriseResult) -> tuple[str, str]:
    """Return the text of a prediction and its usage."""
    found = "; ".join(result.mismatches)[:80] if result.is_surprise else "as predicted"
    return result.problem or found, f"{result.seconds:.1f} s"
