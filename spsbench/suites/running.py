"""A run of `spsbench suite`: in each trial, a task in one form is played, measured and judged.

list_jobs(run, tasks, model, keep=None)    [SuiteJob(SuiteTrial("mtp", "math_problem", "json", ...), ...), ...]
play_job(job)                              SuiteResult(passed=True, ...)
"""

from __future__ import annotations

import contextlib
import io
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import click

from njrt.errors import LimitError, ModelError, ReplyError, ServerError, TimeLimitError
from njrt.message_json import format_json_line
from njrt.messages import Reply, Request
from njrt.models.model import Ask, LayeredModel, Model
from spsbench import flags
from spsbench.sampling import draw_sample
from spsbench.studies.study import (
    SETUP_ERRORS,
    UsageCounter,
    format_study_error,
    is_prompt_too_long,
)
from spsbench.suites.bfcl import load_bfcl_tasks
from spsbench.suites.forms import FORMS, make_right_model
from spsbench.suites.m3 import load_m3_tasks
from spsbench.suites.mtp import load_mtp_tasks
from spsbench.suites.table import REPORT
from spsbench.suites.task import (
    SUITE_KINDS,
    Played,
    SuiteEnding,
    SuiteLimits,
    SuiteName,
    SuiteResult,
    SuiteRun,
    SuiteTask,
    SuiteTrial,
)
from spsbench.trials.answering import RequestDefaults, load_model
from spsbench.trials.experiment import Experiment, run_experiment
from spsbench.trials.machine import read_timestamp
from spsbench.trials.workers import LostTrial, Workers


def list_jobs(
    run: SuiteRun, tasks: Sequence[SuiteTask], model: Model | None, keep: Path | None
) -> list[SuiteJob]:
    """Return all trials of a run, by repeat, then task, then form.

    A run that is stopped early has thus compared all forms on the same tasks. Without a model, a script replies.
    """
    uniform = Random(run.seed).random
    chosen = draw_sample(
        tasks, lambda task: task.name, lambda task: task.stratum, run.sample, uniform
    )
    return [
        SuiteJob(
            SuiteTrial(run.suite, task.name, form, run.model, repeat), task, run.limits, model, keep
        )
        for repeat in range(1, run.repeats + 1)
        for task in chosen
        for form in run.forms
        if FORMS[form].takes_tools or not task.open().tools
    ]


# ── one task in one form: played, measured, judged ─────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class SuiteJob:
    """A trial and everything needed to run it."""

    trial: SuiteTrial
    task: SuiteTask
    limits: SuiteLimits
    model: Model | None
    """None: a script replies with the ground truth."""
    keep: Path | None = None


@dataclass(slots=True)
class TimeLimit:
    """A layer that ends a task when its time is used up."""

    ends: float

    async def answer(self, request: Request, ask: Ask) -> Reply:
        """Ask with the remaining time as the limit, or raise `TimeLimitError`."""
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
    """A layer that writes the conversation to a file (state: the file)."""

    path: Path

    async def answer(self, request: Request, ask: Ask) -> Reply:
        reply = await ask(request)
        self.write(
            system=request.system,
            tools=[tool.name for tool in request.tools],
            messages=[asdict(message) for message in request.messages],
            reply=asdict(reply.message),
        )
        return reply

    def write(self, **line: Any) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(format_json_line(line) + "\n")


def open_transcript(job: SuiteJob) -> Transcript | None:
    """Return the transcript of a trial, with an empty file, if transcripts are kept."""
    if job.keep is None:
        return None
    trial = job.trial
    folder = job.keep / trial.suite / trial.task.replace("/", "-") / trial.form
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{trial.repeat}.jsonl"
    path.unlink(missing_ok=True)
    return Transcript(path)


def play_job(job: SuiteJob, stop: threading.Event | None = None) -> SuiteResult | LostTrial:
    """Play a task; it is lost if the model's server fails. `stop` is ignored, because tasks have a time limit."""
    form, task, limits = FORMS[job.trial.form], job.task, job.limits
    started, began = read_timestamp(), time.monotonic()
    counter, transcript = UsageCounter(), open_transcript(job)
    temperature, time_limit = RequestDefaults(limits.temperature), TimeLimit(began + limits.seconds)
    layers = (counter, temperature, time_limit, *((transcript,) if transcript else ()))
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
        problem = format_study_error(error)
        ending = "limit" if isinstance(error, LimitError) else "raised"
        ending = "too long" if is_prompt_too_long(error) else ending
        is_lost = isinstance(error, ModelError) and not isinstance(error, ReplyError)
        if ending == "raised" and is_lost:
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


# ── the run that the command's flags request ─────────────────────────────────────────────────────


def play_suite(values: Mapping[str, Any]) -> int:
    """Play the remaining tasks that the flags request, print the tables, and return the exit code."""
    tasks = load_tasks(values["suite"], values["data"])
    run = build_run(values, len(tasks))
    model = load_model(run.model, os.environ.get("NJC_BASE_URL"))
    jobs = list_jobs(run, tasks, model, values["keep"])
    compared = ("suite", "model", "limits")
    played = Experiment("runs", values["out"], SUITE_KINDS, jobs, play_job, run, compared)
    return run_experiment(played, REPORT.format_text)


def build_run(values: Mapping[str, Any], tasks: int) -> SuiteRun:
    """Return the run that the flags request, on a suite with this number of tasks."""
    flags.require_model(values["model"])
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
    if suite == "bfcl":
        return load_bfcl_tasks()
    if folder is None:
        raise click.UsageError(f"--data names the folder of {suite}")
    return load_m3_tasks(folder) if suite == "m3" else load_mtp_tasks(folder)
