"""Record the states of code while it runs, as `sys.settrace` reports it.

    with StateRecorder("<program>") as recorder:    the `co_filename` of the program's code
        f(3)
    recorder.states          [ProgramState("call", 1, 0, {"n": "3"}), ProgramState("line", 2, 0)]

A line that repeats with no other line between, such as a loop on one line, is recorded once. Since
Python 3.12, a comprehension is a part of its function, and each of its lines is recorded. The
states end early, marked as cut, at the maximum of states, near the recursion limit, or if the
program sets another trace function or a signal handler raises. Not recorded: other threads; code in
C; the insides of generator expressions, and of comprehensions before Python 3.12; dunder names;
items of an asynchronous generator. Before Python 3.13, a deleted object lives until the next state.
"""

from __future__ import annotations

import dis
import sys
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from njrt.values.introspection import is_user_class
from njrt.values.rendering.one_line import find_write_function, write_by_attributes, write_by_repr
from njrt.values.rendering.writer import ValueWriter, WriteFunction
from spsbench.states.trace import ProgramState, StateEvent

MAX_STATES = 10_000
MAX_VALUE_CHARS = 400


def write_value(value: object) -> str:
    """Return a value as text of at most 400 characters, without running the program's code."""
    return ValueWriter(_find_write_function).write_brief(value, MAX_VALUE_CHARS)


def _find_write_function(cls: type) -> WriteFunction:
    write = find_write_function(cls)
    return write_by_attributes if write is write_by_repr and is_user_class(cls) else write


class StateLimitError(BaseException):
    """The program has reached the maximum of states."""


_STATEMENT_CODE = ("<module>", "<lambda>")
"""Names in angle brackets of code objects that have their own lines."""
_AT_YIELD = ("YIELD_VALUE", "RETURN_GENERATOR", "RESUME")
"""The last instruction of a generator at a `yield`; RESUME since Python 3.13."""
_LEFT = object()
"""The value of a return by an exception."""


@dataclass(slots=True)
class _Activation:
    """A running function (state: all but the frame)."""

    frame: FrameType
    shown: dict[str, str] = field(default_factory=dict)
    """Its variables as text, as of the last state."""
    line: int = 0
    """The line that runs."""
    has_raised: bool = False


class StateRecorder:
    """Records states inside a `with` (state: the states so far, and the running functions)."""

    def __init__(self, file: str, max_states: int = MAX_STATES) -> None:
        """Choose what to record; `StateLimitError` ends the program at the maximum of states."""
        self.is_cut = False
        self.states: list[ProgramState] = []
        self._file, self._max_states = file, max_states
        self._stack: list[_Activation] = []
        self._last_event: StateEvent = "call"
        self._before: Any = None
        self._function = self._enter

    def __enter__(self) -> StateRecorder:
        self._before = sys.gettrace()
        sys.settrace(self._function)
        return self

    def __exit__(self, *_: object) -> None:
        if sys.gettrace() is not self._function:
            self.is_cut = True
        sys.settrace(self._before)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if code.co_filename != self._file:
            return None
        if code.co_name.startswith("<") and code.co_name not in _STATEMENT_CODE:
            return None
        self._add("call", frame)
        return self._handle

    def _handle(self, frame: FrameType, event: str, argument: Any) -> Any:
        match event:
            case "line":
                self._add("line", frame)
            case "exception":
                self._add("exception", frame, argument[1])
            case "return":
                is_left = argument is None and self._is_left_by_exception(frame)
                self._add("return", frame, _LEFT if is_left else argument)
        return self._handle

    def _is_left_by_exception(self, frame: FrameType) -> bool:
        """Return whether an exception leaves a function; `sys.settrace` reports None here, too."""
        instruction = dis.opname[frame.f_code.co_code[frame.f_lasti]]
        if instruction in _AT_YIELD:  # an exception was thrown in, or it yields
            last = self._stack[-1]
            # An exception leaves a generator at `yield`, then at most a line of a `with`.
            is_behind = last.has_raised and last.line not in (0, frame.f_lineno)
            return is_behind or self._last_event == "exception"
        return not instruction.startswith("RETURN")

    def _add(self, event: StateEvent, frame: FrameType, value: Any = None) -> None:
        """Record an event, preceded by a call if the function resumes without one.

        Near the recursion limit there may be no room for this.
        """
        try:
            self._add_event(event, frame, value)
        except RecursionError:
            self.is_cut = True

    def _add_event(self, event: StateEvent, frame: FrameType, value: Any) -> None:
        if not self._stack or self._stack[-1].frame is not frame:
            frames = [running.frame for running in self._stack]
            if frame in frames:  # the return of an inner function was not seen
                del self._stack[frames.index(frame) + 1 :]
                self.is_cut = True
            else:
                self._stack.append(_Activation(frame))
                self._record("call", frame, None)
                if event == "call":
                    return
        running = self._stack[-1]
        if event == "line" and running.line == frame.f_lineno:
            return
        self._record(event, frame, value)
        running.has_raised |= event == "exception"
        if event == "return":
            self._stack.pop()

    def _record(self, event: StateEvent, frame: FrameType, value: Any) -> None:
        running, line = self._stack[-1], max(1, frame.f_lineno or frame.f_code.co_firstlineno)
        if not self.is_cut:
            self._keep(event, running, line, value)
        self._last_event = event
        if event == "line":
            running.line = line

    def _keep(self, event: StateEvent, running: _Activation, line: int, value: Any) -> None:
        if len(self.states) == self._max_states:
            self.is_cut = True
            raise StateLimitError
        changed: dict[str, str] = {}
        removed: tuple[str, ...] = ()
        if event != "exception":
            now = {
                name: write_value(held)
                for name, held in running.frame.f_locals.items()
                if not (name.startswith("__") and name.endswith("__")) and not name.startswith(".")
            }
            before, running.shown = running.shown, now
            changed = {name: text for name, text in now.items() if before.get(name) != text}
            removed = tuple(sorted(before.keys() - now.keys()))
        has_value = event in ("return", "exception") and value is not _LEFT
        text = write_value(value) if has_value else None
        depth = len(self._stack) - 1
        self.states.append(ProgramState(event, line, depth, changed, removed, text))
