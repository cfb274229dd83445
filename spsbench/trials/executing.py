"""Carrying out a job in a process of its own: started, watched, killed when its time is up, and read.

    executed(job)   ->  Result(...)

The process has a temporary folder and a group of its own. The group is killed as a whole, so that nothing
that a program or a model's code has started outlives its trial.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from njrt.typed_json import to_json
from spsbench.results import TrialResult
from spsbench.suite import load_task
from spsbench.tally import TraceCounts, count_trace
from spsbench.trials.job import Job
from spsbench.trials.playing import BUILD_TRACE, make_case_trace_name
from spsbench.trials.report import read_report
from spsbench.trials.trial import JOB_FILE, REPORT_FILE
from spsbench.trials.verdict import TrialOutput, build_trial_result

LOG_FILE = "output.log"
POLL_SECONDS = 0.25


class TrialStoppedError(Exception):
    """The runner was stopped while the trial ran, and so there is no result."""


def execute_job(job: Job, stop: threading.Event | None = None) -> TrialResult:
    """Carry out a job; `stop` ends it early."""
    with tempfile.TemporaryDirectory(prefix="spsbench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / JOB_FILE).write_text(to_json(job), encoding="utf-8")
        started = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        seconds, code = _run_process(folder, job.limits.seconds, stop)
        output = read_trial_output(folder, job, started, seconds, code)
        if job.keep:
            trial = job.trial
            place = Path(job.keep, trial.program, trial.method, str(trial.repeat))
            shutil.copytree(folder, place, dirs_exist_ok=True)
        return build_trial_result(job.trial, load_task(job.trial.program), output)


def _run_process(
    folder: Path, limit: float, stop: threading.Event | None
) -> tuple[float, int | None]:
    """Run the process of a trial to its end: how long it took, and its exit code; None if killed here."""
    began = time.monotonic()
    with (folder / LOG_FILE).open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "spsbench.trials.trial"],
            cwd=folder,
            env=make_trial_environment(os.environ),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            while process.poll() is None:
                if stop is not None and stop.is_set():
                    raise TrialStoppedError
                if time.monotonic() - began >= limit:
                    return time.monotonic() - began, None
                with suppress(subprocess.TimeoutExpired):
                    process.wait(POLL_SECONDS)
            return time.monotonic() - began, process.returncode
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


def make_trial_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a trial: without what would change how natural code runs."""
    return {name: value for name, value in environ.items() if not name.startswith("NJC_")}


def read_trial_output(
    folder: Path, job: Job, started: str, seconds: float, code: int | None
) -> TrialOutput:
    """Read what a trial has left in its folder."""
    report = folder / REPORT_FILE
    lines = report.read_text(encoding="utf-8").splitlines(keepends=True) if report.exists() else ()
    cases = range(len(load_task(job.trial.program).cases))
    return TrialOutput(
        started,
        seconds,
        code is None,
        code or 0,
        read_last_line(folder / LOG_FILE),
        read_report(lines),
        _count_trace_file(folder / BUILD_TRACE),
        tuple(_count_trace_file(folder / make_case_trace_name(number)) for number in cases),
    )


def read_last_line(file: Path) -> str:
    """The last line of a file that says anything."""
    with file.open("rb") as lines:
        lines.seek(max(0, file.stat().st_size - 4000))
        said = lines.read().decode("utf-8", "replace").strip()
    return said.rpartition("\n")[2]


def _count_trace_file(file: Path) -> TraceCounts:
    if not file.exists():
        return TraceCounts()
    with file.open(encoding="utf-8", errors="replace") as lines:
        return count_trace(lines)
