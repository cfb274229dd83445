"""A run of `spsbench suite`: the trials that its file lacks are played, and each result is written at once.

    run_suite(plan, tasks, Path("suite.jsonl"), show)    ->  ExperimentSummary(results, done=27, left=0)

All forms of a task are played before the next task: a run that is stopped early has compared the forms on the same tasks.
"""

from __future__ import annotations

import contextlib
import io
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from njrt.errors import LimitError, ModelError, ReplyError, ServerError, TimeLimitError
from njrt.message_json import format_json_line
from njrt.messages import Reply, Request
from njrt.models.model import Ask, LayeredModel, Model
from spsbench.experiment import (
    Experiment,
    ExperimentSummary,
    ShowLine,
    describe_start,
    refuse_other_values,
    run_experiment,
)
from spsbench.sampling import order_by_strata
from spsbench.studies.study import (
    SETUP_ERRORS,
    StudyLimits,
    UsageCounter,
    format_study_error,
    is_prompt_too_long,
)
from spsbench.suites.forms import FORMS, make_right_model
from spsbench.suites.task import (
    FormName,
    Played,
    SuiteEnding,
    SuiteLimits,
    SuiteName,
    SuiteResult,
    SuiteResults,
    SuiteRun,
    SuiteTask,
    SuiteTrial,
    read_suite_results,
)
from spsbench.trials.collecting import Workers
from spsbench.trials.machine import read_timestamp
from spsbench.trials.workers import LostTrial


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


# ── one task in one form: played, measured, judged ─────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class SuiteJob:
    """A trial and its ingredients."""

    trial: SuiteTrial
    task: SuiteTask
    limits: SuiteLimits
    model: Model | None
    """None: a script that knows the ground truth."""
    keep: Path | None = None


@dataclass(slots=True)
class TimeLimit:
    """A layer that ends a task when its seconds are used."""

    ends: float

    async def answer(self, request: Request, ask: Ask) -> Reply:
        """Ask with the time that is left, or raise `TimeLimitError`."""
        left = self.ends - time.monotonic()
        try:
            if left > 0:
                return await ask(replace(request, timeout=left))
        except ServerError:
            if time.monotonic() < self.ends:
                raise
        raise TimeLimitError("the seconds of the task are used; raise --seconds")


@dataclass(slots=True)
class Transcript:
    """A layer that writes a conversation (state: the file)."""

    path: Path

    async def answer(self, request: Request, ask: Ask) -> Reply:
        """Ask, and add a line to the file."""
        reply = await ask(request)
        self.write(
            system=request.system,
            tools=[tool.name for tool in request.tools],
            messages=[asdict(message) for message in request.messages],
            reply=asdict(reply.message),
        )
        return reply

    def write(self, **line: Any) -> None:
        """Add a line to the file."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(format_json_line(line) + "\n")


def open_transcript(job: SuiteJob) -> Transcript | None:
    """Return the transcript of a trial, its file empty, if transcripts are kept."""
    if job.keep is None:
        return None
    trial = job.trial
    folder = job.keep / trial.suite / trial.task.replace("/", "-") / trial.form
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{trial.repeat}.jsonl"
    path.unlink(missing_ok=True)
    return Transcript(path)


def play_job(job: SuiteJob, stop: threading.Event | None = None) -> SuiteResult | LostTrial:
    """Play a task; it is lost if the model's server fails. `stop` is not looked at, because a task has a limit."""
    form, task, limits = FORMS[job.trial.form], job.task, job.limits
    started, began = read_timestamp(), time.monotonic()
    counter = UsageCounter(StudyLimits(seconds=limits.seconds, temperature=limits.temperature))
    transcript = open_transcript(job)
    layers = (counter, TimeLimit(began + limits.seconds), *((transcript,) if transcript else ()))
    model = LayeredModel(job.model or make_right_model(form, task), layers)
    bench = task.open()
    ending: SuiteEnding = "finished"
    value, problem = None, None
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            value = form.play(task, bench, model, limits)
    except SETUP_ERRORS:
        raise
    except Exception as error:
        ending, problem = classify_ending(error), format_study_error(error)
        if (
            ending == "raised"
            and isinstance(error, ModelError)
            and not isinstance(error, ReplyError)
        ):
            return LostTrial(job.trial, problem)
    passed = ending == "finished" and task.judge(Played(bench.log.turns, value))
    if transcript:
        transcript.write(calls=bench.log.turns, value=repr(value), passed=passed, error=problem)
    return SuiteResult(
        **asdict(job.trial),
        passed=passed,
        ending=ending,
        error=problem,
        calls=counter.calls,
        tool_calls=sum(map(len, bench.log.turns)),
        input_tokens=counter.input,
        output_tokens=counter.output,
        seconds=round(time.monotonic() - began, 3),
        model_seconds=round(counter.seconds, 3),
        started=started,
    )


def classify_ending(error: Exception) -> SuiteEnding:
    """Return how a task ended that an exception has ended."""
    if is_prompt_too_long(error):
        return "too long"
    return "limit" if isinstance(error, LimitError) else "raised"
