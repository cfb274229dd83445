"""Predict the state after a debugger action, without execution: the network, and a baseline.

NeuralDebugger(network).predict(source, state, "step_over")
             StackState(...), or None: the program has ended

last state   the variables as they are, at the line after (before, for inverse actions)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from spsbench.neural.encoding import (
    STOP,
    StepEncoder,
    TooLongError,
    UnreadableAnswerError,
    read_answer,
)
from spsbench.neural.network import Network, Reading
from spsbench.neural.vocabulary import read_names
from spsbench.states.actions import Action, is_inverse
from spsbench.states.trace import Frame, StackState

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
