"""Record the states of code while it runs.

    with StateRecorder("<program>") as recorder:    the `co_filename` of the program's code
        f(3)
    recorder.states          [ProgramState("call", 1, 0, {"n": "3"}), ProgramState("line", 2, 0)]

The states end early, marked as cut, at the maximum of states, near the recursion limit, or if the
program sets another trace function or a signal handler raises. Not recorded, besides what
`njc.measure.frame_recorder` leaves out: dunder names; items of an asynchronous generator. Before
Python 3.13, a deleted object lives until the next state.
"""

from __future__ import annotations

from typing import Any

from njc.measure.frame_recorder import LEFT, Activation, FrameEvent, FrameRecorder
from njrt.values.introspection import is_user_class
from njrt.values.rendering.one_line import find_write_function, write_by_attributes, write_by_repr
from njrt.values.rendering.writer import ValueWriter, WriteFunction
from spsbench.states.trace import ProgramState

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


class StateRecorder(FrameRecorder):
    """Records states inside a `with` (state: the states so far)."""

    def __init__(self, file: str, max_states: int = MAX_STATES) -> None:
        """Choose what to record; `StateLimitError` ends the program at the maximum of states."""
        super().__init__(lambda code: code.co_filename == file)
        self.is_cut = False
        self.states: list[ProgramState] = []
        self._max_states = max_states

    def lose(self) -> None:
        self.is_cut = True

    def record(self, event: FrameEvent, running: Activation, line: int, value: Any) -> None:
        if self.is_cut:
            return
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
        has_value = event in ("return", "exception") and value is not LEFT
        text = write_value(value) if has_value else None
        depth = len(self._stack) - 1
        self.states.append(ProgramState(event, line, depth, changed, removed, text))
