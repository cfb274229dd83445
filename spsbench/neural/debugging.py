"""The predictor for `njc debug --predicted spsbench.neural.debugging[:MODEL.npz]`.

open_predictor().start(source, "fact(3)")     the state at the call; nothing is run
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from pathlib import Path

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
        held = {name: _render_literal(value) for name, value in given.items()}
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

    def replace(self, state: StackState, name: str, text: str) -> StackState:
        """Return the state with a new value for a variable of the innermost function."""
        frame = state.frames[-1]
        held = {**frame.locals, name: _render_literal(ast.parse(text, mode="eval").body)}
        return replace(state, frames=(*state.frames[:-1], Frame(frame.line, held)))

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


def _parse_call(source: str, call: str) -> tuple[ast.FunctionDef, dict[str, ast.expr]]:
    """Return the called function, and the value of each parameter in order, including defaults."""
    function = _find_function(source, call)
    node = ast.parse(call.strip(), mode="eval").body
    assert isinstance(node, ast.Call)
    keywords = {word.arg: word.value for word in node.keywords if word.arg is not None}
    has_stars = any(isinstance(argument, ast.Starred) for argument in node.args)
    if has_stars or len(keywords) < len(node.keywords):
        raise ValueError("`*` and `**` are not read; write the arguments out")
    if function.args.vararg or function.args.kwarg:
        raise ValueError(f"{function.name} has parameters with `*`, which are not read")
    try:
        bound = _make_signature(function.args).bind(*node.args, **keywords)
    except TypeError as problem:
        raise ValueError(f"{call}: {problem}") from None
    bound.apply_defaults()
    return function, dict(bound.arguments)


def _make_signature(given: ast.arguments) -> Signature:
    """Return the signature of a function, with expressions as defaults."""
    ordered = [
        *((each.arg, Parameter.POSITIONAL_ONLY) for each in given.posonlyargs),
        *((each.arg, Parameter.POSITIONAL_OR_KEYWORD) for each in given.args),
    ]
    defaults = [*[Parameter.empty] * (len(ordered) - len(given.defaults)), *given.defaults]
    named = [
        Parameter(each.arg, Parameter.KEYWORD_ONLY, default=default or Parameter.empty)
        for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    places = (
        Parameter(name, kind, default=default)
        for (name, kind), default in zip(ordered, defaults, strict=True)
    )
    return Signature([*places, *named])


def _list_function_lines(source: str) -> Iterator[int]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            first = node.lineno if isinstance(node, ast.Lambda) else find_first_line(node)
            yield from range(first, (node.end_lineno or first) + 1)


def _find_function(source: str, call: str) -> ast.FunctionDef:
    try:
        node = ast.parse(call.strip(), mode="eval").body
        statements = ast.parse(source).body
    except SyntaxError as problem:
        raise ValueError(f"cannot be read: {problem}") from None
    name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    functions = (each for each in statements if isinstance(each, ast.FunctionDef))
    found = [each for each in functions if each.name == name]
    if not found:
        raise ValueError(f"{call!r} is not a call of a function of the program, such as `f(3)`")
    return found[-1]


def _render_literal(node: ast.expr) -> str:
    try:
        return write_value(ast.literal_eval(node))
    except (ValueError, TypeError):
        raise ValueError(f"{ast.unparse(node)} is not a literal") from None
