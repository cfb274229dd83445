"""Running a Python program and recording its states.

    record_call("def f(n):\\n    return n + 1\\n", "f(3)")   ->  Recording(StateTrace(...), value=4, error=None)
    record_program(source, "prog.py", ["prog.py"])          the whole program, as `python prog.py` runs it

The program runs in this process, with all its rights: record programs that you trust, or in a process with limits.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from spsbench.states.recording import MAX_STATES, Backend, StateRecorder
from spsbench.states.trace import StateTrace

CALL_FILE = "<program>"


@dataclass(frozen=True, slots=True)
class Recording:
    """A trace, and how the program ended."""

    trace: StateTrace
    value: Any = None
    error: BaseException | None = None


def record_call(
    source: str,
    call: str,
    file: str = CALL_FILE,
    max_states: int = MAX_STATES,
    backend: Backend | None = None,
) -> Recording:
    """Run a program, then record the states of its functions while an expression is evaluated."""
    namespace: dict[str, Any] = {"__name__": "program", "__file__": file}
    exec(compile(source, file, "exec", dont_inherit=True), namespace)
    expression = compile(call, "<call>", "eval", dont_inherit=True)
    return _record(source, file, expression, namespace, max_states, backend)


def record_program(
    source: str,
    file: str,
    arguments: Sequence[str],
    max_states: int = MAX_STATES,
    backend: Backend | None = None,
) -> Recording:
    """Record the states of a whole program; `arguments` are its `sys.argv`."""
    namespace: dict[str, Any] = {
        "__name__": "__main__",
        "__file__": file,
        "__builtins__": __builtins__,
    }
    code = compile(source, file, "exec", dont_inherit=True)
    before, sys.argv = sys.argv, list(arguments)
    try:
        return _record(source, file, code, namespace, max_states, backend)
    finally:
        sys.argv = before


def _record(
    source: str,
    file: str,
    code: CodeType,
    namespace: dict[str, Any],
    max_states: int,
    backend: Backend | None,
) -> Recording:
    recorder = StateRecorder(source, file, max_states, backend)
    value, error = None, None
    with recorder:
        try:
            value = eval(code, namespace)
        except BaseException as raised:
            error = raised
    if isinstance(error, KeyboardInterrupt):
        raise error
    return Recording(StateTrace(source, tuple(recorder.states), recorder.is_cut), value, error)
