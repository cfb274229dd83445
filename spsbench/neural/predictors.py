"""Predict the state after a debugger action, without execution: the network, and two baselines.

NeuralDebugger(network).predict(source, state, "step_over")
             StackState(...), or None: the program has ended

last state   the variables as they are, at the line after (before, for inverse actions)
n-gram       the most frequent answer in the training data after this action, event and line of
             code, or after less of this context if it is new
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from spsbench.neural.dataset import find_ends
from spsbench.neural.encoding import (
    STOP,
    StepEncoder,
    TooLongError,
    UnreadableAnswerError,
    read_answer,
)
from spsbench.neural.network import Network, Reading
from spsbench.neural.vocabulary import Vocabulary, read_names
from spsbench.states.actions import Action, is_inverse
from spsbench.states.trace import Frame, StackState, list_stacks
from spsbench.states.trajectories import Trajectory

MAX_ANSWER = 200
MAX_CONTEXT = 1_500
"""The maximum number of tokens in a source and a state."""


class NoPredictionError(ValueError):
    """The answer is not a state, or the program is too long."""


class Predictor(Protocol):
    """Predicts the state after an action."""

    def predict(
        self, source: str, state: StackState, action: Action, line: int | None = None
    ) -> StackState | None:
        """Return the state that an action leads to; None at the end of the program.

        Raises NoPredictionError if the answer is not a state, or the program is too long.
        """


@dataclass(slots=True)
class NeuralDebugger:
    """Predicts with a network (state: its readings of the last source and the last state)."""

    network: Network
    names: list[str] = field(init=False)
    _sources: dict[str, Reading] = field(default_factory=dict)
    _states: dict[tuple[str, str], Reading] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names = self.network.vocabulary.list_names()

    def predict(
        self, source: str, state: StackState, action: Action, line: int | None = None
    ) -> StackState | None:
        encoder = StepEncoder(self.network.vocabulary)
        stop = self.network.vocabulary.ids[STOP]
        try:
            reading = self._read_state(encoder, source, state)
            asked = encoder.encode_action(action, line)
            answer = self.network.answer(reading, asked, stop, MAX_ANSWER)
            return read_answer(read_names(self.names, answer), state)
        except (TooLongError, UnreadableAnswerError) as problem:
            raise NoPredictionError(str(problem)) from None

    def _read_state(self, encoder: StepEncoder, source: str, state: StackState) -> Reading:
        key = (source, repr(state))
        if key not in self._states:
            ids = encoder.encode_state(source.splitlines(), state)
            before = self._read_source(encoder, source)
            if before.length + len(ids) > MAX_CONTEXT:
                raise TooLongError("the program and its state are too long for the network")
            self._states = {key: self.network.read(before, ids)}
        return self._states[key]

    def _read_source(self, encoder: StepEncoder, source: str) -> Reading:
        if source not in self._sources:
            ids = encoder.encode_source(source)
            if not 0 < len(ids) <= MAX_CONTEXT:
                raise TooLongError("the program is empty, or too long for the network")
            self._sources = {source: self.network.read(self.network.start(), ids)}
        return self._sources[source]


@dataclass(frozen=True, slots=True)
class LastState:
    """Predicts the same variables on the next line."""

    def predict(
        self, source: str, state: StackState, action: Action, line: int | None = None
    ) -> StackState | None:
        """Return the state on the innermost function's next line, or on a breakpoint's line."""
        *outer, frame = state.frames
        following = frame.line + (-1 if is_inverse(action) else 1)
        return StackState("line", (*outer, Frame(line or max(1, following), frame.locals)))


Answer = tuple[str, ...]
"""Token names; line numbers are relative to the current line: `<line +1>`."""


@dataclass(slots=True)
class NGram:
    """Predicts the most frequent answer in a context (state: the counts of the answers)."""

    counts: defaultdict[object, Counter[Answer]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    encoder: StepEncoder = field(default_factory=lambda: StepEncoder(Vocabulary(())))

    @classmethod
    def learn(cls, trajectories: Iterable[Trajectory]) -> NGram:
        """Count the answers in training data."""
        made = cls()
        names = made.encoder.vocabulary.list_names()
        for trajectory in trajectories:
            stacks = list_stacks(trajectory.trace.states)
            lines = trajectory.trace.source.splitlines()
            for step in trajectory.steps:
                before, after = find_ends(stacks, step)
                ids = made.encoder.encode_answer(before, after)
                answer = _write_lines(read_names(names, ids), before, step.line)
                for key in _list_keys(lines, before, step.action):
                    made.counts[key][answer] += 1
        return made

    def predict(
        self, source: str, state: StackState, action: Action, line: int | None = None
    ) -> StackState | None:
        for key in _list_keys(source.splitlines(), state, action):
            if key in self.counts:
                answer = self.counts[key].most_common(1)[0][0]
                try:
                    return read_answer(_read_lines(answer, state, line), state)
                except UnreadableAnswerError as problem:
                    raise NoPredictionError(str(problem)) from None
        raise NoPredictionError("nothing like this was in the training data")


def _list_keys(lines: list[str], state: StackState, action: Action) -> Iterator[object]:
    """Yield keys, the most specific first: two lines of code, one line, its first word, nothing."""
    place = state.frames[-1].line
    text = lines[place - 1].strip() if 0 < place <= len(lines) else ""
    other = lines[place - (2 if is_inverse(action) else 0) : place + 1][:1]
    kind = (action, state.event, state.depth > 0)
    yield (kind, text, other[0].strip() if other else "")
    yield (kind, text)
    yield (kind, (text.split() or [""])[0], "first word")
    yield kind


_LINE = re.compile(r"<line (.+)>")


def _write_lines(names: Iterable[str], state: StackState, line: int | None) -> Answer:
    def write(found: re.Match[str]) -> str:
        number = int(found[1])
        return "<line goal>" if number == line else f"<line {number - state.frames[-1].line:+}>"

    return tuple(_LINE.sub(write, name) for name in names)


def _read_lines(answer: Answer, state: StackState, line: int | None) -> Answer:
    def read(found: re.Match[str]) -> str:
        is_goal = found[1] == "goal"
        return f"<line {line if is_goal else state.frames[-1].line + int(found[1])}>"

    return tuple(_LINE.sub(read, name) for name in answer)
