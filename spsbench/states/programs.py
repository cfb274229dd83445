"""Run a Python program and record its states.

    record_call("def f(n):\\n    return n + 1\\n", "f(3)")   Recording(..., value=4, error=None)
    record_program(source, "prog.py", ["prog.py"])         as `python prog.py` runs it

The program runs in this process, with all its rights: record only trusted programs. It ends at the
maximum of states.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, ModuleType
from typing import Any

from spsbench.states.recording import MAX_STATES, StateRecorder
from spsbench.states.trace import StateTrace

CALL_FILE = "<program>"


@dataclass(frozen=True, slots=True)
class Recording:
    """A trace, and how the program ended."""

    trace: StateTrace
    value: Any = None
    error: BaseException | None = None
    """The exception that ended the program; may be a `KeyboardInterrupt` or a `StateLimitError`."""
    names: dict[str, Any] = field(default_factory=dict)
    """The namespace of its module."""


def record_call(
    source: str, call: str, file: str = CALL_FILE, max_states: int = MAX_STATES
) -> Recording:
    """Run a program, then record the states of its functions while an expression is evaluated."""
    program = compile(source, file, "exec", dont_inherit=True)
    expression = compile(call, "<call>", "eval", dont_inherit=True)
    with _installed_module("program", file) as namespace:
        exec(program, namespace)
        return _record(source, expression, namespace, StateRecorder(file, max_states))


def record_program(
    source: str, file: str, arguments: Sequence[str], max_states: int = MAX_STATES
) -> Recording:
    """Record the states of a whole program; `arguments` are its `sys.argv`."""
    code = compile(source, file, "exec", dont_inherit=True)
    before, sys.argv = sys.argv, list(arguments)
    try:
        with _installed_module("__main__", file) as namespace:
            return _record(source, code, namespace, StateRecorder(file, max_states))
    finally:
        sys.argv = before


@contextmanager
def _installed_module(name: str, file: str) -> Iterator[dict[str, Any]]:
    """Yield a new importable module's namespace; files beside the program can be imported too."""
    module = ModuleType(name)
    module.__file__ = file
    before, sys.modules[name] = sys.modules.get(name), module
    folder = None if file == CALL_FILE else os.path.dirname(os.path.abspath(file))
    if folder is not None:
        sys.path.insert(0, folder)
    try:
        yield vars(module)
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
        if before is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = before


def _record(
    source: str, code: CodeType, namespace: dict[str, Any], recorder: StateRecorder
) -> Recording:
    value, error = None, None
    try:
        with recorder:
            value = eval(code, namespace)
    except BaseException as raised:
        error = raised
    trace = StateTrace(source, tuple(recorder.states), recorder.is_cut)
    return Recording(trace, value, error, namespace)
