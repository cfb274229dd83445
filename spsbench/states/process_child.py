"""The process that records a program, started by `spsbench.states.process`.

    FOLDER/task.json        ->  FOLDER/started          when the program is started
                                FOLDER/states.jsonl     one line for each state, when it is recorded
                                FOLDER/end.json         how the program ended

The program has the standard input of the command, and its standard error in place of standard output. A process that
the program makes by `os.fork` writes nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

from njc.evaluation.repair.time_limit import TimeLimitError, limit_time
from njrt.typed_json import to_json
from spsbench.states.process import STARTED, ProgramEnd, ProgramTask
from spsbench.states.programs import Recording, record_call, record_program
from spsbench.states.trace import ProgramState


def main(name: str) -> None:
    """Record the program of a folder."""
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
    """Have this process killed when its parent ends, where the system can (Linux)."""
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
    return _describe_end(found)


def _describe_end(found: Recording) -> ProgramEnd:
    is_cut = found.trace.is_cut
    match found.error:
        case None | SystemExit():
            return ProgramEnd("ran", is_cut=is_cut)
        case TimeLimitError():
            return ProgramEnd("timed_out")
        case error:
            return ProgramEnd("ran", *_describe_error(error), is_cut)


def _describe_error(error: BaseException) -> tuple[str, str]:
    """Return the class of an exception and its text, which the program may be unable to give."""
    try:
        return type(error).__name__, str(error)
    except BaseException:
        return type(error).__name__, ""
