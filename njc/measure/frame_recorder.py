"""What code does while it runs, as `sys.settrace` reports it.

    class Lines(FrameRecorder):
        def record(self, event, running, line, value): print(event, line)

    with Lines(lambda code: code.co_filename == "<program>"): ...

A line that repeats with no other line between, such as a loop on one line, is recorded once. Since
Python 3.12, a comprehension is a part of its function, and each of its lines is recorded. Not
recorded: other threads; code in C; the insides of generator expressions, and of comprehensions
before Python 3.12.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, Literal

FrameEvent = Literal["call", "line", "return", "exception"]
"""A generator is left by a return at each `yield`, and entered again by a call."""

STATEMENT_CODE = ("<module>", "<lambda>")
"""Names in angle brackets of code objects that have their own lines."""


@dataclass(slots=True)
class Activation:
    """A running function (state: all but the frame)."""

    frame: FrameType
    shown: dict[str, str] = field(default_factory=dict)
    """Its variables as text, as of the last state."""
    line: int = 0
    """The line that runs."""
    has_raised: bool = False


class FrameRecorder:
    """Records code inside a `with` (state: the running functions, and the last event)."""

    def __init__(self, is_recorded: Callable[[CodeType], bool]) -> None:
        self._is_recorded = is_recorded
        self._stack: list[Activation] = []
        self._last_event: FrameEvent = "call"
        self._before: Any = None
        self._function = self._enter

    def record(self, event: FrameEvent, running: Activation, line: int, value: Any) -> None:
        """Take an event; `value` is the exception, or the result unless an exception leaves."""
        raise NotImplementedError

    def lose(self) -> None:
        """Take that events are missing: near the recursion limit, or after a signal handler."""

    def watch(self, frame: FrameType) -> Any:
        """Return a trace function for a frame with other code."""

    def start(self) -> None:
        """Start recording, in functions that are called from now on."""
        self._before = sys.gettrace()
        sys.settrace(self._function)

    def stop(self) -> None:
        """Stop recording, and restore the previous trace function."""
        if sys.gettrace() is not self._function:
            self.lose()
        sys.settrace(self._before)

    def __enter__(self) -> Any:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not self._is_recorded(code):
            return self.watch(frame)
        if code.co_name.startswith("<") and code.co_name not in STATEMENT_CODE:
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
                self._add("return", frame, LEFT if is_left else argument)
        return self._handle

    def _is_left_by_exception(self, frame: FrameType) -> bool:
        """Return whether an exception leaves a function; `sys.settrace` reports None here, too."""
        instruction = dis.opname[frame.f_code.co_code[frame.f_lasti]]
        if instruction in AT_YIELD:  # an exception was thrown in, or it yields
            last = self._stack[-1]
            # An exception leaves a generator at `yield`, then at most a line of a `with`.
            is_behind = last.has_raised and last.line not in (0, frame.f_lineno)
            return is_behind or self._last_event == "exception"
        return not instruction.startswith("RETURN")

    def _add(self, event: FrameEvent, frame: FrameType, value: Any = None) -> None:
        """Record an event, preceded by a call if the function resumes without one.

        Near the recursion limit there may be no room for this.
        """
        try:
            self._add_event(event, frame, value)
        except RecursionError:
            self.lose()

    def _add_event(self, event: FrameEvent, frame: FrameType, value: Any) -> None:
        if not self._stack or self._stack[-1].frame is not frame:
            frames = [running.frame for running in self._stack]
            if frame in frames:  # the return of an inner function was not seen
                del self._stack[frames.index(frame) + 1 :]
                self.lose()
            else:
                self._stack.append(Activation(frame))
                self._record("call", frame, None)
                if event == "call":
                    return
        if event == "line" and self._stack[-1].line == frame.f_lineno:
            return
        self._record(event, frame, value)
        if event == "exception":
            self._stack[-1].has_raised = True
        if event == "return":
            self._stack.pop()

    def _record(self, event: FrameEvent, frame: FrameType, value: Any) -> None:
        line = max(1, frame.f_lineno or frame.f_code.co_firstlineno)
        self.record(event, self._stack[-1], line, value)
        self._last_event = event
        if event == "line":
            self._stack[-1].line = line


AT_YIELD = ("YIELD_VALUE", "RETURN_GENERATOR", "RESUME")
"""The last instruction of a generator at a `yield`; RESUME since Python 3.13."""
LEFT = object()
"""The value of a return by an exception."""
