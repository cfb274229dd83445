"""Looking at the variables of a stopped block, and changing them.

    expand(variables, ("prices",), redactor)     [ShownVariable("[0]", "int = 3", False), ...]
    evaluate("len(prices)", variables)           2

Listing and expanding run none of the program's code except a custom `__repr__`, as when a value is
shown to a model.
"""

from __future__ import annotations

import ast
import builtins
import keyword
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from njc.debug.timeline.channel import Json
from njrt.data.outcome import UserValue
from njrt.data.private_names import mangle
from njrt.data.records import asdict, record
from njrt.data.timeouts import DeadlineExceeded, call_with_timeout
from njrt.errors import CallInDoubtError
from njrt.events import RunId
from njrt.execution.interruptions import select_catchable
from njrt.execution.scope.scope import Scope
from njrt.execution.tracebacks import format_error
from njrt.values.introspection import is_a, is_exactly, read_attributes
from njrt.values.rendering.describe import describe_on_one_line
from njrt.values.rendering.one_line import write_brief
from njrt.values.rendering.redaction import REDACTED, Redactor, is_secret
from njrt.values.rendering.shown_attributes import list_shown_attributes

MAX_CHILDREN = 200
EVALUATION_SECONDS = 5.0

_ATOMS = (type(None), bool, int, float, complex, str, bytes)


@record
class ShownVariable:
    """A variable, item or attribute: its name, its value on one line, and whether it has parts."""

    name: str
    text: str
    has_parts: bool = False


class EvaluationError(ValueError):
    """An expression could not be evaluated; the message gives the reason."""


def show_variable(name: str, value: UserValue, redactor: Redactor) -> ShownVariable:
    """Return a variable, item or attribute as text."""
    text = redactor.redact(describe_on_one_line(name, value, redactor=redactor))
    is_hidden = redactor.rule and is_secret(name, value)
    return ShownVariable(name, text, not is_hidden and next(list_parts(value), None) is not None)


def expand(
    variables: Mapping[str, UserValue], path: Sequence[str], redactor: Redactor
) -> list[ShownVariable]:
    """Return the parts of the value at a path: a variable, then names as `expand` lists them."""
    name, *rest = path
    if name not in variables:
        raise EvaluationError(f"there is no variable `{name}` here")
    value = variables[name]
    for part in rest:
        found = [item for label, item in list_parts(value) if label == part]
        if not found:
            raise EvaluationError(f"there is no `{''.join(path)}` here")
        value = found[0]
        if redactor.rule and is_secret(part, value):
            raise EvaluationError(f"`{part}` is {REDACTED}")
    shown = [show_variable(*part, redactor) for part in islice(list_parts(value), MAX_CHILDREN + 1)]
    if len(shown) > MAX_CHILDREN:
        shown[-1] = ShownVariable("...", f"only the first {MAX_CHILDREN} parts are listed")
    return shown


def list_parts(value: Any) -> Iterator[tuple[str, UserValue]]:
    """Yield a value's items and attributes with their labels, slightly more than `MAX_CHILDREN`."""
    if is_exactly(value, *_ATOMS) or is_a(value, type):
        return
    if is_a(value, dict):
        for key, item in list(islice(dict.items(value), MAX_CHILDREN + 1)):
            yield f"[{write_brief(key, 60)}]", item
    for kind in (list, tuple, deque):
        if is_a(value, kind):
            items: Any = islice(kind.__iter__(value), MAX_CHILDREN + 1)
            yield from ((f"[{number}]", item) for number, item in enumerate(items))
    if read_attributes(value):
        yield from ((f".{name}", item) for name, item in list_shown_attributes(value))


def evaluate(
    expression: str,
    variables: Mapping[str, UserValue],
    scope: Scope | None = None,
) -> UserValue:
    """Evaluate an expression over variables, builtins and module names; raises EvaluationError."""
    names = {"__builtins__": builtins, **(scope.module if scope else {}), **variables}
    try:
        tree = ast.parse(expression.strip(), "<debugger>", "eval")
        for node in ast.walk(tree):
            if scope and isinstance(node, ast.Attribute):
                node.attr = mangle(node.attr, scope.class_name)
        code = compile(tree, "<debugger>", "eval")
        return call_with_timeout(EVALUATION_SECONDS, lambda: eval(code, names))
    except (DeadlineExceeded, SyntaxError) as error:
        raise EvaluationError(str(error)) from None
    except CallInDoubtError as error:  # of a call in the expression
        raise EvaluationError(format_error(error)) from None
    except select_catchable() as error:
        raise EvaluationError(format_error(error)) from None


class RunVariables:
    """Reads and sets variables (state: the scopes of unfinished runs)."""

    def __init__(self) -> None:
        self._scopes: dict[RunId, tuple[Scope, bool | None]] = {}

    def watch(self, run: RunId, scope: Scope, rule: bool | None) -> None:
        self._scopes[run] = scope, rule

    def forget(self, run: RunId) -> None:
        self._scopes.pop(run, None)

    def read(self, run: RunId) -> dict[str, UserValue]:
        """Return the variables of a run."""
        return self._scopes[run][0].list_variables() if run in self._scopes else {}

    def evaluate(self, expression: str, run: RunId) -> UserValue:
        """Return the value of an expression over the variables of a run; raises EvaluationError."""
        return evaluate(expression, self.read(run), self._scopes.get(run, (None, None))[0])

    def answer(self, question: Json, run: RunId) -> Json:
        """Return the answer to a question from the debugger; raises EvaluationError."""
        variables = self.read(run)
        scope, rule = self._scopes.get(run, (None, None))
        redactor = Redactor(True if rule is None else rule)
        redactor.scan(variables.items())
        match question["command"]:
            case "variables":
                shown = [show_variable(*variable, redactor) for variable in variables.items()]
            case "expand":
                shown = expand(variables, question["path"], redactor)
            case _:
                value = evaluate(question["expression"], variables, scope)
                shown = [show_variable("", value, redactor)]
        return {"variables": [asdict(variable) for variable in shown]}

    def set(self, change: Json, run: RunId) -> Json:
        """Bind a variable of a run to the value of an expression; raises EvaluationError."""
        if run not in self._scopes:
            raise EvaluationError("there are no variables here")
        scope, name = self._scopes[run][0], change["name"]
        if not name.isidentifier() or keyword.iskeyword(name):
            raise EvaluationError(f"`{name}` is not the name of a variable")
        value = self.evaluate(change["expression"], run)
        scope.rebind(name, value)
        return {"variables": [asdict(show_variable(name, value, Redactor()))]}
