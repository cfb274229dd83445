"""Trajectories as rows of a batch: the steps of one program share its text, and the actions in one state share the state.

    source            <line 1>def f(n):...                       seen by all
      state 1         <frame>...<at>...                          seen by its actions
        action 1        <step_into> <line>...<stop>              seen by itself alone
        action 2        <step_over> <return>...<stop>
      state 2         ...

A token sees the earlier tokens of its branch, and its position is that in the branch, so that a row is as
many separate rows `source state action`, without repeating sources and states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from spsbench.neural.dataset import find_ends
from spsbench.neural.encoding import StepEncoder, TooLongError
from spsbench.states.actions import TakenStep
from spsbench.states.stacks import StackState, list_stacks
from spsbench.states.trajectories import Trajectory

Row = Any
"""An array of int32."""


@dataclass(slots=True)
class PackedRow:
    """One program (state: the tokens so far).

    `states` and `actions` number the branches, 0 for the trunk; `answers` has 1 for tokens to be predicted.
    """

    tokens: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    states: list[int] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)

    def add(self, tokens: Sequence[int], begin: int, state: int, action: int, asked: int) -> None:
        """Add tokens of a branch; all from `asked` on are to be predicted."""
        self.tokens += tokens
        self.positions += range(begin, begin + len(tokens))
        self.states += [state] * len(tokens)
        self.actions += [action] * len(tokens)
        self.answers += [int(place >= asked) for place in range(len(tokens))]


def pack_trajectory(
    encoder: StepEncoder, trajectory: Trajectory, size: int, order: Sequence[int]
) -> PackedRow | None:
    """Return as many states of a trajectory as there is room for, by `order`; None if there is room for none."""
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
    """Return rows as arrays, padded to a size; padding is a branch that nothing else sees."""
    arrays = {}
    for name in PackedRow.__slots__:
        padding = -1 if name == "states" else 0
        held = np.full((len(rows), size), padding, np.int32)
        for number, row in enumerate(rows):
            values = getattr(row, name)
            held[number, : len(values)] = values
        arrays[name] = held
    return arrays
