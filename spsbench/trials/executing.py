"""Runs a job in a process of its own: started, watched, killed when its time is up, and its output read.

    execute_job(job)   ->  TrialResult(...)

The process has a temporary folder and a process group, which is killed as a whole: nothing that a program or a
model's code has started in the group survives its trial.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from njc.worker import Worker
from njrt.typed_json import to_json
from spsbench.results import TrialResult
from spsbench.suite import load_task
from spsbench.tally import TraceCounts, count_trace
from spsbench.trials.job import Job
from spsbench.trials.machine import read_timestamp
from spsbench.trials.playing import BUILD_TRACE, make_case_trace_name
from spsbench.trials.report import read_report
from spsbench.trials.verdict import TrialOutput, build_trial_result

JOB_FILE, REPORT_FILE, LOG_FILE = "job.json", "report.jsonl", "output.log"
POLL_SECONDS = 0.25
CLOSING_SECONDS = 10.0
"""Seconds in which all that a killed process has written is read."""
SERVER_VARIABLES = ("NJC_BASE_URL", "NJC_API_KEY", "NJC_ALLOW_HTTP")


class TrialStoppedError(Exception):
    """The runner was stopped while the trial ran: there is no result."""


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How the process of a trial ended, and the lines of its report."""

    report: tuple[str, ...]
    seconds: float
    exit_code: int | None
    """None if it was killed because its time was up."""


def execute_job(
    job: Job,
    stop: threading.Event | None = None,
    read_clock: Callable[[], float] = time.monotonic,
) -> TrialResult:
    """Run a job; `stop` ends it early, with a `TrialStoppedError`. Its limit of time is by `read_clock`, in seconds."""
    with tempfile.TemporaryDirectory(prefix="spsbench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        started = read_timestamp()
        end = _run_process(folder, job, stop, read_clock)
        output = read_trial_output(folder, job, started, end)
        if job.keep:
            (folder / JOB_FILE).write_text(to_json(job), encoding="utf-8")
            (folder / REPORT_FILE).write_text("\n".join([*end.report, ""]), encoding="utf-8")
            trial = job.trial
            place = Path(job.keep, trial.program, trial.method, str(trial.repeat))
            shutil.copytree(folder, place, dirs_exist_ok=True)
        return build_trial_result(job.trial, load_task(job.trial.program), output)


def _run_process(
    folder: Path, job: Job, stop: threading.Event | None, read_clock: Callable[[], float]
) -> ProcessEnd:
    """Run the process of a trial to its end or to its limit of seconds.

    A process that has ended by itself before it is killed is in time, even where this one notices it late.
    """
    began = read_clock()
    report: list[str] = []
    with (
        (folder / LOG_FILE).open("wb") as log,
        Worker("spsbench.trials.trial", folder, make_trial_environment(os.environ), log) as worker,
    ):
        worker.send({"job": to_json(job)})
        while (seconds := read_clock() - began) < job.limits.seconds:
            if stop is not None and stop.is_set():
                raise TrialStoppedError
            try:
                message = worker.receive(min(POLL_SECONDS, job.limits.seconds - seconds))
            except TimeoutError:
                continue
            if message is None:
                code = worker.wait()
                return ProcessEnd(tuple(report), read_clock() - began, code)
            report.append(message["line"])
        worker.kill()
        with suppress(TimeoutError):  # of a process that has left the group and holds the pipe
            closes = time.monotonic() + CLOSING_SECONDS
            while (message := worker.receive(max(0.0, closes - time.monotonic()))) is not None:
                report.append(message["line"])
        code = worker.wait()
    return ProcessEnd(tuple(report), seconds, None if code == -signal.SIGKILL else code)


def make_trial_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a trial, without the settings of njc except those of the model's server."""
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith("NJC_") or name in SERVER_VARIABLES
    }


def read_trial_output(folder: Path, job: Job, started: str, end: ProcessEnd) -> TrialOutput:
    """Read the files that a trial has left in its folder."""
    cases = range(len(load_task(job.trial.program).cases))
    return TrialOutput(
        started,
        end.seconds,
        end.exit_code is None,
        end.exit_code or 0,
        read_last_line(folder / LOG_FILE),
        read_report(end.report),
        _count_trace_file(folder / BUILD_TRACE),
        tuple(_count_trace_file(folder / make_case_trace_name(number)) for number in cases),
    )


def read_last_line(file: Path) -> str:
    """Return the last line of a file that is not empty."""
    with file.open("rb") as lines:
        lines.seek(max(0, file.stat().st_size - 4000))
        text = lines.read().decode("utf-8", "replace").strip()
    return text.rpartition("\n")[2]


def _count_trace_file(file: Path) -> TraceCounts:
    if not file.exists():
        return TraceCounts()
    with file.open(encoding="utf-8", errors="replace") as lines:
        return count_trace(lines)
