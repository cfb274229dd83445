"""Record a program in a separate process, which ends even if the program does not.

    record_in_process(ProgramTask("prog.py", source, ("one",), seconds=10))
        ->  ProcessRecording(StateTrace(...), ProgramEnd("ran", "ValueError", "bad"))

    FOLDER/task.json   ──main──>   FOLDER/started, states.jsonl (each at once), end.json

The states therefore survive any end of the process: a crash, `os._exit`, a signal. At the time
limit, the child stops the program by an exception; a process still running two seconds later is
killed with its child processes.

Not killed: child processes in another session, and all child processes if standard input is a
terminal.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from njc.evaluation.repair.command import name_signal, signal_group
from njc.evaluation.repair.time_limit import TimeLimitError, limit_time
from njrt.dataclass_json import from_json, to_json
from spsbench.states.programs import record_call, record_program
from spsbench.states.recording import MAX_STATES
from spsbench.states.trace import ProgramState, StateTrace

GRACE_SECONDS = 2.0
"""The time from the time limit until the process is killed."""
STARTED = "started"
"""The file that a child creates when it starts the program."""
_POLL_SECONDS = 0.05
_START = (
    "import sys; sys.path[:] = {path!r}; from spsbench.states.process import main; main({folder!r})"
)


@dataclass(frozen=True, slots=True)
class ProgramTask:
    """A program, and the part of it to record."""

    file: str
    source: str
    arguments: tuple[str, ...] = ()
    call: str | None = None
    """An expression: record its evaluation, not the whole program."""
    max_states: int = MAX_STATES
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """How a program ended.

    uncompilable    the program is not valid Python
    before          it raised an exception before the call
    late            it did not reach the call in time
    ran             it ended, with an exception if there is an `error`
    timed_out       it did not end in time
    lost            its process ended before it
    """

    stage: Literal["uncompilable", "before", "late", "ran", "timed_out", "lost"]
    error: str = ""
    """The class of the exception."""
    message: str = ""
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class ProcessRecording:
    """A program's states, and how it ended."""

    trace: StateTrace
    end: ProgramEnd
    was_killed: bool = False
    """Whether the process had to be killed."""


def record_in_process(task: ProgramTask) -> ProcessRecording:
    """Record a program, with its standard output sent to standard error."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "task.json").write_text(to_json(task), encoding="utf-8")
        exit_code = _run_child(folder, task.seconds)
        states = tuple(_read_states(folder / "states.jsonl"))
        written = folder / "end.json"
        end = from_json(written.read_text("utf-8"), ProgramEnd) if written.exists() else None
    if end is None:
        end = _describe_missing_end(task, exit_code, has_states=bool(states))
    # If the process was stopped, a state may have been lost between two events.
    is_cut = end.is_cut or end.stage in ("timed_out", "lost")
    return ProcessRecording(StateTrace(task.source, states, is_cut), end, exit_code is None)


def _run_child(folder: Path, seconds: float | None) -> int | None:
    """Return the exit code of the child, -N for signal N; None if it had to be killed."""
    leads_session = not os.isatty(0)
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _START.format(path=sys.path, folder=str(folder))],
        stdout=2,
        start_new_session=leads_session,
    )
    interrupts, deadline = 0, None
    try:
        while interrupts < 2 and (deadline is None or time.monotonic() < deadline):
            if deadline is None and seconds is not None and (folder / STARTED).exists():
                deadline = time.monotonic() + seconds + GRACE_SECONDS
            try:
                return process.wait(None if seconds is None else _POLL_SECONDS)
            except subprocess.TimeoutExpired:
                continue
            except KeyboardInterrupt:
                interrupts += 1
                if leads_session:
                    signal_group(process, "SIGINT")
        if leads_session:
            signal_group(process, "SIGKILL")
        return None
    finally:
        process.kill()
        process.wait()


def _read_states(path: Path) -> Iterator[ProgramState]:
    """Yield the states in a child's file, leaving out a partly written last state."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    for line in text.split("\n")[:-1]:
        yield from_json(line, ProgramState)


def _describe_missing_end(task: ProgramTask, exit_code: int | None, has_states: bool) -> ProgramEnd:
    """Return the end of a program that did not report its end."""
    if exit_code is None:
        return ProgramEnd("late" if task.call and not has_states else "timed_out")
    if exit_code < 0:
        return ProgramEnd("lost", message=f"by {name_signal(-exit_code)}")
    return ProgramEnd("lost", message=f"with exit code {exit_code}")


# ── the child ─────────────────────────────────────────────────────────────────────────────────────


def main(name: str) -> None:
    """Record the program of a folder, in the child.

    The program has the command's standard input, and its standard error in place of standard
    output. Processes that the program creates with `os.fork` write nothing.
    """
    folder, process = Path(name), os.getpid()
    _end_with_parent()
    fields = json.loads((folder / "task.json").read_text("utf-8"))
    task = ProgramTask(**{**fields, "arguments": tuple(fields["arguments"])})
    keep = _open_states(folder / "states.jsonl", process)
    (folder / STARTED).touch()
    end = _record(task, keep)
    if os.getpid() == process:
        (folder / "end.json").write_text(to_json(end), encoding="utf-8")


def _end_with_parent() -> None:
    """Have this process killed when its parent ends, if the system supports it (Linux)."""
    with suppress(Exception):
        import ctypes

        killed, parent_death = 9, 1  # SIGKILL, PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(parent_death, killed)


def _open_states(path: Path, process: int) -> Callable[[ProgramState], None]:
    file = path.open("ab", buffering=0)

    def keep(state: ProgramState) -> None:
        if os.getpid() == process:
            file.write(f"{to_json(state)}\n".encode())

    return keep


def _record(task: ProgramTask, keep: Callable[[ProgramState], None]) -> ProgramEnd:
    time_limit = nullcontext() if task.seconds is None else limit_time(task.seconds)
    try:
        with time_limit:
            if task.call is None:
                arguments = [task.file, *task.arguments]
                found = record_program(
                    task.source, task.file, arguments, task.max_states, keep=keep
                )
            else:
                found = record_call(task.source, task.call, task.file, task.max_states, keep=keep)
    except (SyntaxError, UnicodeDecodeError) as problem:
        return ProgramEnd("uncompilable", message=str(problem))
    except TimeLimitError:
        return ProgramEnd("late")
    except BaseException as error:
        return ProgramEnd("before", *_describe_error(error))
    match found.error:
        case None | SystemExit():
            return ProgramEnd("ran", is_cut=found.trace.is_cut)
        case TimeLimitError():
            return ProgramEnd("timed_out")
        case raised:
            return ProgramEnd("ran", *_describe_error(raised), found.trace.is_cut)


def _describe_error(error: BaseException) -> tuple[str, str]:
    """Return the class of an exception and its text, which the program's code may fail to give."""
    try:
        return type(error).__name__, str(error)
    except BaseException:
        return type(error).__name__, ""
