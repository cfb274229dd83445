"""The predictor for `njc debug --predicted spsbench.neural.debugging[:MODEL.npz]`.

open_predictor().start(source, "fact(3)")     the state at the call; nothing is run
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from njc.compiler.frontend.name_resolution import find_first_line
from spsbench.neural.network import load_network
from spsbench.neural.predictors import NeuralDebugger, Predictor
from spsbench.states.actions import Action, ActionStep, find_target
from spsbench.states.programs import record_call
from spsbench.states.recording import write_value
from spsbench.states.trace import Frame, StackState, list_stacks

SHIPPED_NETWORK = Path(__file__).with_name("weights") / "small.npz"


def open_predictor(model: Path = SHIPPED_NETWORK) -> DebugPredictor:
    """Return the predictor for a network file."""
    return DebugPredictor(NeuralDebugger(load_network(model)))


@dataclass(frozen=True, slots=True)
class DebugPredictor:
    """Predicts states with a network, and runs programs to check them."""

    debugger: Predictor

    def start(self, source: str, call: str) -> StackState:
        """Return the state at a call with literal arguments; raise ValueError for other calls."""
        function, given = _parse_call(source, call)
        held = {name: write_value(value) for name, value in given.items()}
        return StackState("call", (Frame(find_first_line(function), held),))

    def predict(
        self, source: str, state: StackState, action: Action, line: int | None
    ) -> StackState | None:
        """Return the predicted state; ValueError if a line of it is in no function."""
        found = self.debugger.predict(source, state, action, line)
        inside = set(_list_function_lines(source))
        for frame in () if found is None else found.frames:
            if frame.line not in inside:
                raise ValueError(f"the predicted line {frame.line} is in no function")
        return found

    def run(
        self, file: Path, source: str, call: str, steps: Sequence[tuple[Action, int | None]]
    ) -> StackState | None:
        """Run a call, and return the state after some steps; None past its end.

        Raises ValueError if the program did not reach the call, or was ended at the maximum of
        states before these steps ended.
        """
        nothing = "none of its lines ran, as of a generator that nothing reads"
        try:
            with redirect_stdout(sys.stderr):
                found = record_call(source, call, str(file))
        except (Exception, SystemExit) as error:
            raise ValueError(f"the program did not run {call}: {error}") from None
        states = found.trace.states
        if not states:
            raise ValueError(f"the program did not run {call}: {found.error or nothing}")
        place: int | None = 0
        for action, line in steps:
            if place is not None:
                place = find_target(states, ActionStep(place, action, line))
        if place is None and found.trace.is_cut:
            limit = f"{len(states):,} states"
            raise ValueError(f"the run was stopped after {limit}, before the end of these steps")
        return None if place is None else list_stacks(states)[place]


def _parse_call(source: str, call: str) -> tuple[ast.FunctionDef, dict[str, Any]]:
    """Return the called function, and the value of each parameter in order, including defaults."""
    node, function = _find_function(source, call)
    given = function.args
    defaults = [*given.defaults, *filter(None, given.kw_defaults)]
    for literal in (*node.args, *(word.value for word in node.keywords), *defaults):
        _check_literal(literal)
    for parameter in ast.walk(given):
        if isinstance(parameter, ast.arg):
            parameter.annotation = None
    binding = ast.Lambda(given, ast.parse("locals()", mode="eval").body)
    bound = ast.copy_location(ast.Expression(ast.Call(binding, node.args, node.keywords)), node)
    try:
        return function, eval(compile(ast.fix_missing_locations(bound), "<call>", "eval"), {})
    except (TypeError, SyntaxError) as problem:  # a keyword twice
        words = str(problem).replace("<lambda>()", call)
        raise ValueError(words) from None


def _list_function_lines(source: str) -> Iterator[int]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            first = node.lineno if isinstance(node, ast.Lambda) else find_first_line(node)
            yield from range(first, (node.end_lineno or first) + 1)


def _find_function(source: str, call: str) -> tuple[ast.Call, ast.FunctionDef]:
    try:
        node = ast.parse(call.strip(), mode="eval").body
        statements = ast.parse(source).body
    except SyntaxError as problem:
        raise ValueError(f"cannot be read: {problem}") from None
    name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    functions = (each for each in statements if isinstance(each, ast.FunctionDef))
    found = [each for each in functions if each.name == name]
    if not found or not isinstance(node, ast.Call):
        raise ValueError(f"{call!r} is not a call of a function of the program, such as `f(3)`")
    return node, found[-1]


def _check_literal(node: ast.expr) -> None:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError):
        raise ValueError(f"{ast.unparse(node)} is not a literal") from None
