"""A run of `spsbench surprise`: the remaining effects are predicted, and each result is written at once.

run_surprises(plan, effects, show_line)                                      SurpriseSummary(results, left=0)
answer_surprise(SurpriseJob(trial, effect, "http://127.0.0.1:8000/v1"))      SurpriseResult(...), or LostTrial(...)
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from njrt.errors import ModelError
from njrt.models.choose import choose_model
from njrt.options import Options
from njrt.prediction import Prediction
from spsbench.journal import Journal
from spsbench.studies.study import format_study_error, is_prompt_too_long
from spsbench.surprise.playing import STRATA, PlantedEffect, play_effect
from spsbench.surprise.results import (
    SurpriseResult,
    SurpriseResults,
    SurpriseRun,
    SurpriseTrial,
    read_surprises,
)
from spsbench.trials.collecting import Workers, collect_results
from spsbench.trials.machine import describe_machine, read_timestamp
from spsbench.trials.progress import format_rest
from spsbench.trials.workers import LostTrial


class OtherEffectsError(ValueError):
    """A file has predictions of other effects or mistakes."""


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
class SurpriseSummary:
    """The state of a plan after a run."""

    results: SurpriseResults
    left: int
    problem: str
    """Why predictions are left, if some are."""


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
    plan: SurprisePlan, effects: Sequence[PlantedEffect], show_line: Callable[[str], None]
) -> SurpriseSummary:
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
    with Journal(plan.out, read_surprises) as journal:
        refuse_other_effects(plan, journal.results)
        known = {result.trial for result in journal.results.results}
        to_do = [job for job in jobs if job.trial not in known]
        before = len(jobs) - len(to_do)
        if to_do:
            journal.append(build_surprise_run(plan))

        def show(result: SurpriseResult | LostTrial, done: int, seconds_left: float) -> None:
            show_line(describe_surprise(result, before + done, len(jobs), seconds_left))

        found = collect_results(to_do, answer_surprise, journal, plan.workers, show)
    with plan.out.open(encoding="utf-8") as lines:
        results = read_surprises(lines)
    problem = found.lost[-1].reason if found.lost else ""
    return SurpriseSummary(results, len(to_do) - found.done, problem)


def refuse_other_effects(plan: SurprisePlan, results: SurpriseResults) -> None:
    """Raise `OtherEffectsError` where the mistakes of a file are not those of the plan."""
    for run in results.runs:
        for name in ("seed", "effects"):
            before, now = getattr(run, name), getattr(plan, name)
            if before != now:
                raise OtherEffectsError(
                    f"{plan.out} has predictions with {name} {before}, not {now}; use another --out"
                )


def build_surprise_run(plan: SurprisePlan) -> SurpriseRun:
    """Return the line of a results file for this start."""
    return SurpriseRun(
        started=read_timestamp(),
        model=plan.model,
        effects=plan.effects,
        sample=plan.sample,
        seed=plan.seed,
        strata=STRATA,
        note=plan.note,
        jobs=plan.workers.jobs or 1,
        executor="threads" if plan.workers.scheduler is None else "dask",
        **describe_machine(),
    )


def describe_surprise(
    result: SurpriseResult | LostTrial, number: int, total: int, seconds_left: float
) -> str:
    """One result as a line of progress."""
    trial = result.trial
    name = f"{trial.program} {trial.case} {trial.piece}, planted: {trial.planted}"
    if isinstance(result, LostTrial):
        return f"lost: {name}: {result.reason}"
    verdict = result.problem or (
        "; ".join(result.mismatches)[:80] if result.is_surprise else "as predicted"
    )
    return f"[{number}/{total}] {name}: {verdict} ({result.seconds:.1f} s{format_rest(number, total, seconds_left)})"
