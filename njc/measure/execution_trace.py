"""The lines that a run executes, and what each line changes, for models that repair code.

    with StepRecorder(lambda code: code.co_filename == "<program>") as recorder:
        find_sum([3, 4])
    recorder.make_trace()    ExecutionTrace(steps=(LineStep(1, "prices = [3, 4]"), ...))

Values are written as in prompts, bounded, and without calling properties. Not detected, besides
what `njc.measure.frame_recorder` leaves out: changes by a line to another frame's variables, and
lambdas.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from types import CodeType, FrameType
from typing import Any

from njc.measure.frame_recorder import LEFT, Activation, FrameEvent, FrameRecorder
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


class StepRecorder(FrameRecorder):
    """Records the steps of code while it is active (state: the steps so far)."""

    def __init__(
        self,
        is_recorded: Callable[[CodeType], bool],
        *,
        lines: range | None = None,
        left: Callable[[], object] = bool,
        starts: Callable[[FrameType], bool] | None = None,
    ) -> None:
        """Record the steps of some code.

        Args:
            is_recorded: whether to record a code object.
            lines: record only these lines of all files; entering them restarts the record.
            left: called when these lines are left, or as many steps as are kept have been made.
            starts: whether a line event in another frame restarts the record.
        """
        super().__init__(lambda code: code.co_name != "<lambda>" and is_recorded(code))
        self._lines, self._left, self._starts = lines, left, starts
        self._steps: list[LineStep] = []
        self._reached: set[int] = set()
        self._module_lines: set[int] = set()
        self._given = ""
        self._raised: dict[FrameType, str] = {}
        """What the line that runs in a frame has raised."""

    def make_trace(self) -> ExecutionTrace:
        reached = frozenset(self._reached | self._module_lines)
        return ExecutionTrace(tuple(self._steps), reached, self._given)

    def watch(self, frame: FrameType) -> Any:
        return self._watch_line if self._starts else None

    def _watch_line(self, frame: FrameType, event: str, argument: Any) -> Any:
        assert self._starts is not None
        if event == "line" and self._starts(frame):
            self._restart()
        return self._watch_line

    def _restart(self) -> None:
        self._steps, self._reached, self._given = [], set(), ""

    def record(self, event: FrameEvent, running: Activation, line: int, value: Any) -> None:
        frame = running.frame
        is_module = frame.f_code.co_name == "<module>"
        is_generator = bool(frame.f_code.co_flags & _GENERATOR_FLAGS)
        match event:
            case "call":
                running.shown, changes = {}, self._find_changes(running)
                is_resumed = frame.f_lineno != frame.f_code.co_firstlineno
                if self._lines is None and not is_module and not is_resumed:
                    self._add_step(line, changes)
            case "line":
                self._finish_line(running)
                self._begin_line(running, line, is_module)
            case "exception":
                self._raised[frame] = f"raises {_write(value)}"
            case "return":
                says = not is_module and value is not LEFT and not (is_generator and value is None)
                word = "gives" if is_generator else "returns"
                self._finish_line(running, f"{word} {_write(value)}" if says else "")
                if self._is_inside(running.line):
                    self._left()

    def _is_inside(self, line: int) -> bool:
        return self._lines is not None and line in self._lines

    def _begin_line(self, running: Activation, line: int, is_module: bool) -> None:
        was_inside, is_inside = self._is_inside(running.line), self._is_inside(line)
        if self._lines is not None and not is_inside:
            if was_inside:
                self._left()
            return
        if is_inside and not was_inside:
            self._restart()
            self._given = ", ".join(f"{name} = {text}" for name, text in running.shown.items())
        (self._module_lines if is_module else self._reached).add(line)

    def _finish_line(self, running: Activation, ending: str = "") -> None:
        changes = self._find_changes(running)
        raised = self._raised.pop(running.frame, "")
        if running.line and (self._lines is None or self._is_inside(running.line)):
            self._add_step(running.line, ", ".join(filter(None, (changes, raised or ending))))

    def _add_step(self, line: int, changes: str) -> None:
        if len(self._steps) < MAX_STEPS:
            self._steps.append(LineStep(line, changes))
            if len(self._steps) == MAX_STEPS:
                self._left()
        self._reached.add(line)

    @staticmethod
    def _find_changes(running: Activation) -> str:
        now = {
            name: _write(value)
            for name, value in running.frame.f_locals.items()
            if name.isidentifier() and not (callable(value) or name.startswith(("_nj", "__")))
        }
        before, running.shown = running.shown, now
        changes = [f"{name} = {text}" for name, text in now.items() if before.get(name) != text]
        return ", ".join(changes)


def _write(value: Any) -> str:
    return write_brief(value, MAX_VALUE_CHARS)
