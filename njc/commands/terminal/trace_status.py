"""Run a user's command that writes a trace, and show the status line meanwhile.

choose_command([])                                          [python, "-m", "pytest", "-q"]
run_traced(console, ["pytest"], trace, log, environment)    1: the exit code; the output is in `log`
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from njc.commands.terminal.console import Console
from njc.commands.terminal.status_line import REPAINT_SECONDS, StatusLine, show_status
from njc.debug.trace_lines import (
    AskedLine,
    BeganLine,
    EndedLine,
    RepliedLine,
    TraceLine,
    TraceReader,
    UnansweredLine,
)
from njrt.errors import ConfigurationError


def choose_command(words: Sequence[str]) -> list[str]:
    """Return the command in these words after any `--`, or pytest; may raise ConfigurationError."""
    given = words[1:] if words and words[0] == "--" else words
    chosen = list(given) or [sys.executable, "-m", "pytest", "-q"]
    if shutil.which(chosen[0]) is None:
        raise ConfigurationError(f"there is no command `{chosen[0]}`")
    return chosen


def run_traced(
    console: Console, words: Sequence[str], trace: Path, log: Path, environ: Mapping[str, str]
) -> int:
    """Run a command that writes a trace, with its output in a log; return the exit code."""
    trace.unlink(missing_ok=True)
    with log.open("wb") as output, show_status(console, partial(_follow_trace, trace)):
        return subprocess.run(
            words,
            env={**environ, "NJC_TRACE": str(trace)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode


def _follow_trace(trace: Path, line: StatusLine) -> Callable[[], None]:
    """Show what another process adds to a trace that may not exist yet; return a stop function."""
    reader, places, ended = TraceReader(trace), dict[str, str](), threading.Event()

    def follow() -> None:
        while not ended.wait(REPAINT_SECONDS):
            with suppress(FileNotFoundError):
                for read in reader.read_new():
                    _show_trace_line(read, line, places)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()

    def stop() -> None:
        ended.set()
        thread.join(2)

    return stop


def _show_trace_line(read: TraceLine, line: StatusLine, places: dict[str, str]) -> None:
    match read:
        case BeganLine(run=run, place=place, model=model):
            places[run] = place
            line.begin_run(run, model)
        case AskedLine(run=run):
            line.begin_call(run, places.get(run, ""))
        case RepliedLine(run=run):
            line.end_call(run, read.cost.input + read.cost.output, read.cost.usd)
        case UnansweredLine(run=run):
            line.end_call(run)
        case EndedLine(run=run, warnings=warnings):
            line.end_run(run, len(warnings))
