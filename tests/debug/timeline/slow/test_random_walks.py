"""Walks, forward and back, drawn by Hypothesis."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from walking import MOVES, Move, list_programs, walk

PROGRAMS = ("mailbox", "battle (shared-eval)", "calendar (answer)")
BACK = [name for name in MOVES if "back" in name]
ANY_MOVES = st.lists(st.tuples(st.sampled_from(list(MOVES)), st.floats(0, 0.999)), max_size=8)
FIRST_MOVE = st.tuples(st.sampled_from(BACK), st.floats(0, 0.999))


@pytest.mark.parametrize("name", PROGRAMS)
@settings(
    max_examples=2,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(first=FIRST_MOVE, others=ANY_MOVES)
def test_walks_find_every_step_as_it_was(name: str, first: Move, others: list[Move]) -> None:
    result = walk(list_programs()[name], iter([first, *others]))
    assert result.differences == ()
    assert result.stops > 0
