"""Run a job in its own process: start it, watch it, kill it at its time limit, and read its output.

    execute_job(job)   ->  TrialResult(...)

The process has a temporary folder and a process group, which is killed as a whole: nothing that a
program or a model's code starts in the group survives its trial.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import click

from njrt.errors import NaturalError
from njrt.messages import Usage
from njrt.models.prices import compute_cost
from njrt.values.dataclass_json import to_json
from spsbench import flags
from spsbench.failures import classify_failure
from spsbench.methods import METHODS
from spsbench.perfect import SCRIPTED_EFFECTS
from spsbench.results import (
    BENCHMARK_KINDS,
    BenchmarkRun,
    Failure,
    InputError,
    Results,
    Trial,
    TrialLimits,
    TrialResult,
)
from spsbench.script import SCRIPTED
from spsbench.suite import TASK_NAMES, choose_program_file, digest_program, load_task
from spsbench.tally import TraceCounts, count_trace
from spsbench.task import Task
from spsbench.trials.answering import load_model
from spsbench.trials.experiment import Experiment, run_experiment
from spsbench.trials.machine import describe_start, read_timestamp
from spsbench.trials.playing import BUILD_TRACE, CASE_TRACE, Job
from spsbench.trials.progress import show_message
from spsbench.trials.report import TrialReport, read_report
from spsbench.worker import Worker

JOB_FILE, LOG_FILE = "job.json", "output.log"
POLL_SECONDS = 0.25
SERVER_VARIABLES = ("NJC_BASE_URL", "NJC_API_KEY", "NJC_ALLOW_HTTP")


class TrialStoppedError(Exception):
    """The runner was stopped while the trial ran, so the trial has no result."""


def execute_job(
    job: Job, stop: threading.Event | None = None, read_clock: Callable[[], float] = time.monotonic
) -> TrialResult:
    """Run a job; `stop` raises `TrialStoppedError`; `read_clock` returns seconds for the limit."""
    with tempfile.TemporaryDirectory(prefix="spsbench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        started = read_timestamp()
        seconds, exit_code = _run_process(folder, job, stop, read_clock)
        trial, task = job.trial, load_task(job.trial.program)
        output = TrialOutput(
            started,
            seconds,
            exit_code,
            read_last_line(folder / LOG_FILE),
            read_report(folder),
            _count_trace_file(folder / BUILD_TRACE),
            [
                _count_trace_file(folder / CASE_TRACE.format(number=n))
                for n in range(len(task.cases))
            ],
        )
        if job.keep:
            (folder / JOB_FILE).write_text(to_json(job), encoding="utf-8")
            place = Path(job.keep, trial.program, trial.method, str(trial.repeat))
            shutil.copytree(folder, place, dirs_exist_ok=True)
        return build_trial_result(trial, task, output)


def _run_process(
    folder: Path, job: Job, stop: threading.Event | None, read_clock: Callable[[], float]
) -> tuple[float, int | None]:
    """Run a trial's process; return its seconds, and its exit code or None if its time was up.

    A process that ends by itself before it is killed is in time, even if this is noticed late.
    """
    began = read_clock()
    with (
        (folder / LOG_FILE).open("wb") as log,
        Worker(
            "spsbench.trials.playing", folder, make_trial_environment(os.environ), log
        ) as worker,
    ):
        worker.send({"job": to_json(job)})
        while (seconds := read_clock() - began) < job.limits.seconds:
            if stop is not None and stop.is_set():
                raise TrialStoppedError
            with suppress(TimeoutError):
                worker.receive(min(POLL_SECONDS, job.limits.seconds - seconds))
                code = worker.wait()
                return read_clock() - began, code
        worker.kill()
        code = worker.wait()
    return seconds, None if code == -signal.SIGKILL else code


def make_trial_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return a trial's environment, without njc's settings except those for the model's server."""
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith("NJC_") or name in SERVER_VARIABLES
    }


