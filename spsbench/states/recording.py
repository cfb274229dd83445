"""Record the states of code while it runs.

    with StateRecorder(source, "<program>") as recorder:    the program's text, its `co_filename`
        f(3)
    recorder.states          [ProgramState("call", 1, 0, {"n": "3"}), ProgramState("line", 2, 0)]

The states end early, marked as cut, at the maximum of states, near the recursion limit, or if the
program sets another trace function or a signal handler raises. A comprehension without `await` is
one line.

Not recorded: other threads; code in C; the insides of comprehensions and generator expressions;
dunder names; items of an asynchronous generator. Before Python 3.13, a deleted object lives until
the next state.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from njc.measure.execution_trace import (
    Span,
    ends_iteration,
    is_at_exit,
    is_at_yield,
    is_expression_code,
    is_within,
    list_spans,
)
from njrt.values.introspection import is_user_class
from njrt.values.rendering.one_line import find_write_function, write_by_attributes, write_by_repr
from njrt.values.rendering.writer import ValueWriter, WriteFunction
from spsbench.states.trace import ProgramState, StateEvent

MAX_STATES = 10_000
MAX_VALUE_CHARS = 400
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)

KeepState = Callable[[ProgramState], None]
"""Called with each state."""


def write_value(value: object) -> str:
    """Return a value as text of at most 400 characters, without running the program's code."""
    return ValueWriter(_find_write_function).write_brief(value, MAX_VALUE_CHARS)


def _find_write_function(cls: type) -> WriteFunction:
    write = find_write_function(cls)
    return write_by_attributes if write is write_by_repr and is_user_class(cls) else write


class StateLimitError(BaseException):
    """The program has reached the maximum of states."""


@dataclass(slots=True)
class _Activation:
    """A running function (state: its variables as of the last state)."""

    frame: FrameType
    shown: dict[str, str] = field(default_factory=dict)
    line: int = 0
    """The line of its last `line` event."""
    has_raised: bool = False
    offset: int = -1
    """The offset of the instruction with the last line event, even if that was not a state."""
    event_line: int = 0
    """The line of this event."""
    comprehension: Span | None = None
    """The comprehension that contains this instruction."""


