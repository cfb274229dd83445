"""Predicted states: show states to a model, read predictions from its replies, and score them.

    show_state(states, locals, 2)     {"event": "line", "line": 4, "locals": {"n": "1"}}
    parse_prediction(reply)           PredictedState("line", 3, {"n": "1", "total": "1"})
    score_prediction(predicted, ...)  StateScore(event=True, line=True, locals={"n": True, "total": False}, ...)

Values are compared as Python reads them, so quotes and spaces do not matter; other text is compared literally.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from spsbench.states.tokens import UNCHANGED
from spsbench.states.trace import Locals, ProgramState
from spsbench.states.values import render_value

MAX_LITERAL_CHARS = 100_000


@dataclass(frozen=True, slots=True)
class PredictedState:
    """A state as described by a model; missing parts are None or empty."""

    event: str | None = None
    line: int | None = None
    locals: Mapping[str, str] = field(default_factory=dict)
    value: str | None = None


@dataclass(frozen=True, slots=True)
class StateScore:
    """Which parts of a predicted state are right."""

    event: bool
    line: bool
    locals: Mapping[str, bool]
    """Whether each variable is right; predicted variables that the state does not have are wrong."""
    value: bool | None
    """None if the state has no value."""

    @property
    def exact(self) -> bool:
        """Whether everything is right."""
        return all(self.list_parts())

    @property
    def partial(self) -> float:
        """The share of the parts that are right: event, line, each variable, the value."""
        parts = self.list_parts()
        return sum(parts) / len(parts)

    def list_parts(self) -> list[bool]:
        value = [] if self.value is None else [self.value]
        return [self.event, self.line, *self.locals.values(), *value]


def show_state(state: ProgramState, held: Locals) -> str:
    """Return a state as JSON: `held` are the variables of its function."""
    shown: dict[str, Any] = {"event": state.event, "line": state.line}
    if state.event in ("call", "line"):
        shown["locals"] = dict(held)
    elif state.value is not None:
        shown["value"] = state.value
    return json.dumps(shown, ensure_ascii=False)


def parse_prediction(reply: str) -> PredictedState | None:
    """Return the state in a reply, which may be surrounded by other text, or None."""
    found = next(_find_objects(reply), None)
    if found is None:
        return None
    line, held, value = found.get("line"), found.get("locals"), found.get("value")
    return PredictedState(
        found["event"] if isinstance(found.get("event"), str) else None,
        line if type(line) is int else None,
        {name: _to_text(part) for name, part in held.items()} if isinstance(held, dict) else {},
        None if value is None else _to_text(value),
    )


def _to_text(value: object) -> str:
    """Return a predicted value as text; some models write the value itself as JSON instead."""
    return value if isinstance(value, str) else render_value(value)


def _find_objects(reply: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder(strict=False)
    for opening in re.finditer(r"\{", reply):
        try:
            found, _ = decoder.raw_decode(reply, opening.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


def score_prediction(
    predicted: PredictedState | None, state: ProgramState, held: Locals, shown: Locals
) -> StateScore:
    """Compare a prediction with a state; `shown` are the variables that `..` may replace."""
    predicted = predicted or PredictedState()
    has_locals = state.event in ("call", "line")
    truth = held if has_locals else {}
    said = {
        name: shown.get(name, text) if text == UNCHANGED else text
        for name, text in predicted.locals.items()
        if has_locals
    }
    return StateScore(
        predicted.event == state.event,
        predicted.line == state.line,
        {
            name: name in truth and name in said and is_same_value(said[name], truth[name])
            for name in sorted(truth.keys() | said.keys())
        },
        None
        if state.value is None
        else predicted.value is not None and is_same_value(predicted.value, state.value),
    )


def is_same_value(one: str, other: str) -> bool:
    """Return whether two texts denote the same value."""
    return one == other or normalize_value(one) == normalize_value(other)


def normalize_value(text: str) -> str:
    """Return an expression's text as Python writes it, or any other text stripped of outer spaces."""
    text = text.strip()
    problems = (ValueError, SyntaxError, MemoryError, RecursionError, TypeError)
    with suppress(*problems):
        return render_value(ast.literal_eval(text), MAX_LITERAL_CHARS)
    with suppress(*problems):
        return ast.unparse(ast.parse(text, mode="eval"))  # such as `Point(x=1, y=nan)`
    return text


def build_call(code: str, held: Mapping[str, str]) -> str | None:
    """Return the call to `f` with these variables, such as `f(1, *(2, 3), sep=',')`; None if there is no `f`."""
    functions = (node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef))
    function = next((node for node in functions if node.name == "f"), None)
    if function is None:
        return None
    parameters = function.args
    forms = [(parameter, "") for parameter in (*parameters.posonlyargs, *parameters.args)]
    forms += [(parameters.vararg, "*")] if parameters.vararg else []
    forms += [(parameter, f"{parameter.arg}=") for parameter in parameters.kwonlyargs]
    forms += [(parameters.kwarg, "**")] if parameters.kwarg else []
    shown = (f"{form}{held[each.arg]}" for each, form in forms if each.arg in held)
    return f"f({', '.join(shown)})"
