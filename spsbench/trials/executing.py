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

from spsbench.results import Result
from spsbench.suite import task_of
from spsbench.tally import Tally, tally
from spsbench.trials.job import Job, job_text
from spsbench.trials.playing import BUILD, case_trace
from spsbench.trials.trial import JOB, REPORT
from spsbench.trials.verdict import Remains, report_in, result_of

LOG = "output.log"
LOOKS_EVERY = 0.25


class StoppedError(Exception):
    """The runner was stopped while the trial ran, and so there is no result."""


def executed(job: Job, stop: threading.Event | None = None) -> Result:
    """Carry out a job; `stop` ends it early."""
    with tempfile.TemporaryDirectory(prefix="spsbench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / JOB).write_text(job_text(job), encoding="utf-8")
        started = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        seconds, code = _run(folder, job.limits.seconds, stop)
        remains = remains_in(folder, job, started, seconds, code)
        if job.keep:
            trial = job.trial
            place = Path(job.keep, trial.program, trial.method, str(trial.repeat))
            shutil.copytree(folder, place, dirs_exist_ok=True)
        return result_of(job.trial, task_of(job.trial.program), remains)


def _run(folder: Path, limit: float, stop: threading.Event | None) -> tuple[float, int | None]:
    """Run the process of a trial to its end: how long it took, and its exit code; None if killed here."""
    began = time.monotonic()
    with (folder / LOG).open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "spsbench.trials.trial"],
            cwd=folder,
            env=environment(os.environ),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            while process.poll() is None:
                if stop is not None and stop.is_set():
                    raise StoppedError
                if time.monotonic() - began >= limit:
                    return time.monotonic() - began, None
                with suppress(subprocess.TimeoutExpired):
                    process.wait(LOOKS_EVERY)
            return time.monotonic() - began, process.returncode
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a trial: without what would change how natural code runs."""
    return {name: value for name, value in environ.items() if not name.startswith("NJC_")}


def remains_in(folder: Path, job: Job, started: str, seconds: float, code: int | None) -> Remains:
    """Read what a trial has left in its folder."""
    report = folder / REPORT
    lines = report.read_text(encoding="utf-8").splitlines(keepends=True) if report.exists() else ()
    cases = range(len(task_of(job.trial.program).cases))
    return Remains(
        started,
        seconds,
        code is None,
        code or 0,
        last_line(folder / LOG),
        tuple(report_in(lines)),
        _tally(folder / BUILD),
        tuple(_tally(folder / case_trace(number)) for number in cases),
    )


def last_line(file: Path) -> str:
    """The last line of a file that says anything."""
    with file.open("rb") as lines:
        lines.seek(max(0, file.stat().st_size - 4000))
        said = lines.read().decode("utf-8", "replace").strip()
    return said.rpartition("\n")[2]


def _tally(file: Path) -> Tally:
    if not file.exists():
        return Tally()
    with file.open(encoding="utf-8", errors="replace") as lines:
        return tally(lines)
