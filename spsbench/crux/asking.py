"""Ask one question of `spsbench crux`, and measure and judge the answer.

    list_jobs(run, problems, 120.0, None)     [CruxJob(AnswerTrial("output", "direct", "sample_7", ...), ...), ...]
    answer_job(CruxJob(AnswerTrial("output", "direct", "sample_7", "openai/local"), problem, run, ...))   ->  AnswerResult(...)

A job contains everything it needs, so it can run in another process or on another machine.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, assert_never

import click

from njrt.errors import ModelError, RejectedRequestError
from njrt.messages import Request, UserMessage
from njrt.models.model import LayeredModel
from spsbench import flags
from spsbench.crux.judge import Judge
from spsbench.crux.problems import (
    STRATA,
    CruxProblem,
    read_problems,
    sample_problems,
    trace_problem,
)
from spsbench.crux.questions import (
    Question,
    ask_for_state,
    find_answer,
    make_question,
    score_state,
)
from spsbench.crux.results import (
    CRUX_KINDS,
    FORMS,
    TASKS,
    AnswerResult,
    AnswerTrial,
    CruxResult,
    CruxRun,
    CruxTrial,
    CruxUsage,
    StateResult,
    StateTrial,
)
from spsbench.crux.tables import render_crux_report, render_crux_text
from spsbench.journal import compute_digest, read_results_file
from spsbench.states.actions import ACTIONS, Action, choose_step, find_target, list_steps
from spsbench.states.trace import StateTrace
from spsbench.studies.study import UsageCounter, format_study_error, is_prompt_too_long
from spsbench.trials.answering import RequestDefaults, load_model
from spsbench.trials.executing import refuse_unknown_model
from spsbench.trials.experiment import Experiment, run_experiment
from spsbench.trials.machine import read_timestamp
from spsbench.trials.workers import LostTrial, Workers

MAX_REPLY_TOKENS = 256
KEPT_REPLY_CHARS = 500


class AskingStoppedError(Exception):
    """The command was stopped before the question was sent, so the trial has no result."""


@dataclass(frozen=True, slots=True)
class CruxJob:
    """A trial and everything needed to run it."""

    trial: CruxTrial
    problem: CruxProblem
    run: CruxRun
    seconds: float
    """The time limit for one reply."""
    base_url: str | None


class Asker:
    """Asks a model, or returns the right replies itself (state: the usage so far)."""

    def __init__(self, job: CruxJob, stop: threading.Event | None) -> None:
        self._counter, self._stop = UsageCounter(), stop
        defaults = RequestDefaults(job.run.temperature, job.seconds)
        model = load_model(job.trial.model, job.base_url)
        self._model = model and LayeredModel(model, (self._counter, defaults))
        self._started = read_timestamp()

    def ask(self, question: Question) -> str:
        """Return the reply to a question; empty if the question is too long for the model.

        Raises ModelError if the model does not reply, and AskingStoppedError if the command was stopped.
        """
        if self._stop is not None and self._stop.is_set():
            raise AskingStoppedError
        if self._model is None:
            self._counter.calls += 1
            return question.right
        message = UserMessage(question.text)
        request = Request(question.system, (message,), max_reply_tokens=MAX_REPLY_TOKENS)
        try:
            return self._model.ask(request).message.text
        except RejectedRequestError as error:
            if not is_prompt_too_long(error):
                raise
            return ""

    @property
    def usage(self) -> CruxUsage:
        used = self._counter
        return CruxUsage(used.calls, used.input, used.output, round(used.seconds, 3), self._started)


def answer_job(job: CruxJob, stop: threading.Event | None = None) -> CruxResult | LostTrial:
    """Run a job; it is lost if the model's server fails. Setting `stop` ends it early with `AskingStoppedError`."""
    trace = trace_problem(job.problem)
    try:
        match job.trial:
            case AnswerTrial():
                return _answer_problem(Asker(job, stop), job, job.trial, trace)
            case StateTrial():
                return _predict_state(Asker(job, stop), job, job.trial, trace)
            case _:
                assert_never(job.trial)
    except ModelError as error:
        return LostTrial(job.trial, format_study_error(error))


def _answer_problem(
    asker: Asker, job: CruxJob, trial: AnswerTrial, trace: StateTrace
) -> AnswerResult:
    problem = job.problem
    reply = asker.ask(make_question(trial.task, trial.form, problem, trace))
    answer = find_answer(trial.task, trial.form, problem, reply)
    passed = False
    if answer is not None:
        with Judge() as judge:
            passed = judge.accepts(problem.code, problem.output, answer)
    return AnswerResult(
        **asdict(trial),
        passed=passed,
        answer=answer,
        reply=reply[:KEPT_REPLY_CHARS],
        usage=asker.usage,
    )