def read_last_line(file: Path) -> str:
    """Return the last non-empty line of a file."""
    with file.open("rb") as lines:
        lines.seek(max(0, file.stat().st_size - 4000))
        text = lines.read().decode("utf-8", "replace").strip()
    return text.rpartition("\n")[2]


def _count_trace_file(file: Path) -> TraceCounts:
    if not file.exists():
        return TraceCounts()
    with file.open(encoding="utf-8", errors="replace") as lines:
        return count_trace(lines)


# ── from the output of a trial's process to its `TrialResult` ─────────────────────────────────────


MAX_MESSAGE_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class TrialOutput:
    """The results of a trial's process after its end."""

    started: str
    seconds: float
    """The time from the start of the process to its end."""
    exit_code: int | None
    """None if it was killed because its time was up."""
    last_line: str
    """The last line of its output."""
    report: TrialReport
    building: TraceCounts
    cases: Sequence[TraceCounts]
    """One for each case of the task, in order."""


def build_trial_result(trial: Trial, task: Task, output: TrialOutput) -> TrialResult:
    """Return the result of a trial."""
    report, played = output.report, output.report.cases
    checks = {
        f"{case.name}: {check.text}": case.name in played
        and played[case.name].checks.get(check.text, False)
        for case in task.cases
        for check in case.checks
    }
    ending = report.ending or ("not built" if report.problem else None)
    ending = ending or ("timeout" if output.exit_code is None else "crashed")
    build_seconds = output.seconds if report.build_seconds is None else report.build_seconds
    run_seconds = (
        output.seconds - build_seconds
        if ending in ("timeout", "crashed")
        else sum(case.seconds for case in played.values())
    )
    running = sum(output.cases, TraceCounts())
    together = output.building + running
    result = TrialResult(
        **asdict(trial),
        ending=ending,
        checks=checks,
        build_seconds=round(build_seconds, 3),
        run_seconds=round(run_seconds, 3),
        blocks=running.blocks,
        effects=running.effects,
        calls=running.calls,
        build_calls=output.building.calls,
        usage=running.usage,
        build_usage=output.building.usage,
        cost=together.cost,
        failure=None,
        started=output.started,
        digest=digest_program(trial.program, METHODS[trial.method].file),
        reused_calls=together.reused,
    )
    return replace(result, failure=find_failure(result, task, output))


def find_failure(result: TrialResult, task: Task, output: TrialOutput) -> Failure | None:
    """Return why checks failed: how the trial ended, or the problem in its first failed case."""
    method, report = METHODS[result.method], output.report
    match result.ending:
        case "timeout":
            return Failure("timeout", f"killed after {output.seconds:.0f} seconds")
        case "crashed":
            code = output.exit_code or 0
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            message = f"the process ended with {how}; {output.last_line}"
            return Failure("crash", truncate_first_line(message.rstrip("; ")))
        case "not built":
            message = report.problem
            category = classify_failure(message)
            known = category in ("server", "rejected", "limit", "no answer", "unclassified")
            return Failure(category if known else "not built", truncate_first_line(message))
    if not all(result.checks.values()):
        # The program may have caught the error and continued without an answer.
        for error in sum(output.cases, output.building).unanswered:
            if classify_failure(error) == "server":
                return Failure("server", truncate_first_line(error))
    for case, counts in zip(task.cases, output.cases, strict=True):
        played = report.cases[case.name]
        failed = [check for check in case.checks if not played.checks.get(check.text, False)]
        if failed:
            category = classify_failure(
                played.error,
                raised=counts.raised,
                gave_up=counts.given_up > 0,
                is_code=method.is_static and counts.calls == 0,
                is_operation=any(check.is_operation for check in failed),
            )
            message = played.error or f"check failed: {case.name}: {failed[0].text}"
            return Failure(category, truncate_first_line(message))
    return None