class StateRecorder:
    """Records states inside a `with`, as a trace function.

    State: the states so far, the running functions, and the previous trace function.
    """

    def __init__(
        self,
        source: str,
        file: str,
        max_states: int = MAX_STATES,
        *,
        ends_program: bool = False,
        keep: KeepState | None = None,
    ) -> None:
        """Choose what to record; with `ends_program`, `StateLimitError` ends it at the state limit.

        `keep` is called with each state as it is recorded.
        """
        self.is_cut = False
        self._ends_program = ends_program
        self._file = file
        nodes = list(ast.walk(ast.parse(source)))
        self._comprehensions = [
            _get_span(node) for node in nodes if isinstance(node, COMPREHENSIONS)
        ]
        self._lambdas = [_get_span(node) for node in nodes if isinstance(node, ast.Lambda)]
        self._max_states = max_states
        self.states: list[ProgramState] = []
        self._keep = keep
        self._stack: list[_Activation] = []
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
        if self.is_cut or code.co_filename != self._file or is_expression_code(code):
            return None
        self._add("call", frame)
        return self._handle

    def _handle(self, frame: FrameType, event: str, argument: Any) -> Any:
        if self.is_cut:
            return None
        match event:
            case "line":
                self._add("line", frame)
            # From Python 3.12 on, a comprehension is part of the function.
            case "exception" if not (
                ends_iteration(argument[1], frame) and self._find_comprehension(frame)
            ):
                self._add("exception", frame, write_value(argument[1]))
            case "return":
                is_left = argument is None and self._is_left_by_exception(frame)
                self._add("return", frame, None if is_left else write_value(argument))
        return self._handle

    def _is_left_by_exception(self, frame: FrameType) -> bool:
        """Return whether an exception leaves a function; `sys.settrace` reports None here, too."""
        if is_at_yield(frame):  # an exception was thrown into a generator, or it yields
            return self._is_unwinding(frame)
        return not is_at_exit(frame)

    def _add(self, event: StateEvent, frame: FrameType, value: str | None = None) -> None:
        """Record a state of a function, preceded by a call if the function resumes without one.

        Near the recursion limit there may be no room for this; the states then end here.
        """
        try:
            self._add_state(event, frame, value)
        except RecursionError:
            self.is_cut = True

    def _add_state(self, event: StateEvent, frame: FrameType, value: str | None) -> None:
        if self.is_cut:
            return
        if not self._stack or self._stack[-1].frame is not frame:
            if any(activation.frame is frame for activation in self._stack):
                self.is_cut = True  # the return of an inner function was not seen
                return
            self._stack.append(_Activation(frame))
            self._append("call", frame, None)
            if event == "call":
                return
        if event == "line":
            if not self._begins_line(frame):
                return
            self._stack[-1].line = self._get_line(frame)
        self._append(event, frame, value)
        if event == "exception":
            self._stack[-1].has_raised = True
        if event == "return":
            self._stack.pop()

    def _is_unwinding(self, frame: FrameType) -> bool:
        """Return whether an exception leaves a generator at `yield`, then at most a `with` line."""
        last = self._stack[-1]
        is_behind = last.has_raised and last.line not in (0, self._get_line(frame))
        return is_behind or self.states[-1].event == "exception"

    def _begins_line(self, frame: FrameType) -> bool:
        """Return whether a line event is a state; a comprehension counts as one line, its first.

        Python 3.12 and later run it as part of the function, with separate line events from its
        iterable on.
        """
        last, offset = self._stack[-1], frame.f_lasti
        is_forward, last.offset = offset > last.offset, offset
        line_before, last.event_line = last.event_line, frame.f_lineno
        before, last.comprehension = last.comprehension, self._find_comprehension(frame)
        if (here := last.comprehension) is None:
            is_rest_of_line = before is not None and before[0][0] == frame.f_lineno != line_before
            return not (is_rest_of_line and is_forward)
        (first, _), (final, _) = here
        if offset == _find_first_offset(frame.f_code, here):
            return not (last.line == first and is_forward)
        return before != here and last.line != 0 and not first <= last.line <= final

    def _find_comprehension(self, frame: FrameType) -> Span | None:
        """Return the outermost comprehension around a frame's instruction in the same function."""
        if not self._comprehensions:
            return None
        at = list_spans(frame.f_code)[max(frame.f_lasti, 0) // 2]
        if at[0] == at[1]:  # the start of a function has no columns
            return None
        within: Span | None = None
        if frame.f_code.co_name == "<lambda>":
            within = max((span for span in self._lambdas if is_within(at, span)), default=None)
        return min(
            (
                span
                for span in self._comprehensions
                if is_within(at, span) and (within is None or is_within(span, within))
            ),
            default=None,
        )

    def _get_line(self, frame: FrameType) -> int:
        found = self._find_comprehension(frame)
        return found[0][0] if found else max(1, frame.f_lineno or frame.f_code.co_firstlineno)

    def _append(self, event: StateEvent, frame: FrameType, value: str | None) -> None:
        if len(self.states) == self._max_states:
            self.is_cut = True
            if self._ends_program:
                raise StateLimitError
            return
        activation = self._stack[-1]
        changed: dict[str, str] = {}
        removed: tuple[str, ...] = ()
        if event != "exception":
            now = {
                name: write_value(value)
                for name, value in frame.f_locals.items()
                if not (name.startswith("__") and name.endswith("__")) and not name.startswith(".")
            }
            before, activation.shown = activation.shown, now
            changed = {name: text for name, text in now.items() if before.get(name) != text}
            removed = tuple(sorted(before.keys() - now.keys()))
        line = self._get_line(frame)
        state = ProgramState(event, line, len(self._stack) - 1, changed, removed, value)
        if self._keep is not None:
            self._keep(state)
        self.states.append(state)


def _get_span(node: ast.expr) -> Span:
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


@functools.lru_cache(maxsize=256)
def _find_first_offset(code: CodeType, span: Span) -> int:
    """Return the offset of the first instruction in a part of the program."""
    return 2 * next(n for n, at in enumerate(list_spans(code)) if is_within(at, span))
