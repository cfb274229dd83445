"""Run the program of a case study with a model and measure it.

played = run_study(lambda: program.solve("..."), model, METHODS["direct"], StudyLimits())
played.ending, played.value           "finished", 18.0
played.measures.model_seconds         2.41            waiting for the model
played.measures.own_seconds           0.0007          the program and our runtime
"""

from __future__ import annotations

import contextlib
import functools
import io
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import njrt
from njrt.errors import (
    AuthenticationError,
    ConfigurationError,
    ModelNotFoundError,
    NaturalError,
    NoModelError,
    RejectedRequestError,
)
from njrt.events import Event
from njrt.messages import ModelMessage, Reply, Request, ToolMessage
from njrt.models.model import Ask, LayeredModel, Model
from spsbench.llm import use_model
from spsbench.methods import Method
from spsbench.results import (
    BENCHMARK_KINDS,
    Measures,
    Results,
    StudyEnding,
    StudyResult,
    Timestamp,
    TrialLimits,
)
from spsbench.suite import load_manual_program, load_natural_program
from spsbench.trials.answering import InterpreterModel, RequestDefaults
from spsbench.trials.experiment import Experiment, run_experiment
from spsbench.trials.machine import read_timestamp

SETUP_ERRORS = (AuthenticationError, ConfigurationError, ModelNotFoundError, NoModelError)
"""Setup errors: no model can be asked."""
MAX_CONTEXT = 1_000_000
"""The maximum number of tokens in a prompt, as for the paper's GPT-4.1."""
CHARS_PER_TOKEN = 2.0
"""A lower bound, because prompts that are too long are mostly numbers and brackets."""


class PromptTooLongError(NaturalError):
    """A prompt is longer than the model's context and was not sent."""


@dataclass(frozen=True, slots=True)
class StudyLimits:
    """The limits of one run of a program."""

    effects: int = 100
    """The most effects in a block and the most model calls: 100 steps in the paper's case study."""
    seconds: float = 1000.0
    context: int = MAX_CONTEXT
    temperature: float | None = None
    """None: the vendor's default, or 0 for plain-text models, as in natural blocks."""


@dataclass(frozen=True, slots=True)
class StudyOutcome:
    """How a program ended, its result, and its usage."""

    started: Timestamp
    ending: StudyEnding
    value: Any
    """The value that the program returned."""
    error: str | None
    measures: Measures

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a `StudyResult` that do not depend on the study."""
        kept = {name: getattr(self, name) for name in ("started", "ending", "error")}
        return kept | asdict(self.measures)


@dataclass(slots=True)
class UsageCounter:
    """A layer that measures the calls of a program (state: the sums so far)."""

    context: int = MAX_CONTEXT
    """The maximum number of tokens in a prompt that is sent."""
    calls: int = 0
    seconds: float = 0.0
    input: int = 0
    cached: int = 0
    output: int = 0
    chars: int = 0
    cost: float | None = 0.0

    async def answer(self, request: Request, ask: Ask) -> Reply:
        """Ask the model and count the usage, or raise `PromptTooLongError`."""
        chars = count_characters(request)
        self.chars = max(self.chars, chars)
        if chars > self.context * CHARS_PER_TOKEN:
            raise PromptTooLongError(
                f"a prompt of {chars:,} characters is too long for {self.context:,} tokens"
            )
        self.calls += 1
        began = time.perf_counter()
        try:
            reply = await ask(request)
        finally:
            self.seconds += time.perf_counter() - began
        self.count(reply)
        return reply

    def count(self, reply: Reply) -> None:
        self.input += reply.usage.input
        self.cached += reply.usage.cached
        self.output += reply.usage.output
        usd = 0.0 if reply.source == "script" else reply.usage.usd
        self.cost = None if usd is None or self.cost is None else self.cost + usd

    def make_measures(self, seconds: float, effects: int) -> Measures:
        """Return all measures of a program run that took `seconds`."""
        own = round(max(0.0, seconds - self.seconds), 6)
        timed = (round(seconds, 6), round(self.seconds, 6), own)
        tokens = (self.input, self.cached, self.output)
        return Measures(*timed, self.calls, effects, *tokens, self.chars, self.cost)


def count_characters(request: Request) -> int:
    """Return the length of a conversation, in characters."""
    total = len(request.system)
    for message in request.messages:
        match message:
            case ModelMessage(text, calls):
                total += len(text) + sum(len(call.raw) for call in calls)
            case ToolMessage(results):
                total += sum(len(result.text) for result in results)
            case _:
                total += len(message.text)
    return total


@functools.cache
def load_study_program(name: str, file: str) -> ModuleType:
    """Return a case study's manual or natural program."""
    return load_manual_program(name) if file == "manual.py" else load_natural_program(name)


