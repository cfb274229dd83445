"""Reads the tokens of `spsbench.states.tokens` back, which shows that they keep every state."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from spsbench.states.tokens import (
    BEGIN,
    CONTEXT,
    END,
    EVENT_TOKENS,
    FRAME,
    START_COMMENT,
    UNCHANGED,
)
from spsbench.states.trace import ProgramState, StateEvent, StateTrace

_LINE_COMMENT = re.compile(r"  # line \d+$")
_STATE = re.compile(
    r"(<\|(?:call|line|return|exception)_sep\|>)(.*?)<\|action_sep\|>(.*?)(?:<\|arg_sep\|>(.*))?",
    re.DOTALL,
)


def read_tokens(text: str) -> Iterator[StateTrace]:
    """Yield the traces in a text, one after another; raise ValueError for anything else."""
    between, *documents = text.split(BEGIN)
    assert not between.strip()
    yield from map(_read_trace, documents)


def _read_trace(document: str) -> StateTrace:
    body, end, _ = document.partition(END)
    first, *states = body.split(FRAME)
    if not first.startswith(CONTEXT) or not states or states.pop().strip():
        raise ValueError(f"it has no {CONTEXT}, or does not end in {FRAME}")
    marked = [line.removesuffix(START_COMMENT) for line in first.removeprefix(CONTEXT).split("\n")]
    numbers = {line: number for number, line in enumerate(marked, 1)}
    return StateTrace(
        "\n".join(_LINE_COMMENT.sub("", line) for line in marked),
        tuple(_read_states(states, numbers)),
        is_cut=not end,
    )


def _read_states(texts: Iterable[str], numbers: Mapping[str, int]) -> Iterator[ProgramState]:
    """Yield the states; a stack of variables gives their depths and the removed variables."""
    stack: list[set[str]] = []
    for text in texts:
        found = _STATE.fullmatch(text)
        token, shown, action, value = found.groups() if found else ("", "", "", None)
        event = _EVENTS.get(token)
        if event is None or (value is None) != (event in ("call", "line")):
            raise ValueError(f"not a state: {text[:80]!r}")
        if action not in numbers:
            raise ValueError(f"not a line of the program: {action[:80]!r}")
        if event == "call":
            stack.append(set())
        if not stack:
            raise ValueError(f"a {event} outside of all functions")
        changed, removed = dict[str, str](), tuple[str, ...]()
        if shown or value is None:
            held = cast(dict[str, str], json.loads(shown))
            changed = {name: text for name, text in held.items() if text != UNCHANGED}
            removed = tuple(sorted(stack[-1] - held.keys()))
            stack[-1] = set(held)
        left = None if value is None else json.loads(value)
        yield ProgramState(event, numbers[action], len(stack) - 1, changed, removed, left)
        if event == "return":
            stack.pop()


_EVENTS: Mapping[str, StateEvent] = {token: event for event, token in EVENT_TOKENS.items()}