def truncate_first_line(text: str) -> str:
    """Return the first line of a text, cut if it is long."""
    line = text.strip().split("\n")[0]
    return line if len(line) <= MAX_MESSAGE_CHARACTERS else f"{line[:MAX_MESSAGE_CHARACTERS]}..."


# ── the trials of a run, and results that cannot be compared with them ────────────────────────────


def list_trials(
    programs: Sequence[str], methods: Iterable[str], model: str, repeats: int
) -> tuple[Trial, ...]:
    """Return all trials of a run, in order.

    Each repeat runs all programs and methods before the next repeat starts, and a program's methods
    are run together, so a run that is stopped early has compared all methods on the same programs.
    """
    places = product(range(1, repeats + 1), programs, tuple(methods))
    return tuple(Trial(program, method, model, repeat) for repeat, program, method in places)


def refuse_other_programs(found: Results) -> None:
    """Raise `InputError` if a result is from another version of its program or checks."""
    for result in found.select(TrialResult):
        method = METHODS.get(result.method)
        if method and result.digest != digest_program(result.program, method.file):
            file = choose_program_file(result.program, method.file)
            raise InputError(
                f"the file has trials of another version of {result.program}/{file} "
                "or its checks; name another file by --out"
            )


# ── the run that the command's flags request ─────────────────────────────────────────────────────


def run_benchmark(values: Mapping[str, Any]) -> int:
    """Run the remaining trials that the flags request, and return the exit code."""
    run = build_run(values)
    base_url = os.environ.get("NJC_BASE_URL")
    keep, lock = (values[name] and str(values[name].absolute()) for name in ("keep", "lock"))
    jobs = [
        Job(trial, run.limits, run.temperature, base_url, keep, lock)
        for trial in list_trials(run.programs, run.methods, run.model, run.repeats)
    ]
    trials = Experiment(
        *("trials", values["out"], BENCHMARK_KINDS, jobs, execute_job, run),
        ("model", "temperature", "limits", "writers"),
        values["jobs"],
        refuse_other_programs,
        values["limit_cost"],
    )
    return run_experiment(trials)


def build_run(values: Mapping[str, Any]) -> BenchmarkRun:
    """Return the run that the flags request, without methods that the model does not support."""
    known = tuple(name for name, method in METHODS.items() if not method.is_past)
    asked = [METHODS[name] for name in flags.list_names(values["methods"], known, "method")]
    programs = flags.list_names(values["programs"], TASK_NAMES, "program")
    refuse_unknown_model(values["model"], values["limit_cost"])
    is_scripted = values["model"] == SCRIPTED
    methods = [
        each
        for each in asked
        if not is_scripted or (each.effects in SCRIPTED_EFFECTS and not each.is_static)
    ]
    if without := [method.name for method in asked if method not in methods]:
        show_message(f"left out, because a script has no code for them: {', '.join(without)}")
    return BenchmarkRun(
        programs=programs,
        methods=tuple(method.name for method in methods),
        limits=TrialLimits(values["seconds"], values["effects"], values["max_calls"]),
        writers=list_writers(values["lock"]),
        **{name: values[name] for name in ("model", "repeats", "temperature")},
        **describe_start(values["jobs"], "processes"),
    )


def list_writers(lock: Path | None) -> tuple[str, ...]:
    """Return the models that wrote the code of a lock."""
    if lock is None:
        return ()
    from njc.static.lock import read_lock

    return tuple(sorted({entry.model for entry in read_lock(lock).entries.values()}))


def refuse_unknown_model(model: str, limit_cost: float | None = None) -> None:
    """Raise `UsageError` for an unknown model or, if cost is limited, one without a known price."""
    base_url = os.environ.get("NJC_BASE_URL")
    try:
        if load_model(model, base_url) is None:
            return
    except NaturalError as error:
        raise click.UsageError(f"--model: {error}; or use no model: `--model scripted`") from None
    if limit_cost is not None and (base_url or compute_cost(model, Usage()) is None):
        raise click.UsageError(f"--limit-cost: no price is known for {model}; leave the limit out")
