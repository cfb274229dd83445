"""Carrying out a trial, in the process that it has for itself.

    play(job, folder, say)

    {"built": 0.12}                                                      said, line by line, as it comes:
    {"case": "one", "checks": {"one sushi is sold": true, ...}, "error": null, "seconds": 2.3}
    {"ending": "finished"}

Beside that there is a trace for each case, and one of the building, in the folder. So a trial that is killed
has still told what it came to.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import njrt
from njrt.errors import NaturalError
from njrt.messages import Json
from njrt.models.choose import choose_model
from njrt.models.model import Layer, LayeredModel, Model
from njrt.models.scripted import Scripted
from njrt.observability.listeners import Notified
from njrt.observability.trace import TraceFile
from njrt.options import Options
from njrt.persistence.cache import Cache
from njrt.persistence.store import Store
from spsbench.checks import CheckResult, check_case
from spsbench.llm import use_model
from spsbench.methods import METHODS, Method
from spsbench.perfect import make_perfect_model
from spsbench.script import make_manual_replies
from spsbench.suite import load_script, load_task
from spsbench.task import Case
from spsbench.trials.answering import CostLimit, InterpreterModel, RequestDefaults, TrialCache
from spsbench.trials.building import NotBuiltError, build_program
from spsbench.trials.job import Job

WriteReportLine = Callable[[Json], None]

BUILD_TRACE = "build.trace.jsonl"
PLACEHOLDER_REPLY = "```python\nllm('')\n```"
"""What a scripted model writes for a block in the mode `auto`: code that leaves it to the live block."""


def make_case_trace_name(number: int) -> str:
    """The name of the trace of a case, in the order of the task."""
    return f"case-{number}.trace.jsonl"


def run_trial(job: Job, folder: Path, say: WriteReportLine) -> None:
    """Build the program, play its cases, and say what comes of each."""
    stage = TrialRunner(
        job, METHODS[job.trial.method], folder, *_make_model_and_layers(job, folder)
    )
    program = stage.build(say)
    has_raised = False
    for number, case in enumerate(load_task(job.trial.program).cases if program else ()):
        assert program is not None
        began = time.monotonic()
        results = stage.played(number, case, program)
        if stage.is_spent:
            break
        error = next((result.error for result in results if result.error), None)
        has_raised = has_raised or error is not None
        checks = {result.check: result.passed for result in results}
        seconds = time.monotonic() - began
        say({"case": case.name, "checks": checks, "error": error, "seconds": seconds})
    if stage.is_spent:
        say({"ending": "cost limit"})
    elif program:
        say({"ending": "raised" if has_raised else "finished"})


@dataclass(frozen=True, slots=True)
class TrialRunner:
    """Where the cases of a trial are played: under its method, before its model."""

    job: Job
    method: Method
    folder: Path
    model: Model | None
    """None where each case has a script of its own."""
    layers: tuple[Layer, ...]

    @property
    def is_spent(self) -> bool:
        """Whether something was not asked any more, for want of money; the program may have hidden it."""
        return any(isinstance(layer, CostLimit) and layer.has_refused for layer in self.layers)

    def build(self, say: WriteReportLine) -> ModuleType | None:
        """Make the program, and say how long that took, or why there is none."""
        began = time.monotonic()
        try:
            with self.building():
                program = build_program(
                    self.job.trial.program, self.method, self.folder / "programs"
                )
        except (NotBuiltError, NaturalError) as error:
            name = f"{type(error).__name__}: " if isinstance(error, NaturalError) else ""
            say({"not built": f"{name}{error}", "seconds": time.monotonic() - began})
            return None
        is_compiled = self.method.file == "natural.njpy"
        say({"built": time.monotonic() - began if is_compiled else 0.0})
        return program

    @contextmanager
    def building(self) -> Iterator[None]:
        """Let the trial's model write code inside of the `with`."""
        told = Notified("build", TraceFile(self.folder / BUILD_TRACE))
        model = self.model or Scripted(lambda request: PLACEHOLDER_REPLY, protocol="text")
        with njrt.using(
            model=LayeredModel(model, (told, *self.layers)),
            cache=False,
            **self.make_block_options(),
        ):
            yield

    def played(self, number: int, case: Case, program: ModuleType) -> tuple[CheckResult, ...]:
        """Play a case, and check it."""
        trace = self.folder / make_case_trace_name(number)
        if self.method.file == "manual.py":
            with use_model(self.make_manual_model(case, trace)):
                return check_case(case, program)
        model = LayeredModel(self.model or self.script(case), self.layers)
        options = self.make_block_options() | {"effects": self.method.effects}
        with njrt.using(model=model, cache=False, trace=trace, **options):
            return check_case(case, program)

    def make_manual_model(self, case: Case, trace: Path) -> Model:
        """Who answers `llm` in a case."""
        tell = TraceFile(trace)
        terms = RequestDefaults(None, self.job.limits.seconds)
        model = self.model or self.script(case)
        model = LayeredModel(model, (Notified("manual", tell), terms, *self.layers))
        if self.method.has_interpreter:
            return InterpreterModel(model, self.job.limits, tell)
        return model

    def script(self, case: Case) -> Model:
        """The perfect model of a case."""
        lines = load_script(self.job.trial.program).lines[case.name]
        if self.method.file == "manual.py":
            return Scripted(make_manual_replies(lines))
        return make_perfect_model(lines, self.method.effects)

    def make_block_options(self) -> dict[str, Any]:
        """The limits of each block, and the temperature if one is given."""
        limits = self.job.limits
        options: dict[str, Any] = {
            "max_effects": limits.effects,
            "max_calls": limits.calls,
            "max_seconds": limits.seconds,
            "max_call_seconds": limits.seconds,
        }
        if self.job.temperature is not None:
            options["temperature"] = self.job.temperature
        return options


def _make_model_and_layers(job: Job, folder: Path) -> tuple[Model | None, tuple[Layer, ...]]:
    """The trial's model, and what stands before it in every method."""
    if job.is_scripted:
        return None, ()
    model = choose_model(Options(model=job.trial.model, base_url=job.base_url), os.environ)
    with suppress(AttributeError, ImportError):
        importlib.import_module(model.sdk)  # type: ignore[attr-defined]  # loading it is not the trial's
    temperature = job.temperature
    if temperature is None and model.protocol == "text":
        temperature = 0.0  # as natural blocks have it then
    return model, (
        *_make_cost_limit(job),
        RequestDefaults(temperature),
        *_make_cache_layers(job, model, folder),
    )


def _make_cost_limit(job: Job) -> tuple[Layer, ...]:
    """The limit on cost, where there is one."""
    return () if job.usd is None else (CostLimit(job.usd),)


def _make_cache_layers(job: Job, model: Model, folder: Path) -> tuple[Layer, ...]:
    """The cache of a method that has one, and the one for trials that are run again."""
    trial, method = job.trial, METHODS[job.trial.method]
    name = f"{model.name} {job.base_url or ''} {method.name}"
    if method.is_cached:
        return (Cache(Store(job.cache or folder / "cache"), name, trial.repeat),)
    if job.cache:
        return (TrialCache(Store(job.cache), f"{name} {trial.program}", trial.repeat),)
    return ()
