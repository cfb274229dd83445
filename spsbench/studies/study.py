"""What the case studies have in common: a program is run before a model, and all that it takes is measured.

played = run_study(lambda: program.solve("..."), model, METHODS["direct"], Limits())
played.ending, played.value           "finished", 18.0
played.measures.model_seconds         2.41            waiting for the model
played.measures.own_seconds           0.0007          the program and our runtime
"""

from __future__ import annotations

import contextlib
import io
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

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
from njrt.models.choose import choose_model
from njrt.models.model import Ask, LayeredModel, Model
from njrt.options import Options
from spsbench.llm import use_model
from spsbench.methods import Method
from spsbench.results import TrialLimits as TrialLimits
from spsbench.trials.answering import InterpreterModel

StudyEnding = Literal["finished", "raised", "too long"]
"""How a program ended. `too long`: a prompt does not fit into the model's context, or so the server says."""
StudyValue = Any
"""What the program gave."""

SCRIPTED = "scripted"
SETUP_ERRORS = (AuthenticationError, ConfigurationError, ModelNotFoundError, NoModelError)
"""Errors that say nothing about a program, but that there is nobody to ask."""
CHARS_PER_TOKEN = 2.0
"""Characters of a token, at least: prompts that are too long are mostly numbers and brackets."""


class PromptTooLongError(NaturalError):
    """A prompt would not fit into the context of the model, so it was not sent."""


@dataclass(frozen=True, slots=True)
class StudyLimits:
    """What one run of a program may take."""

    effects: int = 100
    """Effects of a block, and calls of the model: the 100 steps of the paper's case study."""
    seconds: float = 1000.0
    context: int = 1_000_000
    """Tokens of a prompt; those of the paper's GPT-4.1."""
    temperature: float | None = None
    """By default the vendor's, and 0 for models that are asked in plain text, as natural blocks have it."""

    @property
    def trial_limits(self) -> TrialLimits:
        """The same, as far as the benchmark's own trials know it."""
        return TrialLimits(self.seconds, self.effects, self.effects)


@dataclass(frozen=True, slots=True)
class Measures:
    """What one run of a program took."""

    seconds: float
    """Wall time."""
    model_seconds: float
    """What of it was waiting for the model."""
    own_seconds: float
    """The rest: the program and our runtime."""
    calls: int
    effects: int
    input_tokens: int
    cached_tokens: int
    """Those of the input that the vendor had in its prompt cache."""
    output_tokens: int
    prompt_chars: int
    """Characters of the longest conversation that was sent, or would have been, had it not been too long."""
    cost: float | None
    """US dollars; None where no price is known."""


@dataclass(frozen=True, slots=True)
class StudyOutcome:
    """How a program ended, what it gave, and what it took."""

    ending: StudyEnding
    value: StudyValue
    error: str | None
    measures: Measures


@dataclass(slots=True)
class UsageCounter:
    """A layer that measures the calls of a program (state: what they took so far)."""

    limits: StudyLimits
    calls: int = 0
    seconds: float = 0.0
    input: int = 0
    cached: int = 0
    output: int = 0
    chars: int = 0
    cost: float | None = 0.0

    async def answer(self, request: Request, ask: Ask) -> Reply:
        """Ask, unless the prompt is too long, and count."""
        chars = count_characters(request)
        self.chars = max(self.chars, chars)
        if chars > self.limits.context * CHARS_PER_TOKEN:
            raise PromptTooLongError(
                f"a prompt of {chars:,} characters is too long for {self.limits.context:,} tokens"
            )
        if request.temperature is None:
            request = replace(request, temperature=self.limits.temperature)
        self.calls += 1
        began = time.perf_counter()
        try:
            reply = await ask(replace(request, timeout=self.limits.seconds))
        finally:
            self.seconds += time.perf_counter() - began
        self.count(reply)
        return reply

    def count(self, reply: Reply) -> None:
        """Add up what a reply used."""
        self.input += reply.usage.input
        self.cached += reply.usage.cached
        self.output += reply.usage.output
        usd = 0.0 if reply.source == "script" else reply.usage.usd
        self.cost = None if usd is None or self.cost is None else self.cost + usd

    def measures(self, seconds: float, effects: int) -> Measures:
        """All that was measured of a program that took so many seconds."""
        return Measures(
            round(seconds, 6),
            round(self.seconds, 6),
            round(max(0.0, seconds - self.seconds), 6),
            self.calls,
            effects,
            self.input,
            self.cached,
            self.output,
            self.chars,
            self.cost,
        )


def count_characters(request: Request) -> int:
    """How long a conversation is."""
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


def run_study(
    action: Callable[[], StudyValue], model: Model, method: Method, limits: StudyLimits
) -> StudyOutcome:
    """Run a program under a method. What its blocks or `llm` lead to is a result, exceptions too.

    What the model's code prints is not shown: it is not the study's output.
    Raises one of `SETUP_ERRORS` where there is nobody to ask.
    """
    if limits.temperature is None and model.protocol == "text":
        limits = replace(limits, temperature=0.0)
    meter = UsageCounter(limits)
    layered = LayeredModel(model, (meter,))
    isolated: list[Event] = []
    answering = (
        InterpreterModel(layered, limits.trial_limits, isolated.append)
        if method.has_interpreter
        else layered
    )
    ending: StudyEnding = "finished"
    value, words = None, None
    with (
        use_model(answering),
        njrt.using(
            model=layered,
            effects=method.effects,
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
            ending, words = classify_ending(error), format_study_error(error)
        seconds = time.perf_counter() - began
    effects = len(isolated) + sum(len(run.effects) for run in watch.runs)
    return StudyOutcome(ending, value, words, meter.measures(seconds, effects))


def format_study_error(error: Exception) -> str:
    """What went wrong, in a line, without the address of a server: results are shown around."""
    line = f"{type(error).__name__}: {error}".split("\n")[0]
    return re.sub(r" at https?://\S+", "", line)[:300]


def classify_ending(error: Exception) -> StudyEnding:
    """How an exception ends a program: by the length of a prompt, or otherwise."""
    is_too_long = isinstance(error, PromptTooLongError) or (
        isinstance(error, RejectedRequestError) and "context" in str(error)
    )
    return "too long" if is_too_long else "raised"


def load_study_model(name: str, environ: Mapping[str, str]) -> Model | None:
    """The model of a name, at NJC_BASE_URL if that is set; None where a script is to answer."""
    if name == SCRIPTED:
        return None
    return choose_model(Options(model=name, base_url=environ.get("NJC_BASE_URL")), environ)
