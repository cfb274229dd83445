"""Ask one question of `spsbench crux`, and measure and judge the answer.

    list_jobs(run, problems, 120.0, None)     [CruxJob(AnswerTrial("output", "direct", "sample_7", ...), ...), ...]
    answer_job(CruxJob(AnswerTrial("output", "direct", "sample_7", "openai/local", 1), problem, run, ...))   ->  AnswerResult(...)

A job has all that it needs, so that it can run in another process or on another machine.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import assert_never

from njrt.errors import ModelError, RejectedRequestError
from njrt.messages import ModelMessage, Request, UserMessage
from njrt.models.choose import choose_model
from njrt.models.model import LayeredModel, Model
from njrt.options import Options
from spsbench.crux.conversations import Question, ask_for_state, converse, score_state
from spsbench.crux.judge import Judge
from spsbench.crux.problems import CruxProblem, sample_problems, trace_problem
from spsbench.crux.results import (
    AnswerResult,
    AnswerTrial,
    CruxResult,
    CruxRun,
    CruxTrial,
    CruxUsage,
    StateResult,
    StateTrial,
)
from spsbench.crux.scoring import CruxTask
from spsbench.script import SCRIPTED
from spsbench.states.actions import ACTIONS, Action, choose_step, find_target, list_steps
from spsbench.states.trace import StateTrace
from spsbench.studies.study import (
    StudyLimits,
    UsageCounter,
    answer_all,
    format_study_error,
    is_prompt_too_long,
)
from spsbench.trials.machine import read_timestamp
from spsbench.trials.workers import LostTrial

MAX_REPLY_TOKENS = 256
KEPT_REPLY_CHARS = 500


class AskingStoppedError(Exception):
    """The command was stopped before the question was asked: the trial has no result."""


@dataclass(frozen=True, slots=True)
class CruxJob:
    """A trial and everything that is needed to run it."""

    trial: CruxTrial
    problem: CruxProblem
    run: CruxRun
    seconds: float
    """For one reply."""
    base_url: str | None


class Asker:
    """Asks a model, or returns the right replies (state: the last reply, and the usage so far)."""

    def __init__(self, job: CruxJob, stop: threading.Event | None) -> None:
        limits = StudyLimits(seconds=job.seconds, temperature=job.run.temperature)
        self._counter, self._stop = UsageCounter(limits), stop
        self._model: Model | None = None
        if job.trial.model != SCRIPTED:
            options = Options(model=job.trial.model, base_url=job.base_url)
            model = choose_model(options, os.environ)
            self._model = LayeredModel(model, (self._counter,))
        self._started = read_timestamp()
        self.reply = ""

    def ask(self, question: Question) -> str:
        """Return the reply to a question; empty if the question is too long for the model.

        Raises ModelError if the model does not reply, and AskingStoppedError if the command was stopped.
        """
        if self._stop is not None and self._stop.is_set():
            raise AskingStoppedError
        if self._model is None:
            self._counter.calls += 1
            self.reply = question.right
            return self.reply
        messages = tuple(
            ModelMessage(text) if number % 2 else UserMessage(text)
            for number, text in enumerate(question.messages)
        )
        request = Request(question.system, messages, max_reply_tokens=MAX_REPLY_TOKENS)
        try:
            self.reply = self._model.ask(request).message.text
        except RejectedRequestError as error:
            if not is_prompt_too_long(error):
                raise
            self.reply = ""
        return self.reply

    @property
    def usage(self) -> CruxUsage:
        used = self._counter
        return CruxUsage(used.calls, used.input, used.output, round(used.seconds, 3), self._started)


def answer_job(job: CruxJob, stop: threading.Event | None = None) -> CruxResult | LostTrial:
    """Run a job; it is lost if the model's server fails. `stop` ends it early, with an `AskingStoppedError`."""
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
    conversation = converse(trial.task, trial.form, problem, trace, job.run.max_steps)
    answer = answer_all(conversation, asker.ask)
    passed = False
    if answer is not None:
        with Judge() as judge:
            passed = judge.accepts(problem.code, problem.output, answer)
    return AnswerResult(
        **asdict(trial),
        passed=passed,
        answer=answer,
        reply=asker.reply[:KEPT_REPLY_CHARS],
        usage=asker.usage,
    )


def _predict_state(asker: Asker, job: CruxJob, trial: StateTrial, trace: StateTrace) -> StateResult:
    seed = f"{job.run.seed} {trial.problem} {trial.action} {trial.repeat}"
    step = choose_step(trace.states, trial.action, seed)
    assert step is not None, "a trial is planned only where there is a step"
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
        reply=asker.reply[:KEPT_REPLY_CHARS],
        usage=asker.usage,
    )


# ── the trials of a run ────────────────────────────────────────────────────────────────────────────


TASKS: tuple[CruxTask, ...] = ("output", "input")
TraceProblem = Callable[[CruxProblem], StateTrace]


def list_jobs(
    run: CruxRun, problems: Mapping[str, CruxProblem], seconds: float, base_url: str | None
) -> list[CruxJob]:
    """Return all trials of a run, in order; `InputError` names a problem that cannot be used."""
    trace = functools.cache(trace_problem)
    trials = list(list_trials(run, sample_problems(problems, None, run.seed), trace))
    for name in dict.fromkeys(trial.problem for trial in trials):
        trace(problems[name])  # a problem that cannot be used is named before the first question
    return [CruxJob(trial, problems[trial.problem], run, seconds, base_url) for trial in trials]


def list_trials(
    run: CruxRun, problems: Sequence[CruxProblem], trace: TraceProblem
) -> Iterator[CruxTrial]:
    """Yield all trials of a run, in order; `problems` are in the order of the sample."""
    tasks = [task for task in TASKS if task in run.tasks]
    answers = problems[: run.sample] if tasks else []
    steps = _choose_problems_with_steps(run, problems, trace) if "states" in run.tasks else []
    for repeat in range(1, run.repeats + 1):
        for problem, states in zip_longest(answers, steps):
            if problem is not None:
                for task in tasks:
                    for form in run.forms:
                        yield AnswerTrial(task, form, problem.id, run.model, repeat)
            for action, name in states or ():
                yield StateTrial(action, name, run.model, repeat)


def _choose_problems_with_steps(
    run: CruxRun, problems: Sequence[CruxProblem], trace: TraceProblem
) -> list[list[tuple[Action, str]]]:
    """Return, for each number up to the wanted one, the actions and the problem of each: the first that have a step."""
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
