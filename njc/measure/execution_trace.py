"""The lines that a run executes, and what each line changes, for models that repair code.

    with StepRecorder(lambda code: code.co_filename == "<program>", has_calls=True) as recorder:
        find_sum([3, 4])
    recorder.make_trace()    ExecutionTrace(steps=(LineStep(1, "prices = [3, 4]"), ...))

Values are written as in prompts, bounded, and without calling properties. Not detected: C code,
other threads, changes by a line to another frame's variables, and the insides of comprehensions,
lambdas and generator expressions.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from itertools import groupby, pairwise
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


Span = tuple[tuple[int, int], tuple[int, int]]
"""A start and an end; lines count from 1, and columns, in bytes, from 0."""


@dataclass(slots=True)
class _FrameState:
    inlined: dict[int, int]
    """By instruction of an inlined comprehension (PEP 709), the first line of the outermost one."""
    starts: dict[int, set[int]]
    """Comprehensions' first lines, by the first instruction of their non-inlined first iterable."""
    last: tuple[int, int] = (0, 0)
    """The instruction and the line of the last line event."""
    raised: str = ""
    """The exception that a comprehension raised."""
    values: dict[str, str] = field(default_factory=dict)
    line: int = 0
    """The line that runs; 0 while none of the recorded lines does."""
    is_inside: bool = False
    """Whether the last line was recorded."""

    def list_lines(self, frame: FrameType) -> list[int]:
        """Return the lines that start at a line event; comprehensions are as before Python 3.12."""
        place, (before, last) = frame.f_lasti // 2, self.last
        line = self.inlined.get(place, frame.f_lineno)
        self.last = (place, line)
        is_jump = _get_instruction(frame).startswith("JUMP_BACKWARD")  # from Python 3.13 on
        same = last if place > before and not is_jump else 0
        outer = sorted(self.starts.get(place, set()) - {line, same})
        is_rest = place in self.inlined or (same and before in self.inlined)
        return outer if is_rest and line == last else [*outer, line]


class StepRecorder:
    """Records the steps of code while it is active (state: the steps, the running frames)."""

    def __init__(
        self,
        is_traced: Callable[[CodeType], bool],
        *,
        has_calls: bool = False,
        lines: range | None = None,
        starts: Callable[[FrameType], bool] | None = None,
        max_steps: int = MAX_STEPS,
    ) -> None:
        """Record the steps of some code.

        Args:
            is_traced: whether to record a code object.
            has_calls: also record call arguments, at the head of the function, and returned values.
            lines: record only these lines of all files; entering them restarts the record.
            starts: whether a line event in another frame restarts the record.
            max_steps: the number of steps to keep.
        """
        self._is_traced, self._has_calls = is_traced, has_calls
        self._lines, self._starts, self._max_steps = lines, starts, max_steps
        self._steps: list[LineStep] = []
        self._reached: set[int] = set()
        self._module_lines: set[int] = set()
        self._given = ""
        self._frames: dict[FrameType, _FrameState] = {}
        self._before: Any = None

    def start(self) -> None:
        """Start recording, in functions that are called from now on."""
        self._before = sys.gettrace()
        sys.settrace(self._trace)

    def stop(self) -> None:
        """Stop recording, and restore the previous trace function."""
        sys.settrace(self._before)

    def __enter__(self) -> StepRecorder:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def make_trace(self) -> ExecutionTrace:
        reached = frozenset(self._reached | self._module_lines)
        return ExecutionTrace(tuple(self._steps), reached, self._given)

    def _restart(self) -> None:
        self._steps, self._reached, self._given = [], set(), ""

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not self._is_traced(code):
            return self._watch_starts if self._starts else None
        if is_expression_code(code) or code.co_name == "<lambda>":
            return None
        if (state := self._frames.get(frame)) is None:
            state = self._frames[frame] = _FrameState(*_find_inlined(code))
        is_inlined = frame.f_lasti // 2 in state.inlined  # its values in `f_locals` differ
        match event:
            case "call" | "return" if is_inlined and is_at_yield(frame):
                pass
            case "call":
                self._enter(frame, state)
            case "line":
                for line in state.list_lines(frame):
                    self._finish_line(frame, state)
                    self._begin_line(frame, state, line)
            case "return":
                self._leave(frame, state, argument)
            case "exception" if not is_inlined:
                self._finish_line(frame, state, f"raises {_write(argument[1])}", frame.f_lineno)
            case "exception" if not ends_iteration(argument[1], frame):
                state.raised = f"raises {_write(argument[1])}"
        return self._trace

    def _watch_starts(self, frame: FrameType, event: str, argument: Any) -> Any:
        assert self._starts is not None
        if event == "line" and self._starts(frame):
            self._restart()
        return self._watch_starts

    def _enter(self, frame: FrameType, state: _FrameState) -> None:
        is_resumed = bool(state.values)
        changes = self._find_changes(frame, state)
        is_function = frame.f_code.co_name != "<module>"
        if self._has_calls and self._lines is None and is_function and not is_resumed:
            self._add(frame.f_code.co_firstlineno, changes)

    def _begin_line(self, frame: FrameType, state: _FrameState, line: int) -> None:
        if self._lines is not None:
            was_inside, state.is_inside = state.is_inside, line in self._lines
            if not state.is_inside:
                return
            if not was_inside:
                self._restart()
                self._given = ", ".join(f"{name} = {text}" for name, text in state.values.items())
        state.line = line
        is_module = frame.f_code.co_name == "<module>"
        (self._module_lines if is_module else self._reached).add(line)

    def _finish_line(
        self, frame: FrameType, state: _FrameState, ending: str = "", line: int = 0
    ) -> None:
        if state.line and len(self._steps) < self._max_steps:
            changes = [self._find_changes(frame, state), state.raised or ending]
            self._add(line or state.line, ", ".join(filter(None, changes)))
        elif not state.line and self._lines is not None:
            self._find_changes(frame, state)
        state.line, state.raised = 0, ""

    def _leave(self, frame: FrameType, state: _FrameState, value: Any) -> None:
        is_generator = bool(frame.f_code.co_flags & _GENERATOR_FLAGS)
        says = self._has_calls and frame.f_code.co_name != "<module>" and is_at_exit(frame)
        ends = says and (value is not None or not is_generator)
        word = "gives" if is_generator else "returns"
        self._finish_line(frame, state, f"{word} {_write(value)}" if ends else "")
        if not is_generator:
            self._frames.pop(frame, None)

    def _add(self, line: int, changes: str) -> None:
        if len(self._steps) < self._max_steps:
            self._steps.append(LineStep(line, changes))
        self._reached.add(line)

    @staticmethod
    def _find_changes(frame: FrameType, state: _FrameState) -> str:
        values = {
            name: _write(value)
            for name, value in frame.f_locals.items()
            if name.isidentifier() and not (callable(value) or name.startswith(("_nj", "__")))
        }
        changes = [
            f"{name} = {text}" for name, text in values.items() if state.values.get(name) != text
        ]
        state.values = values
        return ", ".join(changes)


