"""A run of `spsbench suite`: the trials that its file lacks are played, and each result is written at once.

    run_suite(plan, tasks, Path("suite.jsonl"), show)    ->  ExperimentSummary(results, done=27, left=0)

All forms of a task are played before the next task: a run that is stopped early has compared the forms on the same tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from njrt.models.model import Model
from spsbench.experiment import (
    Experiment,
    ExperimentSummary,
    ShowLine,
    describe_start,
    refuse_other_values,
    run_experiment,
)
from spsbench.sampling import order_by_strata
from spsbench.suites.forms import FORMS
from spsbench.suites.playing import SuiteJob, play_job
from spsbench.suites.results import (
    FormName,
    SuiteLimits,
    SuiteName,
    SuiteResult,
    SuiteResults,
    SuiteRun,
    SuiteTrial,
    read_suite_results,
)
from spsbench.suites.task import SuiteTask
from spsbench.trials.collecting import Workers


@dataclass(frozen=True, slots=True)
class SuitePlan:
    """What to play, and how."""

    suite: SuiteName
    forms: tuple[FormName, ...]
    model: str
    asked: Model | None
    """None: a script that knows the ground truth."""
    limits: SuiteLimits = field(default_factory=SuiteLimits)
    sample: int | None = None
    seed: int = 1
    repeats: int = 1
    keep: Path | None = None
    note: str = ""


def run_suite(
    plan: SuitePlan, tasks: Sequence[SuiteTask], out: Path, show_line: ShowLine
) -> ExperimentSummary[SuiteResults]:
    """Play the remaining trials of a plan."""
    workers = Workers()
    compared = {"suite": plan.suite, "model": plan.model, "limits": plan.limits}
    experiment: Experiment[SuiteJob, SuiteResult, SuiteResults] = Experiment(
        "tasks",
        out,
        workers,
        list_jobs(plan, tasks),
        play_job,
        build_run(plan, len(tasks), workers),
        read_suite_results,
        lambda found: found.results,
        lambda found: refuse_other_values(found.runs, compared),
        name_trial,
        describe_result,
    )
    return run_experiment(experiment, show_line)


def list_jobs(plan: SuitePlan, tasks: Sequence[SuiteTask]) -> list[SuiteJob]:
    """Return all trials: repeat by repeat, task by task, form by form."""
    by_name = {task.name: task for task in tasks}
    order = order_by_strata({task.name: task.stratum for task in tasks}, Random(plan.seed).random)
    return [
        SuiteJob(
            SuiteTrial(plan.suite, name, form, plan.model, repeat),
            by_name[name],
            plan.limits,
            plan.asked,
            plan.keep,
        )
        for repeat in range(1, plan.repeats + 1)
        for name in order[: plan.sample]
        for form in plan.forms
        if FORMS[form].takes_tools or not by_name[name].open().tools
    ]


def build_run(plan: SuitePlan, tasks: int, workers: Workers) -> SuiteRun:
    """Return the line of a results file for this start."""
    return SuiteRun(
        suite=plan.suite,
        model=plan.model,
        forms=plan.forms,
        tasks=tasks,
        sample=plan.sample,
        seed=plan.seed,
        repeats=plan.repeats,
        limits=plan.limits,
        note=plan.note,
        **describe_start(workers, "threads"),
    )


def name_trial(trial: SuiteTrial) -> str:
    """Return a trial in a few words."""
    return f"{trial.task} {trial.form} #{trial.repeat}"


def describe_result(result: SuiteResult) -> tuple[str, str]:
    """Return the verdict on a task, and its cost."""
    tokens = f"{result.input_tokens:,} + {result.output_tokens:,} tokens"
    verdict = "right" if result.passed else result.error or "wrong"
    return verdict[:100], f"{result.calls} calls, {tokens}, {result.seconds:.1f} s"
