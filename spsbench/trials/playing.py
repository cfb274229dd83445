"""Run a trial in its process: `python -m spsbench.trials.playing`, in a separate folder.

    {"job": "{...}"}   ──main──>   report.json, build.trace.jsonl, case-0.trace.jsonl ...

It ends when the process that started it ends, so that it stops sending requests to a model.

It builds the program, plays the cases, and writes its report after each. The folder gets a trace
for each case, and one for the build.
"""

from __future__ import annotations

import importlib
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import njrt
from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from njc.project.config import Project
from njc.project.units import SUFFIX, make_unit
from njrt.block.session.notified import Notified
from njrt.data.options import Options
from njrt.errors import NaturalError
from njrt.log.cache import Cache, ReplyStore, open_cache_file
from njrt.log.trace import TraceFile
from njrt.models.model import Layer, LayeredModel, Model
from njrt.testing import Scripted
from njrt.values.dataclass_json import from_json
from spsbench.llm import use_model
from spsbench.methods import METHODS, Method
from spsbench.perfect import make_script_model
from spsbench.results import Trial, TrialLimits
from spsbench.suite import (
    PROGRAMS_PACKAGE,
    load_manual_program,
    load_natural_program,
    load_script,
    load_task,
    make_program_module,
    read_program_source,
)
from spsbench.task import Case, CheckResult, check_case
from spsbench.trials.answering import (
    InterpreterModel,
    RequestDefaults,
    load_model,
)
from spsbench.trials.report import CasePlayed, TrialReport, write_report
from spsbench.worker import open_channel

BUILD_TRACE, CASE_TRACE = "build.trace.jsonl", "case-{number}.trace.jsonl"


def run_trial(job: Job, folder: Path) -> None:
    """Build the program, play its cases, and write the report after each."""
    report = TrialReport()
    runner = TrialRunner(
        job, METHODS[job.trial.method], folder, *_make_model_and_layers(job, folder)
    )
    program = runner.build(report)
    for number, case in enumerate(load_task(job.trial.program).cases if program else ()):
        write_report(report, folder)
        began = time.monotonic()
        results = runner.play(number, case, program)
        error = next((result.error for result in results if result.error), None)
        checks = {result.check: result.passed for result in results}
        report.cases[case.name] = CasePlayed(checks, error, time.monotonic() - began)
    if program:
        has_raised = any(case.error for case in report.cases.values())
        report.ending = "raised" if has_raised else "finished"
    write_report(report, folder)