@lru_cache(maxsize=256)
def _find_inlined(code: CodeType) -> tuple[dict[int, int], dict[int, set[int]]]:
    spans = list_spans(code)
    firsts: dict[Span, set[int]] = {}  # the first instructions after the first iterable
    for each in dis.get_instructions(code):
        if each.opname == "LOAD_FAST_AND_CLEAR":
            firsts.setdefault(spans[each.offset // 2], set()).add(each.offset // 2)
    lines: dict[int, int] = {}
    starts: dict[int, set[int]] = {}
    for span in sorted(firsts, reverse=True):  # inner comprehensions before outer ones
        inside = {place: at == span for place, at in enumerate(spans) if is_within(at, span)}
        runs = [list(run) for _, run in groupby(inside, inside.__getitem__)]
        for run, following in pairwise([*runs, []]):
            if firsts[span].isdisjoint(following):
                lines.update(dict.fromkeys(run, span[0][0]))
            else:
                starts.setdefault(run[0], set()).add(span[0][0])
    return lines, {place: outer for place, outer in starts.items() if place not in lines}


@lru_cache(maxsize=256)
def list_spans(code: CodeType) -> list[Span]:
    """Return the place of each instruction in the source."""
    return [
        ((line or 0, column or 0), (end_line or 0, end_column or 0))
        for line, end_line, column, end_column in code.co_positions()
    ]


def is_within(inner: Span, outer: Span) -> bool:
    """Return whether a span is inside another span, or equal to it."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _write(value: Any) -> str:
    return write_brief(value, MAX_VALUE_CHARS)


STATEMENT_CODE = ("<module>", "<lambda>")
"""Names in angle brackets of code objects that have their own lines."""


def is_expression_code(code: CodeType) -> bool:
    """Return whether code is for a comprehension, generator expression or type parameters."""
    return code.co_name.startswith("<") and code.co_name not in STATEMENT_CODE


def is_at_exit(frame: FrameType) -> bool:
    """Return whether a frame is at a `return` or a `yield`."""
    return _get_instruction(frame).startswith("RETURN") or is_at_yield(frame)


def is_at_yield(frame: FrameType) -> bool:
    """Return whether a frame is at a `yield`; its last instruction is RESUME since Python 3.13."""
    return _get_instruction(frame) in ("YIELD_VALUE", "RETURN_GENERATOR", "RESUME")


def ends_iteration(error: BaseException, frame: FrameType) -> bool:
    """Return whether an exception in a frame ends a `for` loop's items, and the loop catches it."""
    return isinstance(error, StopIteration) and _get_instruction(frame) == "FOR_ITER"


def _get_instruction(frame: FrameType) -> str:
    return dis.opname[frame.f_code.co_code[frame.f_lasti]]
