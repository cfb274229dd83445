"""Record a program in a separate process, which ends even if the program does not.

    record_in_process(ProgramTask("prog.py", source, ("one",), seconds=10))
        ->  ProcessRecording(StateTrace(...), ProgramEnd("ran", "ValueError", "bad"))

    {"task": "{...}"}   ──main──>   {"started": true}, {"state": "{...}"} ..., {"end": "{...}"}

The states therefore survive any end of the process: a crash, `os._exit`, a signal, the time limit.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from njc.project.worker import Worker, open_channel
from njrt.values.dataclass_json import from_json, to_json
from spsbench.states.programs import record_call, record_program
from spsbench.states.recording import MAX_STATES
from spsbench.states.trace import ProgramState, StateTrace

CLOSING_SECONDS = 10.0
"""Time to read the remaining states of a killed process."""


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
    """Record a program, with its standard output sent to standard error.

    Its standard input is empty. At its time limit, and after Ctrl-C, it is killed.
    """
    found = _Received()
    was_killed, seconds = False, math.inf if task.seconds is None else task.seconds
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}  # no module of the current folder
    with Worker("spsbench.states.process", Path.cwd(), environment, 2) as worker:
        worker.send({"task": to_json(task)})
        try:
            found.read(worker, math.inf, seconds)
            lost = _describe_exit(worker.wait())
        except (TimeoutError, KeyboardInterrupt) as error:
            was_killed = True
            worker.kill()
            with suppress(TimeoutError):  # a process that left the group may hold the pipe open
                found.read(worker, time.monotonic() + CLOSING_SECONDS, CLOSING_SECONDS)
            if isinstance(error, KeyboardInterrupt):
                lost = ProgramEnd("lost", message="by an interrupt")
            else:
                lost = ProgramEnd("late" if task.call and not found.states else "timed_out")
    end = found.end or lost
    is_cut = end.is_cut or end.stage in ("timed_out", "lost")
    return ProcessRecording(StateTrace(task.source, tuple(found.states), is_cut), end, was_killed)


@dataclass(slots=True)
class _Received:
    """What a child has sent (state: its states so far, and its end)."""

    states: list[ProgramState] = field(default_factory=list)
    end: ProgramEnd | None = None

    def read(self, worker: Worker, deadline: float, seconds: float) -> None:
        """Read to the end; TimeoutError at the deadline, or `seconds` after the program's start."""
        while True:
            left = max(0.0, deadline - time.monotonic())
            match worker.receive(min(left, threading.TIMEOUT_MAX)):
                case {"state": text}:
                    self.states.append(from_json(text, ProgramState))
                case {"end": text}:
                    self.end = from_json(text, ProgramEnd)
                case None:
                    return
                case _:
                    deadline = time.monotonic() + seconds


def _describe_exit(code: int) -> ProgramEnd:
    """Return the end of a program that did not report its end, by its exit code or signal."""
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    return ProgramEnd("lost", message=how)


# ── the child ─────────────────────────────────────────────────────────────────────────────────────


def main() -> None:
    """Record a program, in the child; processes that it creates with `os.fork` send nothing."""
    del os.environ["PYTHONSAFEPATH"]
    channel, process = open_channel(), os.getpid()
    task = from_json(channel.receive()["task"], ProgramTask)

    def send(**message: object) -> None:
        if os.getpid() == process:
            channel.send(message)

    send(started=True)
    send(end=to_json(_record(task, lambda state: send(state=to_json(state)))))


def _record(task: ProgramTask, keep: Callable[[ProgramState], None]) -> ProgramEnd:
    try:
        if task.call is None:
            arguments = [task.file, *task.arguments]
            found = record_program(task.source, task.file, arguments, task.max_states, keep=keep)
        else:
            found = record_call(task.source, task.call, task.file, task.max_states, keep=keep)
    except (SyntaxError, UnicodeDecodeError) as problem:
        return ProgramEnd("uncompilable", message=str(problem))
    except BaseException as error:
        return ProgramEnd("before", *_describe_error(error))
    match found.error:
        case None | SystemExit():
            return ProgramEnd("ran", is_cut=found.trace.is_cut)
        case raised:
            return ProgramEnd("ran", *_describe_error(raised), found.trace.is_cut)


def _describe_error(error: BaseException) -> tuple[str, str]:
    """Return the class of an exception and its text, which the program's code may fail to give."""
    try:
        return type(error).__name__, str(error)
    except BaseException:
        return type(error).__name__, ""


if __name__ == "__main__":
    main()