@dataclass(frozen=True, slots=True)
class TrialRunner:
    """Plays the cases of a trial, using its method and model."""

    job: Job
    method: Method
    folder: Path
    model: Model | None
    """None if each case has its own script."""
    layers: tuple[Layer, ...]

    def build(self, report: TrialReport) -> ModuleType | None:
        """Build the program, and report the time or the problem; return None if the build fails."""
        began = time.monotonic()
        program = None
        try:
            notified = Notified("build", TraceFile(self.folder / BUILD_TRACE))
            model = self.model or Scripted([], protocol="text")
            layered = LayeredModel(model, (notified, *self.layers))
            with njrt.using(model=layered, cache=False, **self.make_block_options()):
                program = build_program(
                    self.job.trial.program,
                    self.method,
                    self.folder / "programs",
                    None if self.job.lock is None else Path(self.job.lock),
                )
        except (NotBuiltError, NaturalError) as error:
            name = f"{type(error).__name__}: " if isinstance(error, NaturalError) else ""
            report.problem = f"{name}{error}"
        report.build_seconds = time.monotonic() - began if self.method.is_natural else 0.0
        return program

    def play(self, number: int, case: Case, program: Any) -> tuple[CheckResult, ...]:
        trace = self.folder / CASE_TRACE.format(number=number)
        if not self.method.is_natural:
            trace_file = TraceFile(trace)
            defaults = RequestDefaults(None, self.job.limits.seconds)
            layers: tuple[Layer, ...] = (Notified("manual", trace_file), defaults, *self.layers)
            asked: Model = LayeredModel(self.choose_model(case), layers)
            if self.method.has_interpreter:
                asked = InterpreterModel(asked, self.job.limits, trace_file)
            with use_model(asked):
                return check_case(case, program)
        model = LayeredModel(self.choose_model(case), self.layers)
        options = self.make_block_options() | self.method.settings
        with njrt.using(model=model, cache=False, trace=trace, **options):
            return check_case(case, program)

    def choose_model(self, case: Case) -> Model:
        """Return the trial's model, or one that replies by the case's script."""
        if self.model is not None:
            return self.model
        script = load_script(self.job.trial.program, self.method.file)
        return make_script_model(script.lines[case.name], self.method)

    def make_block_options(self) -> dict[str, Any]:
        """Return the limits of each block, and the temperature if one is given."""
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
    """Return the trial's model, and the layers around it."""
    model = load_model(job.trial.model, job.base_url)
    if model is None:
        return None, ()
    with suppress(AttributeError, ImportError):
        # The trial does not pay for the import.
        importlib.import_module(model.sdk)  # type: ignore[attr-defined]
    temperature = job.temperature
    if temperature is None and model.protocol == "text":
        temperature = 0.0  # the default of natural blocks for these models
    trial, method = job.trial, METHODS[job.trial.method]
    name = f"{model.name} {job.base_url or ''} {method.name}"
    defaults = RequestDefaults(temperature)
    if not method.is_cached:
        return model, (defaults,)
    store = ReplyStore(open_cache_file(folder / "cache"))
    return model, (defaults, Cache(store, name, trial.repeat))


# ── the input of a trial's process ────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Job:
    """A trial and everything needed to run it."""

    trial: Trial
    limits: TrialLimits = field(default_factory=TrialLimits)
    temperature: float | None = None
    base_url: str | None = None
    keep: str | None = None
    """A folder that gets a copy of the trial's folder: its traces, its output, its lock."""
    lock: str | None = None
    """An njc.lock that has the code of static methods; None: the trial's model writes it."""


# ── building the program of a trial for its method ────────────────────────────────────────────────


class NotBuiltError(Exception):
    """A static mode has no code for a block."""


def build_program(
    program: str, method: Method, folder: Path, lock: Path | None = None
) -> ModuleType:
    """Return a program's module; in static modes with code of a lock or of `njrt.using`'s model."""
    if not method.is_natural:
        return load_manual_program(program)
    if not method.is_static:
        return load_natural_program(program, method.compile_options, method.file)
    from njc.static.build import HoleRequest
    from njc.static.write import fill_units

    file = folder / program / f"natural{SUFFIX}"
    file.parent.mkdir(parents=True)
    file.write_text(read_program_source(program, "natural.njpy"), encoding="utf-8")
    project = Project(src=(folder,), options=Options(mode=method.mode))
    unit = make_unit(file, project)
    build = fill_units([unit], project, HoleRequest(locked=lock is not None), lock)
    if build.findings:
        raise NotBuiltError("; ".join(finding.diagnostic.message for finding in build.findings))
    compilation = build.compiled.get(unit) or compile_source(
        SourceFile(unit.path, file.read_bytes()), project=project.options
    )
    if compilation.output is None:
        raise NotBuiltError("; ".join(found.message for found in compilation.diagnostics))
    try:
        return make_program_module(
            f"{PROGRAMS_PACKAGE}.{program}.natural", compilation.output, unit.path
        )
    except Exception as error:
        raise NotBuiltError(f"{type(error).__name__}: {error}") from error


def main() -> None:
    """Run the job sent by the parent."""
    channel = open_channel()
    job: Job = from_json(channel.receive()["job"], Job)
    run_trial(job, Path.cwd())


if __name__ == "__main__":
    main()
