"""The states of one execution, as data and as JSON Lines.

    def f(n):            {"kind": "source", "source": "def f(n):\\n    return n + 1\\n"}
        return n + 1     {"kind": "state", "event": "call", "line": 1, "changed": {"n": "3"}, ...}
                         {"kind": "state", "event": "line", "line": 2, "changed": {}, ...}
    f(3)                 {"kind": "state", "event": "return", "line": 2, "value": "4", ...}
                         {"kind": "end", "states": 3, "is_cut": false}

The states are in chronological order. With their depths they form a tree in preorder: a call is the
parent of the states after it that are deeper than its caller's, up to its return.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from njrt.values.dataclass_json import InvalidJsonError, from_json, to_json
from spsbench.results import InputError, build_line_type

StateEvent = Literal["call", "line", "return", "exception"]
Locals = Mapping[str, str]
"""Variables as text."""


@dataclass(frozen=True, slots=True)
class ProgramState:
    """One state of a program.

        call         a function is entered; `changed` has its arguments
        line         a line is about to run; `changed` has the changes since the function's last
                     `call` or `line`
        exception    an exception was raised, or has reached this function; `value` is the exception
        return       a function is left; `value` is its result, None if an exception leaves it;
                     `changed` has the changes by its last line

    A generator is left at each `yield` by a return and entered again by a call.
    """

    event: StateEvent
    line: int
    """The line number, from 1."""
    depth: int
    """The number of the program's running functions around this one."""
    changed: dict[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    """Variables that are no longer bound, in alphabetical order."""
    value: str | None = None
    kind: Literal["state"] = field(default="state", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class StateTrace:
    """The states of one execution of a source text."""

    source: str
    states: tuple[ProgramState, ...]
    is_cut: bool = False
    """Whether states are missing at the end, for example because there were too many."""


@dataclass(frozen=True, slots=True)
class _SourceLine:
    source: str
    kind: Literal["source"] = "source"


@dataclass(frozen=True, slots=True)
class _EndLine:
    states: int
    is_cut: bool
    kind: Literal["end"] = "end"


def write_state_lines(traces: Iterable[StateTrace]) -> Iterator[str]:
    """Yield traces as lines of JSON, each with its newline."""
    for trace in traces:
        yield to_json(_SourceLine(trace.source)) + "\n"
        for state in trace.states:
            yield to_json(state) + "\n"
        yield to_json(_EndLine(len(trace.states), trace.is_cut)) + "\n"


def read_state_lines(lines: Iterable[str]) -> Iterator[StateTrace]:
    """Yield the traces of `write_state_lines`; raise InputError if a line is damaged or missing."""
    line_type = build_line_type(_SourceLine, ProgramState, _EndLine)
    source: str | None = None
    states: list[ProgramState] = []
    number = 0
    for number, line in enumerate(lines, 1):
        try:
            entry = from_json(line, line_type)
        except InvalidJsonError as error:
            raise InputError(f"line {number} of the states is damaged: {error}") from None
        match entry:
            case _SourceLine() if source is None:
                source, states = entry.source, []
            case ProgramState() if source is not None:
                states.append(entry)
            case _EndLine() if source is not None and entry.states == len(states):
                yield StateTrace(source, tuple(states), entry.is_cut)
                source = None
            case _:
                raise InputError(
                    f"line {number} of the states, of kind `{entry.kind}`, does not belong here"
                )
    if source is not None:
        raise InputError(f"the states end at line {number}, without a line of kind `end`")


def list_locals(states: Iterable[ProgramState]) -> list[Locals]:
    """Return the variables of the function that each state belongs to, as of its last state."""
    found: list[Locals] = []
    stack: list[Locals] = []
    for state in states:
        if state.event == "call":
            stack.append({})
        held = {**stack[-1], **state.changed}
        stack[-1] = {name: text for name, text in held.items() if name not in state.removed}
        found.append(stack[-1])
        if state.event == "return":
            stack.pop()
    return found


# ── the states as a debugger shows them: the whole stack of functions, with all their variables ───


@dataclass(frozen=True, slots=True)
class Frame:
    """A running function: the line of its last state, and its variables as text."""

    line: int
    locals: Locals


@dataclass(frozen=True, slots=True)
class StackState:
    """A state, with all running functions, the innermost last."""

    event: StateEvent
    frames: tuple[Frame, ...]
    value: str | None = None
    """The returned value, or the exception."""

    @property
    def depth(self) -> int:
        """The number of functions around the innermost one."""
        return len(self.frames) - 1


def list_stacks(states: Sequence[ProgramState]) -> list[StackState]:
    """Return the stack of each state."""
    found: list[StackState] = []
    frames: tuple[Frame, ...] = ()
    for state, held in zip(states, list_locals(states), strict=True):
        frames = (*frames[: state.depth], Frame(state.line, held))
        found.append(StackState(state.event, frames, state.value))
    return found