def _predict_state(asker: Asker, job: CruxJob, trial: StateTrial, trace: StateTrace) -> StateResult:
    # The number was that of a repeat: with it, the published steps are drawn again.
    seed = f"{job.run.seed} {trial.problem} {trial.action} 1"
    step = choose_step(trace.states, trial.action, seed)
    assert step is not None, "a trial is planned only if there is a step"
    target = find_target(trace.states, step)
    assert target is not None, "a step leads to a state"
    reply = asker.ask(ask_for_state(trace, step))
    return StateResult(
        **asdict(trial),
        index=step.index,
        line=step.line,
        depth=trace.states[step.index].depth,
        distance=abs(target - step.index),
        score=score_state(trace, step, reply),
        reply=reply[:KEPT_REPLY_CHARS],
        usage=asker.usage,
    )


# ── the trials of a run ────────────────────────────────────────────────────────────────────────────


TraceProblem = Callable[[CruxProblem], StateTrace]


def list_jobs(
    run: CruxRun, problems: Mapping[str, CruxProblem], seconds: float, base_url: str | None
) -> list[CruxJob]:
    """Return all trials of a run, in order; `InputError` names a problem that cannot be used."""
    trace = functools.cache(trace_problem)
    trials = list(list_trials(run, sample_problems(problems, None, run.seed), trace))
    for name in dict.fromkeys(trial.problem for trial in trials):
        trace(problems[name])  # report an unusable problem before the first question
    return [CruxJob(trial, problems[trial.problem], run, seconds, base_url) for trial in trials]


def list_trials(
    run: CruxRun, problems: Sequence[CruxProblem], trace: TraceProblem
) -> Iterator[CruxTrial]:
    """Yield all trials of a run, in order; `problems` are in the order of the sample."""
    tasks = [task for task in TASKS if task in run.tasks]
    answers = problems[: run.sample] if tasks else []
    steps = _choose_problems_with_steps(run, problems, trace) if "states" in run.tasks else []
    for problem, states in zip_longest(answers, steps):
        if problem is not None:
            for task in tasks:
                for form in run.forms:
                    yield AnswerTrial(task, form, problem.id, run.model)
        for action, name in states or ():
            yield StateTrial(action, name, run.model)


def _choose_problems_with_steps(
    run: CruxRun, problems: Sequence[CruxProblem], trace: TraceProblem
) -> list[list[tuple[Action, str]]]:
    """Return rounds that pair each action with a problem; an action takes the first problems with such a step."""
    columns: dict[Action, list[tuple[Action, str]]] = {action: [] for action in ACTIONS}
    for problem in problems:
        wanting = [action for action in ACTIONS if len(columns[action]) < run.states]
        if not wanting:
            break
        states = trace(problem).states
        for action in wanting:
            if list_steps(states, action):
                columns[action].append((action, problem.id))
    rows = zip_longest(*columns.values())
    return [[pair for pair in row if pair is not None] for row in rows]


# ── the files and the run that the command's flags request ───────────────────────────────────────


def report_results(file: Path) -> None:
    """Print the report on a results file."""
    digest = compute_digest(file.read_bytes())
    report = render_crux_report(read_results_file(file, CRUX_KINDS), file.name, digest)
    click.echo(report, nl=False)


def ask_questions(values: Mapping[str, Any]) -> int:
    """Ask the remaining questions, print the tables, and return the exit code."""
    workers = Workers(values["jobs"])
    problems, digest = read_problems(values["data"])
    run = build_run(values, problems, digest, workers)
    jobs = list_jobs(run, problems, values["seconds"], os.environ.get("NJC_BASE_URL"))
    compared = ("data", "seed", "temperature")
    questions = Experiment(
        "questions", values["out"], CRUX_KINDS, jobs, answer_job, run, compared, workers
    )
    return run_experiment(questions, render_crux_text)


def build_run(
    values: Mapping[str, Any], problems: Mapping[str, CruxProblem], digest: str, workers: Workers
) -> CruxRun:
    """Return the run that the flags request on the problems of the file with this digest."""
    flags.require_model(values["model"])
    refuse_unknown_model(values["model"])
    tasks = flags.list_names(values["tasks"], (*TASKS, "states"), "task")
    forms: Any = flags.list_names(values["forms"], FORMS, "form")
    return CruxRun(
        tasks=tasks,
        forms=forms,
        problems=len(problems),
        data=digest,
        sample=min(values["sample"] or len(problems), len(problems)),
        states=values["states"] if "states" in tasks else 0,
        strata=STRATA,
        **{name: values[name] for name in ("model", "seed", "temperature", "note")},
        **workers.describe_start(),
    )
