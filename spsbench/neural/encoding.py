"""Steps as tokens: the questions to a model, and its answers.

    source      <line 1>def f(n):<line 2>    return n + 1
    state       <frame><line 2>n<=>3<;><at><line 2>return n + 1<line>
    action      <step_over>                                               or <breakpoint><line 2>
    answer      <return><keep 0><frame><line 2><value>4<stop>             or <end><stop>

An answer has the event, the number of outer frames that stay unchanged, and the remaining frames,
either with the variables that differ from the frame at the same depth in the state shown
(`<frame>`), or with all variables (`<fresh>`). Reading an answer gives the whole stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from spsbench.neural.vocabulary import MAX_FRAMES, MAX_LINES, Vocabulary, decode_names
from spsbench.states.actions import Action
from spsbench.states.trace import Frame, StackState, StateEvent

_EVENTS: Mapping[str, StateEvent] = {f"<{event}>": event for event in get_args(StateEvent)}
STOP = "<stop>"


class TooLongError(ValueError):
    """A program or a stack is too large for the vocabulary."""


class UnreadableAnswerError(ValueError):
    """An answer is not a state."""


@dataclass(frozen=True, slots=True)
class StepEncoder:
    """Encodes sources, states, actions and answers as ids."""

    vocabulary: Vocabulary

    def encode_source(self, source: str) -> list[int]:
        """Return the ids of a program, with numbered lines."""
        lines = source.splitlines()
        if len(lines) > MAX_LINES:
            raise TooLongError(f"the program has {len(lines)} lines; {MAX_LINES} can be written")
        return [
            number
            for place, line in enumerate(lines, 1)
            for number in (self._mark_line(place), *self.vocabulary.encode_text(line))
        ]

    def encode_state(self, lines: Sequence[str], state: StackState) -> list[int]:
        if len(state.frames) >= MAX_FRAMES:
            raise TooLongError(f"the stack has {len(state.frames)} functions")
        place = state.frames[-1].line
        text = lines[place - 1].strip() if place <= len(lines) else ""
        return [
            *(
                number
                for frame in state.frames
                for number in self._write_frame("<frame>", frame, {})
            ),
            *self._mark("<at>"),
            self._mark_line(place),
            *self.vocabulary.encode_text(text),
            *self._mark(f"<{state.event}>"),
            *self._write_value(state),
        ]

    def encode_action(self, action: Action, line: int | None) -> list[int]:
        return [*self._mark(f"<{action}>"), *([self._mark_line(line)] if line is not None else [])]

    def encode_answer(self, before: StackState, after: StackState | None) -> list[int]:
        """Return the ids of the state that an action leads to, as changes to the previous state."""
        if after is None:
            return self._mark("<end>", STOP)
        kept = count_kept_frames(before, after)
        if len(after.frames) >= MAX_FRAMES:
            raise TooLongError(f"the stack has {len(after.frames)} functions")
        frames = [
            number
            for depth in range(kept, len(after.frames))
            for number in self._write_changes(before, after, depth)
        ]
        return [
            *self._mark(f"<{after.event}>", f"<keep {kept}>"),
            *frames,
            *self._write_value(after),
            *self._mark(STOP),
        ]

    def _write_changes(self, before: StackState, after: StackState, depth: int) -> list[int]:
        frame = after.frames[depth]
        if is_fresh(before, after, depth):
            return self._write_frame("<fresh>", frame, {})
        shown = before.frames[depth].locals
        gone = [
            number
            for name in sorted(shown.keys() - frame.locals.keys())
            for number in (*self._mark("<gone>"), *self.vocabulary.encode_text(name))
        ]
        return [*self._write_frame("<frame>", frame, shown), *gone]

    def _write_frame(self, kind: str, frame: Frame, shown: Mapping[str, str]) -> list[int]:
        encode = self.vocabulary.encode_text
        written = [*self._mark(kind), self._mark_line(frame.line)]
        for name, text in frame.locals.items():
            if shown.get(name) != text:
                written += [*encode(name), *self._mark("<=>"), *encode(text), *self._mark("<;>")]
        return written

    def _write_value(self, state: StackState) -> list[int]:
        if state.value is None:
            return []
        return [*self._mark("<value>"), *self.vocabulary.encode_text(state.value)]

    def _mark(self, *names: str) -> list[int]:
        return [self.vocabulary.ids[name] for name in names]

    def _mark_line(self, number: int) -> int:
        if not 1 <= number <= MAX_LINES:
            raise TooLongError(f"line {number} cannot be written")
        return self.vocabulary.ids[f"<line {number}>"]


def count_kept_frames(before: StackState, after: StackState) -> int:
    """Return how many outer frames the stacks share; the innermost after an action never counts."""
    pairs = zip(before.frames, after.frames[:-1], strict=False)
    return next(
        (depth for depth, (one, other) in enumerate(pairs) if one != other),
        min(len(before.frames), len(after.frames) - 1),
    )


def is_fresh(before: StackState, after: StackState, depth: int) -> bool:
    """Return whether an answer has all variables of a frame, because it is new or just called."""
    is_called = after.event == "call" and depth == after.depth
    return is_called or depth > before.depth


def read_answer(names: Sequence[str], before: StackState) -> StackState | None:
    """Return an answer's state, None at the program's end; else raise UnreadableAnswerError."""
    if list(names) == ["<end>", STOP]:
        return None
    try:
        return _AnswerReader(list(names), before).read()
    except (IndexError, KeyError, ValueError) as problem:
        raise UnreadableAnswerError(f"the answer is not a state: {problem}") from None


@dataclass(slots=True)
class _AnswerReader:
    """Reads an answer from left to right (state: the unread rest)."""

    names: list[str]
    before: StackState

    def read(self) -> StackState:
        event = _EVENTS[self.names.pop(0)]
        kept = int(self._take("<keep ").removesuffix(">"))
        if kept > len(self.before.frames):
            raise ValueError("it keeps frames that are not there")
        frames = [*self.before.frames[:kept]]
        while self.names[0] in ("<frame>", "<fresh>"):
            frames.append(self._read_frame(len(frames)))
        value = None
        if self.names[0] == "<value>":
            self.names.pop(0)
            value = decode_names(self._take_until(STOP))
        if self.names != [STOP] or len(frames) == kept:
            raise ValueError("it does not end after the frames")
        return StackState(event, tuple(frames), value)

    def _read_frame(self, depth: int) -> Frame:
        is_new = self.names.pop(0) == "<fresh>"
        line = int(self._take("<line ").removesuffix(">"))
        held = {} if is_new else dict(self.before.frames[depth].locals)
        while self.names[0] not in _FRAME_ENDS:
            name = decode_names(self._take_until("<=>"))
            self.names.pop(0)
            held[name] = decode_names(self._take_until("<;>"))
            self.names.pop(0)
        while self.names[0] == "<gone>":
            self.names.pop(0)
            held.pop(decode_names(self._take_until(*_FRAME_ENDS)), None)
        return Frame(line, held)

    def _take(self, begin: str) -> str:
        name = self.names.pop(0)
        if not name.startswith(begin):
            raise ValueError(f"{name} instead of {begin}")
        return name.removeprefix(begin)

    def _take_until(self, *ends: str) -> Iterator[str]:
        while self.names[0] not in ends:
            yield self.names.pop(0)


_FRAME_ENDS = ("<frame>", "<fresh>", "<gone>", "<value>", STOP)
