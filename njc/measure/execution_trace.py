"""The lines that a run executes, and what each line changes, for models that repair code.

    with StepRecorder(lambda code: code.co_filename == "<program>") as recorder:
        find_sum([3, 4])
    recorder.make_trace()    ExecutionTrace(steps=(LineStep(1, "prices = [3, 4]"), ...))

Values are written as in prompts, bounded, and without calling properties. A line that repeats with
no other line between, such as a loop on one line, is recorded once. Not recorded: other threads;
code in C; lambdas, the insides of generator expressions, and of comprehensions before Python 3.12;
changes by a line to another frame's variables.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from types import CodeType, FrameType
from typing import Any

from njrt.data.records import record
from njrt.values.rendering.one_line import write_brief

MAX_STEPS = 500
MAX_VALUE_CHARS = 120
_GENERATOR_FLAGS = 0x20 | 0x80 | 0x200
"""Flags of code that is left and re-entered: generators, coroutines, asynchronous generators."""


@record
class LineStep:
    """A line's execution: the variables changed, and the value returned or exception raised."""

    line: int
    changes: str


@record
class ExecutionTrace:
    """The steps of a run."""

    steps: tuple[LineStep, ...] = ()
    """The first `MAX_STEPS` steps."""
    reached: frozenset[int] = frozenset()
    """All lines that were executed, including by steps that were not kept."""
    given: str = ""
    """The variables on entry to the recorded lines, if only part of a file is recorded."""

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "reached": sorted(self.reached)}


@dataclass(slots=True)
class _Activation:
    """A running function (state: all of it)."""

    shown: dict[str, str] = field(default_factory=dict)
    """Its variables as text, as of the last step."""
    line: int = 0
    """The line that runs."""
    raised: str = ""
    """What this line has raised."""


class StepRecorder:
    """Records the steps of code while it is active (state: the steps so far)."""

    def __init__(
        self,
        is_recorded: Callable[[CodeType], bool],
        *,
        lines: range | None = None,
        left: Callable[[], object] = bool,
    ) -> None:
        """Record the last call of some code from outside it, or the last run of some lines.

        Args:
            is_recorded: whether to record a code object.
            lines: record only these lines of all files; entering them restarts the record.
            left: called when these lines are left, or as many steps as are kept have been made.
        """
        self._is_recorded, self._lines, self._left = is_recorded, lines, left
        self._steps: list[LineStep] = []
        self._reached: set[int] = set()
        self._module_lines: set[int] = set()
        self._given = ""
        self._depth = 0
        self._before: Any = None

    def make_trace(self) -> ExecutionTrace:
        reached = frozenset(self._reached | self._module_lines)
        return ExecutionTrace(tuple(self._steps), reached, self._given)

    def start(self) -> None:
        """Start recording, in functions that are called from now on."""
        self._before = sys.gettrace()
        sys.settrace(self._enter)

    def __enter__(self) -> StepRecorder:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not self._is_recorded(code) or (code.co_name[0] == "<" and code.co_name != "<module>"):
            return None
        running = _Activation()
        with suppress(RecursionError):
            changes = _find_changes(running, frame)
            if self._lines is None and code.co_name != "<module>" and _is_new(frame):
                if not self._depth:
                    self._restart()
                self._add_step(frame.f_lineno, changes)
        self._depth += 1
        return partial(self._handle, running)

    def _handle(self, running: _Activation, frame: FrameType, event: str, argument: Any) -> Any:
        with suppress(RecursionError):
            match event:
                case "line" if running.line != frame.f_lineno:
                    self._finish_line(running, frame)
                    self._begin_line(running, frame)
                case "exception":
                    running.raised = f"raises {_write(argument[1])}"
                case "return":
                    self._depth -= 1
                    self._finish_line(running, frame, _describe_return(frame, argument))
                    if self._is_inside(running.line):
                        self._left()
        return partial(self._handle, running)

    def _restart(self) -> None:
        self._steps, self._reached, self._given = [], set(), ""

    def _is_inside(self, line: int) -> bool:
        return self._lines is not None and line in self._lines

    def _begin_line(self, running: _Activation, frame: FrameType) -> None:
        line = frame.f_lineno
        was_inside, is_inside = self._is_inside(running.line), self._is_inside(line)
        running.line = line
        if self._lines is not None and not is_inside:
            if was_inside:
                self._left()
            return
        if is_inside and not was_inside:
            self._restart()
            self._given = ", ".join(f"{name} = {text}" for name, text in running.shown.items())
        is_module = frame.f_code.co_name == "<module>"
        (self._module_lines if is_module else self._reached).add(line)

    def _finish_line(self, running: _Activation, frame: FrameType, ending: str = "") -> None:
        changes = _find_changes(running, frame)
        ending, running.raised = running.raised or ending, ""
        if running.line and (self._lines is None or self._is_inside(running.line)):
            self._add_step(running.line, ", ".join(filter(None, (changes, ending))))

    def _add_step(self, line: int, changes: str) -> None:
        if len(self._steps) < MAX_STEPS:
            self._steps.append(LineStep(line, changes))
            if len(self._steps) == MAX_STEPS:
                self._left()
        self._reached.add(line)


def _is_new(frame: FrameType) -> bool:
    """Return whether a function begins, and no generator goes on."""
    return frame.f_lineno == frame.f_code.co_firstlineno


def _describe_return(frame: FrameType, value: Any) -> str:
    code = frame.f_code
    is_generator = bool(code.co_flags & _GENERATOR_FLAGS)
    # `sys.settrace` reports None also if an exception leaves the function.
    has_value = dis.opname[code.co_code[frame.f_lasti]].startswith("RETURN")
    if code.co_name == "<module>" or (value is None and (is_generator or not has_value)):
        return ""
    return f"{'gives' if is_generator else 'returns'} {_write(value)}"


def _find_changes(running: _Activation, frame: FrameType) -> str:
    now = {
        name: _write(value)
        for name, value in frame.f_locals.items()
        if name.isidentifier() and not (callable(value) or name.startswith(("_nj", "__")))
    }
    before, running.shown = running.shown, now
    return ", ".join(f"{name} = {text}" for name, text in now.items() if before.get(name) != text)


def _write(value: Any) -> str:
    return write_brief(value, MAX_VALUE_CHARS)
