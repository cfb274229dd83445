"""Programs and their steps as rows of tokens, for training a network.

    pack_texts(encoder, 384, [(text, [2, 0, 1]), ...])
        {"tokens": array of shape (rows, 384), "positions": ..., ...}

    source   state 1   action 1, answer   action 2, answer   state 2   action 1, answer   padding

A row is a tree: the source is the trunk, each state is a branch of the trunk, and each action with
its answer is a branch of its state. A token sees only the tokens before it on its path from the
trunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from spsbench.neural.dataset import find_ends
from spsbench.neural.encoding import StepEncoder, TooLongError
from spsbench.states.actions import TakenStep
from spsbench.states.trace import StackState, list_stacks
from spsbench.states.trajectories import Trajectory, read_trajectory_lines

Row = Any
"""An array of int32."""


@dataclass(slots=True)
class PackedRow:
    """One program (state: the tokens so far).

    `states` and `actions` number the branches, with 0 for the trunk; `answers` is 1 for tokens to
    be predicted.
    """

    tokens: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    states: list[int] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)

    def add(self, tokens: Sequence[int], begin: int, state: int, action: int, asked: int) -> None:
        """Add the tokens of a branch; those from `asked` on are to be predicted."""
        self.tokens += tokens
        self.positions += range(begin, begin + len(tokens))
        self.states += [state] * len(tokens)
        self.actions += [action] * len(tokens)
        self.answers += [int(place >= asked) for place in range(len(tokens))]


def pack_trajectory(
    encoder: StepEncoder, trajectory: Trajectory, size: int, order: Sequence[int]
) -> PackedRow | None:
    """Return as many states of a trajectory as fit, taken in `order`; None if none fits."""
    source = trajectory.trace.source
    stacks, lines = list_stacks(trajectory.trace.states), source.splitlines()
    groups = [list(steps) for _, steps in groupby(trajectory.steps, lambda step: step.index)]
    row = PackedRow()
    try:
        row.add(encoder.encode_source(source), 0, 0, 0, size)
    except TooLongError:
        return None
    trunk = len(row.tokens)
    for number, place in enumerate((place for place in order if place < len(groups)), 1):
        try:
            branch = _pack_state(encoder, lines, stacks, groups[place], trunk, number)
        except TooLongError:
            continue
        if len(row.tokens) + len(branch.tokens) <= size:
            for name in PackedRow.__slots__:
                getattr(row, name).extend(getattr(branch, name))
    return row if len(row.tokens) > trunk else None


def _pack_state(
    encoder: StepEncoder,
    lines: Sequence[str],
    stacks: Sequence[StackState],
    steps: Sequence[TakenStep],
    trunk: int,
    number: int,
) -> PackedRow:
    branch = PackedRow()
    shown = encoder.encode_state(lines, stacks[steps[0].index])
    branch.add(shown, trunk, number, 0, len(shown))
    for action, step in enumerate(steps, 1):
        before, after = find_ends(stacks, step)
        asked = encoder.encode_action(step.action, step.line)
        answer = encoder.encode_answer(before, after)
        branch.add([*asked, *answer], trunk + len(shown), number, action, len(asked))
    return branch


def stack_rows(rows: Sequence[PackedRow], size: int) -> dict[str, Row]:
    """Return rows as arrays, padded to a size; the padding is a branch that no other token sees."""
    arrays = {}
    for name in PackedRow.__slots__:
        padding = -1 if name == "states" else 0
        held = np.full((len(rows), size), padding, np.int32)
        for number, row in enumerate(rows):
            values = getattr(row, name)
            held[number, : len(values)] = values
        arrays[name] = held
    return arrays


def parse_trajectory(text: str) -> Trajectory:
    """Return the trajectory of a text."""
    return next(read_trajectory_lines(text.splitlines(keepends=True)))


def list_texts(trajectory: Trajectory) -> Iterator[str]:
    """Yield a trajectory's texts, for collecting a vocabulary."""
    yield from trajectory.trace.source.splitlines()
    for state in trajectory.trace.states:
        yield from state.changed
        yield from state.changed.values()


def pack_texts(
    encoder: StepEncoder, size: int, texts: Sequence[tuple[str, Sequence[int]]]
) -> dict[str, Row]:
    """Return the rows of trajectories, each given as a text and the order of its states.

    A program that is too long gets an empty row.
    """
    rows = [
        pack_trajectory(encoder, parse_trajectory(text), size, order) or PackedRow()
        for text, order in texts
    ]
    return stack_rows(rows, size)
