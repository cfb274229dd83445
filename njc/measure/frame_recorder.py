"""What code does while it runs, as `sys.settrace` reports it, with comprehensions as one line each.

    class Lines(FrameRecorder):
        def record(self, event, running, line, value): print(event, line)

    with Lines(lambda code: code.co_filename == "<program>"): ...

Since Python 3.12, a comprehension is part of its function, with line events and variables of its
own; here it is the line where it begins, in all versions. Not recorded: other threads; code in C;
the insides of comprehensions and generator expressions.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, Literal

FrameEvent = Literal["call", "line", "return", "exception"]
"""A generator is left by a return at each `yield`, and entered again by a call."""
Span = tuple[tuple[int, int], tuple[int, int]]
"""A start and an end; lines count from 1, and columns, in bytes, from 0."""

STATEMENT_CODE = ("<module>", "<lambda>")
"""Names in angle brackets of code objects that have their own lines."""
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>")


@dataclass(slots=True)
class Activation:
    """A running function (state: all but the frame)."""

    frame: FrameType
    shown: dict[str, str] = field(default_factory=dict)
    """Its variables as text, as of the last state."""
    line: int = 0
    """The line that runs."""
    has_raised: bool = False
    offset: int = -1
    """The offset of the instruction with the last line event, even if that was not recorded."""
    event_line: int = 0
    """The line of this event."""
    comprehension: Span | None = None
    """The comprehension that contains this instruction."""


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
            case "exception" if not (
                isinstance(argument[1], StopIteration)
                and _get_instruction(frame) == "FOR_ITER"
                and _find_comprehension(frame)
            ):
                self._add("exception", frame, argument[1])
            case "return":
                is_left = argument is None and self._is_left_by_exception(frame)
                self._add("return", frame, LEFT if is_left else argument)
        return self._handle

    def _is_left_by_exception(self, frame: FrameType) -> bool:
        """Return whether an exception leaves a function; `sys.settrace` reports None here, too."""
        if _get_instruction(frame) in AT_YIELD:  # an exception was thrown in, or it yields
            last = self._stack[-1]
            # An exception leaves a generator at `yield`, then at most a line of a `with`.
            is_behind = last.has_raised and last.line not in (0, _get_line(frame))
            return is_behind or self._last_event == "exception"
        return not _get_instruction(frame).startswith("RETURN")

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
        if event == "line" and not self._begins_line(frame):
            return
        self._record(event, frame, value)
        if event == "exception":
            self._stack[-1].has_raised = True
        if event == "return":
            self._stack.pop()

    def _record(self, event: FrameEvent, frame: FrameType, value: Any) -> None:
        self.record(event, self._stack[-1], _get_line(frame), value)
        self._last_event = event
        if event == "line":
            self._stack[-1].line = _get_line(frame)

    def _begins_line(self, frame: FrameType) -> bool:
        """Return whether a line event is not of the rest, or of the inside, of a comprehension."""
        last, here = self._stack[-1], _find_comprehension(frame)
        is_forward, last.offset = frame.f_lasti > last.offset, frame.f_lasti
        if _get_instruction(frame).startswith("JUMP_BACKWARD"):  # an event since Python 3.13
            last.offset = -1
        line_before, last.event_line = last.event_line, frame.f_lineno
        before, last.comprehension = last.comprehension, here
        is_same = last.line == _get_line(frame) and is_forward
        if here is None:
            return not (before is not None and is_same and line_before != frame.f_lineno)
        is_start = _find_comprehensions(frame.f_code).index(here) == frame.f_lasti // 2
        return (is_start or before != here) and not is_same


AT_YIELD = ("YIELD_VALUE", "RETURN_GENERATOR", "RESUME")
"""The last instruction of a generator at a `yield`; RESUME since Python 3.13."""
LEFT = object()
"""The value of a return by an exception."""


def _get_instruction(frame: FrameType) -> str:
    return dis.opname[frame.f_code.co_code[frame.f_lasti]]


def _get_line(frame: FrameType) -> int:
    found = _find_comprehension(frame)
    return found[0][0] if found else max(1, frame.f_lineno or frame.f_code.co_firstlineno)


def _find_comprehension(frame: FrameType) -> Span | None:
    return _find_comprehensions(frame.f_code)[max(frame.f_lasti, 0) // 2]


@lru_cache(maxsize=256)
def _find_comprehensions(code: CodeType) -> list[Span | None]:
    """Return the outermost comprehension around each instruction of a function."""
    spans: list[Span] = [
        ((line or 0, column or 0), (end_line or 0, end_column or 0))
        for line, end_line, column, end_column in code.co_positions()
    ]
    found = {
        spans[each.offset // 2]
        for each in dis.get_instructions(code)
        if each.opname == "LOAD_FAST_AND_CLEAR"  # an inlined one, as since Python 3.12
        or (isinstance(each.argval, CodeType) and each.argval.co_name in _COMPREHENSIONS)
    }
    return [
        min((span for span in found if span[0] <= at[0] and at[1] <= span[1]), default=None)
        if at[0] != at[1]  # the start of a function has no columns
        else None
        for at in spans
    ]
