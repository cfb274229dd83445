"""The asserts after a block, checked when it ends: a reply that breaks one goes back to the model.

    assert plan.end > plan.start, "it ends early"

    find_breach(...)    "`plan.end > plan.start` (it ends early) must be true, and is not:
                        plan = Plan(start=5, end=3)"

The program's own assert still runs after the block, so an assert is evaluated here only if its
text merely computes: names, attributes, items, operators, builtins such as `len`, and methods with
names of reading methods of Python's own types. Any other is left to the program. Not detected are
effects of the program's classes, in properties, operators and methods of these names, and
iterators inside objects, which are used up.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any

from njrt.data.records import record
from njrt.execution.computing import READING_METHODS, is_computing
from njrt.execution.interruptions import is_interruption
from njrt.values.introspection import find_member, is_user_class

Render = Callable[[str, Any], str]
"""Writes the value of a variable, redacted."""

MAX_VALUES = 4
"""Most variables of a failed assert that the model is shown."""


class UnknownEffectError(Exception):
    """An expression may do more than compute."""


@record
class Breach:
    """A failed assert: its condition, its message in parentheses, and the variables in it."""

    condition: str
    reason: str = ""
    state: str = ""

    def __str__(self) -> str:
        state = f": {self.state}" if self.state else ""
        return f"{self.condition}{self.reason} must be true, and is not{state}"

    @property
    def requirement(self) -> str:
        """The condition for a reply, as a sentence."""
        return f"A reply is accepted only if {self.condition}{self.reason} is true."


@dataclass(slots=True)
class Contract:
    """The asserts that follow a block, as source (state: the number of breaches)."""

    texts: Sequence[str]
    lambdas: Sequence[Callable[[], Any]]
    """Lambdas with the names in their closures and globals; they are never called."""
    class_name: str | None = None
    breaches: int = 0
    """The number of replies in this run that have broken the contract."""

    def find_breach(self, render: Render) -> Breach | None:
        """Return the first failed assert; None if all hold, or one is not to be evaluated here."""
        names = self._read_names()
        for text in self.texts:
            test, message = parse_assert(text)
            is_and = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
            try:
                for part in test.values if is_and else [test]:  # type: ignore[attr-defined]
                    if not self._evaluate(part, names):
                        return self._describe(part, message, names, render)
            except UnknownEffectError:  # the asserts below may need what it does
                return None
            except NameError:  # what no reply can mend is the program's error
                return None
            except Exception as error:
                if is_interruption(error):
                    raise
                says = f"it raises {type(error).__name__}: {error}"
                return Breach(_quote(part), state=says)
        return None

    def _read_names(self) -> dict[str, Any]:
        """Return the builtins, globals and bound variables around the block."""
        names = {**vars(builtins), **self.lambdas[0].__globals__}
        for each in self.lambdas:
            for name, cell in zip(each.__code__.co_freevars, each.__closure__ or (), strict=True):
                with suppress(ValueError):  # it is not bound
                    names[name] = cell.cell_contents
        return names

    def _evaluate(self, expression: ast.expr, names: dict[str, Any]) -> Any:
        """Evaluate an expression; raise UnknownEffectError if it may do more than compute."""
        _check_effects(expression, names)
        made: dict[str, Any] = {}
        exec(_compile(ast.unparse(expression), self.class_name), names, made)
        return made["evaluate"](names.get("__class__"))

    def _describe(
        self, test: ast.expr, message: ast.expr | None, names: dict[str, Any], render: Render
    ) -> Breach:
        reason = ""
        if message is not None:
            with suppress(Exception):
                reason = f" ({self._evaluate(message, names)})"
        read = dict.fromkeys(node.id for node in ast.walk(test) if isinstance(node, ast.Name))
        values = {name: names[name] for name in read if name in names}
        shown = [
            f"{name} = {render(name, value)}"
            for name, value in values.items()
            if not (callable(value) or isinstance(value, ModuleType))
        ]
        return Breach(_quote(test), reason, ", ".join(shown[:MAX_VALUES]))


def make_contract(
    texts: Sequence[str],
    variables: Callable[[], Any],
    given: Callable[[], Any] | None,
    namespace: MutableMapping[str, Any] | None,
    class_name: str | None,
) -> Contract | None:
    """Return a block's contract, if it has one; under `python -O` no assert is evaluated.

    In a class body, with a namespace, there is none: files of njc 0.2 have texts there.
    """
    if not texts or namespace is not None or sys.flags.optimize:
        return None
    lambdas = (variables,) if given is None else (variables, given)
    return Contract(texts, lambdas, class_name)


def _check_effects(expression: ast.expr, values: Mapping[str, Any]) -> None:
    """Raise UnknownEffectError if an expression uses more than what computes, or an iterator."""
    if not all(_is_known(node, values) for node in ast.walk(expression)):
        raise UnknownEffectError


def _is_known(node: ast.AST, values: Mapping[str, Any]) -> bool:
    match node:
        case ast.Call(func=function, args=args, keywords=keywords):
            handed = [*args, *(keyword.value for keyword in keywords)]
            is_known = _only_computes(function, values)
            return is_known and not any(_is_function(part, values) for part in handed)
        case ast.Subscript(ast.Name(name)):  # an item may be added
            return not isinstance(values.get(name), defaultdict)
        case ast.Name(name) if name in values:  # an iterator would be used up
            return not find_member(type(values[name]), "__next__")
        case ast.comprehension(is_async=is_async):
            return not is_async
    return not isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom)


def _only_computes(function: ast.expr, values: Mapping[str, Any]) -> bool:
    match function:
        case ast.Name(name):
            return is_computing(values.get(name))
        case ast.Attribute(ast.Name(name), attr) if isinstance(values.get(name), ModuleType):
            return is_computing(getattr(values[name], attr, None))
        case ast.Attribute(ast.Name(name)) if is_user_class(type(values.get(name))):
            return False
    return isinstance(function, ast.Attribute) and function.attr in READING_METHODS


def _is_function(argument: ast.expr, values: Mapping[str, Any]) -> bool:
    """Return whether an argument is a function that may do more than compute."""
    match argument:
        case ast.Attribute(ast.Name(name), attr):
            is_method = callable(find_member(type(values.get(name)), attr))
            return is_method and not _only_computes(argument, values)
        case ast.Name(name):
            value = values.get(name)
            return callable(value) and not (isinstance(value, type) or is_computing(value))
    return False


@lru_cache(maxsize=256)
def parse_assert(text: str) -> tuple[ast.expr, ast.expr | None]:
    """Return the test and the message of an assert, given without the keyword."""
    statement = ast.parse(f"assert {text}").body[0]
    assert isinstance(statement, ast.Assert)
    return statement.test, statement.msg


@lru_cache(maxsize=256)
def _compile(text: str, class_name: str | None) -> CodeType:
    """Compile an expression as a function `evaluate`, in a class for private names."""
    function = f"lambda __class__: ({text}\n)"
    inside = f"class {class_name}: evaluate = {function}\nevaluate = {class_name}.evaluate"
    return compile(inside if class_name else f"evaluate = {function}", "<contract>", "exec")


def _quote(part: ast.expr) -> str:
    return f"`{ast.unparse(part)}`"
