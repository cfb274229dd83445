"""Running a block's program on a recording, or a function on its cases, in another process.

run_on_recording(mail.njpy, "mail.njpy:12", recordings/mail.jsonl)    the steps of its last run
run_cases(mail.njpy, "route", cases/route.jsonl)                      what `njc eval` prints
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from njc.debug.trace_view.index import Selection, read_index
from njc.debug.trace_view.terminal import format_run
from njrt.errors import ConfigurationError

CASES_SECONDS = 600.0
RUN_SECONDS = 60.0
_MOST_OUTPUT = 2_000


async def run_on_recording(
    file: Path, place: str, recording: Path, environ: Mapping[str, str]
) -> str:
    """Run a program on a recording without a model; return the block's steps at `place` as text."""
    with tempfile.TemporaryDirectory(prefix="njc-lsp-") as folder:
        trace = Path(folder) / "trace.jsonl"
        environment = {**environ, "NJC_RECORD": f"none:{recording}", "NJC_TRACE": str(trace)}
        command = [sys.executable, "-m", "njc", "run", str(file)]
        ended = await _run_limited(command, file.parent, environment, RUN_SECONDS)
        output = []
        if ended is None:
            output = ["", f"the program was ended after {RUN_SECONDS:g} seconds"]
        elif ended[0] != 0:
            errors = ended[2].decode("utf-8", "replace").strip()[-_MOST_OUTPUT:]
            output = ["", f"the program ended with exit code {ended[0]}", errors]
        return "\n".join([*_describe_last_run(trace, place), *output])


async def run_cases(file: Path, function: str, cases: Path, environ: Mapping[str, str]) -> str:
    """Count how many of a function's cases pass; return the table and the failures as text."""
    command = [sys.executable, "-m", "njc", "eval", f"{file}:{function}", str(cases)]
    pipe = asyncio.subprocess.PIPE
    ended = await _run_limited(command, file.parent, environ, CASES_SECONDS, stdout=pipe)
    if ended is None:
        return f"the cases were ended after {CASES_SECONDS:g} seconds; the next run continues"
    _, output, errors = ended
    return (output or errors).decode("utf-8", "replace").strip()


async def _run_limited(
    command: list[str],
    folder: Path,
    environment: Mapping[str, str],
    seconds: float,
    stdout: int = asyncio.subprocess.DEVNULL,
) -> tuple[int | None, bytes, bytes] | None:
    """Run a command; return its exit code, output and errors, or None after the time limit."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=stdout,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, errors = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        return None
    finally:  # also if the request is cancelled
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, output or b"", errors


def _describe_last_run(trace: Path, place: str) -> list[str]:
    with suppress(ConfigurationError):
        index = read_index(trace)
        if runs := [run for run in index.runs if run.place == place]:
            count = f"the last of {len(runs)} runs" if len(runs) > 1 else "the only run"
            steps = format_run(runs[-1], index.read_steps(runs[-1]), Selection())
            return [f"{place}: {count}", *steps]
    return [f"the program did not run the block {place}"]