def run_study(
    action: Callable[[], Any], model: Model, method: Method, limits: StudyLimits
) -> StudyOutcome:
    """Run a program under a method; only `SETUP_ERRORS` are raised, other exceptions are results.

    The output of the model's code is not shown.
    """
    started = read_timestamp()
    temperature = limits.temperature
    if temperature is None and model.protocol == "text":
        temperature = 0.0
    counter = UsageCounter(limits.context)
    layered = LayeredModel(model, (counter, RequestDefaults(temperature, limits.seconds)))
    trial_limits = TrialLimits(limits.seconds, limits.effects, limits.effects)
    isolated: list[Event] = []
    answering = (
        InterpreterModel(layered, trial_limits, isolated.append)
        if method.has_interpreter
        else layered
    )
    options = method.settings
    ending: StudyEnding = "finished"
    value, message = None, None
    with (
        use_model(answering),
        njrt.using(
            model=layered,
            **options,
            cache=False,
            max_effects=limits.effects,
            max_calls=limits.effects,
            max_seconds=limits.seconds,
            max_call_seconds=limits.seconds,
        ),
        njrt.watch() as watch,
        contextlib.redirect_stdout(io.StringIO()),
    ):
        began = time.perf_counter()
        try:
            value = action()
        except SETUP_ERRORS:
            raise
        except Exception as error:
            ending = "too long" if is_prompt_too_long(error) else "raised"
            message = format_study_error(error)
        seconds = time.perf_counter() - began
    effects = len(isolated) + sum(len(run.effects) for run in watch.runs)
    return StudyOutcome(started, ending, value, message, counter.make_measures(seconds, effects))


def format_study_error(error: Exception) -> str:
    """Return an exception on one line, without server addresses, because results are published.

    For a time limit, the text names the commands' option `--seconds`.
    """
    line = f"{type(error).__name__}: {error}".split("\n")[0]
    line = line.replace("raise `max_call_seconds`", "raise --seconds")
    return re.sub(r" at https?://\S+", "", line)[:300]


def is_prompt_too_long(error: Exception) -> bool:
    """Return whether a request was rejected for its length, which vendors report only in text."""
    return isinstance(error, PromptTooLongError) or (
        isinstance(error, RejectedRequestError)
        and any(words in str(error) for words in ("context", "too long"))
    )


# ── common parts of the case study commands ───────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class StudyJob:
    """A trial, and the function that runs it."""

    trial: Any
    play: Callable[[Any], StudyResult]


def run_case_study(
    noun: str,
    out: Path | None,
    jobs: Sequence[StudyJob],
    format_results: Callable[[list[Any]], str],
) -> int:
    """Run the missing trials, print the table of all requested trials, and return the exit code."""

    def play(job: StudyJob, stop: threading.Event | None = None) -> StudyResult:
        return job.play(job.trial)

    def format_asked(found: Results) -> str:
        by_trial = {result.trial: result for result in found.results}
        return format_results([by_trial[job.trial] for job in jobs if job.trial in by_trial])

    return run_experiment(Experiment(noun, out, BENCHMARK_KINDS, jobs, play), format_asked)
