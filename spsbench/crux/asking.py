"""Ask one question of `spsbench crux`, and measure and judge the answer.

    answer_job(CruxJob(AnswerTrial("output", "direct", "sample_7", "openai/local", 1), problem))   ->  AnswerResult(...)

A job has all that it needs, so that it can run in another process or on another machine.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import asdict, dataclass
from typing import assert_never

from njrt.errors import ModelError, RejectedRequestError
from njrt.messages import Message, ModelMessage, Request, UserMessage
from njrt.models.choose import choose_model
from njrt.models.model import Model
from njrt.options import Options
from spsbench.crux.conversations import Question, ask_for_state, converse, score_state
from spsbench.crux.judge import Judge
from spsbench.crux.problems import CruxProblem, trace_problem
from spsbench.crux.results import (
    AnswerResult,
    AnswerTrial,
    CruxResult,
    CruxTrial,
    CruxUsage,
    StateResult,
    StateTrial,
)
from spsbench.script import SCRIPTED
from spsbench.states.actions import choose_step, find_target
from spsbench.states.trace import StateTrace
from spsbench.studies.study import format_study_error, is_prompt_too_long
from spsbench.trials.machine import read_timestamp
from spsbench.trials.workers import LostTrial

MAX_REPLY_TOKENS = 256
KEPT_REPLY_CHARS = 500


class AskingStoppedError(Exception):
    """The command was stopped before the question was asked: there is no result."""


@dataclass(frozen=True, slots=True)
class CruxJob:
    """A trial and everything that is needed to run it."""

    trial: CruxTrial
    problem: CruxProblem
    seed: int = 0
    temperature: float = 0.0
    max_steps: int = 40
    """Replies in one conversation."""
    seconds: float = 120.0
    """For one reply."""
    base_url: str | None = None


class Asker:
    """Asks a model, or gives the right replies (state: what it took so far)."""

    def __init__(self, job: CruxJob, stop: threading.Event | None) -> None:
        self._job = job
        self._stop = stop
        self._model: Model | None = None
        if job.trial.model != SCRIPTED:
            options = Options(model=job.trial.model, base_url=job.base_url)
            self._model = choose_model(options, os.environ)
        self._started = read_timestamp()
        self._calls = self._input = self._output = 0
        self._seconds = 0.0
        self.reply = ""

    def ask(self, question: Question) -> str:
        """Return the reply to a question; empty if the question is too long for the model.

        Raises:
            ModelError: there is no reply.
            AskingStoppedError: the command was stopped.
        """
        if self._stop is not None and self._stop.is_set():
            raise AskingStoppedError
        self._calls += 1
        if self._model is None:
            self.reply = question.right
            return self.reply
        messages: list[Message] = [
            ModelMessage(text) if number % 2 else UserMessage(text)
            for number, text in enumerate(question.messages)
        ]
        request = Request(
            question.system,
            tuple(messages),
            temperature=self._job.temperature,
            max_reply_tokens=MAX_REPLY_TOKENS,
            timeout=self._job.seconds,
        )
        began = time.perf_counter()
        try:
            reply = self._model.ask(request)
        except RejectedRequestError as error:
            if not is_prompt_too_long(error):
                raise
            self.reply = ""
            return self.reply
        finally:
            self._seconds += time.perf_counter() - began
        self._input += reply.usage.input
        self._output += reply.usage.output
        self.reply = reply.message.text
        return self.reply

    @property
    def kept_reply(self) -> str:
        """The last reply, cut."""
        return self.reply[:KEPT_REPLY_CHARS]

    @property
    def usage(self) -> CruxUsage:
        """What the questions took."""
        seconds = round(self._seconds, 3)
        return CruxUsage(self._calls, self._input, self._output, seconds, self._started)


def answer_job(job: CruxJob, stop: threading.Event | None = None) -> CruxResult | LostTrial:
    """Run a job; it is lost where the model's server fails. `stop` ends it early, with an `AskingStoppedError`."""
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
    problem, answer = job.problem, None
    conversation = converse(trial.task, trial.form, problem, trace, job.max_steps)
    try:
        question = next(conversation)
        while True:
            question = conversation.send(asker.ask(question))
    except StopIteration as end:
        answer = end.value
    passed = False
    if answer is not None:
        with Judge() as judge:
            passed = judge.accepts(problem.code, problem.output, answer)
    return AnswerResult(
        **asdict(trial), passed=passed, answer=answer, reply=asker.kept_reply, usage=asker.usage
    )


def make_step_seed(seed: int, trial: StateTrial) -> str:
    """Return the seed by which the step of a trial is chosen."""
    return f"{seed} {trial.problem} {trial.action} {trial.repeat}"


def _predict_state(asker: Asker, job: CruxJob, trial: StateTrial, trace: StateTrace) -> StateResult:
    step = choose_step(trace.states, trial.action, make_step_seed(job.seed, trial))
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
        reply=asker.kept_reply,
        usage=asker.usage,
    )
