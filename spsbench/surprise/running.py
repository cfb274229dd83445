"""One predicted effect as a job, for this machine or for a worker of a Dask cluster.

answer_surprise(SurpriseJob(trial, effect, "http://127.0.0.1:8000/v1"))      SurpriseResult(...), or LostTrial(...)
"""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass

from njrt.prediction import Prediction
from spsbench.studies.study_command import load_study_model
from spsbench.surprise.playing import PlantedEffect, play_effect
from spsbench.surprise.results import SurpriseResult, SurpriseTrial
from spsbench.trials.machine import read_timestamp
from spsbench.trials.workers import LostTrial

SETUP_ERROR = "no prediction:"
_turn = threading.Lock()
"""Cases of one process take turns: what a program prints is kept from the standard output of the process."""


@dataclass(frozen=True, slots=True)
class SurpriseJob:
    """A trial and everything that is needed to run it."""

    trial: SurpriseTrial
    effect: PlantedEffect
    base_url: str | None


def answer_surprise(
    job: SurpriseJob, stop: threading.Event | None = None
) -> SurpriseResult | LostTrial:
    """Predict the effect of a job; it is lost where the model cannot be asked. `stop` is for longer jobs."""
    trial, started = job.trial, read_timestamp()
    predictor = load_study_model(trial.model, {"NJC_BASE_URL": job.base_url or ""})
    assert predictor is not None
    with _turn:
        found = play_effect(job.effect, trial.planted != "none", predictor)
    if found is not None and found.problem.startswith(SETUP_ERROR):
        return LostTrial(trial, found.problem)
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
