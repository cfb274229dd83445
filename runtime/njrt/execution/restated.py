"""Inputs that code writes down again, as small models do: such statements are left out before the code runs.

    # the prompt reads <text>, which is 'four'
    text = 'four'        ->  pass                  nothing would change, and the program keeps its own object
    text = 'five'        ->  text = 'five'         refused, as binding what a prompt only reads always is

Only for values of which an equal one is as good: texts, numbers, bytes, truth values and None.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from njrt.execution.symbols import SnippetNames
from njrt.scope.scope import Bound, Scope, mangle

BindingStatement = ast.Assign | ast.AnnAssign

_PLAIN_TYPES = (str, bytes, int, float, bool, type(None))


def remove_restated_inputs(source: str, tree: ast.Module, names: SnippetNames, scope: Scope) -> str:
    """The source with `pass` in place of each statement that says of an input what it is; lines stay as they are."""
    if scope.shadowing or all(map(scope.can_bind, names.bound)):
        return source
    lines = source.encode().splitlines(keepends=True)
    for statement in find_restated_inputs(tree, scope):
        first, last = statement.lineno - 1, (statement.end_lineno or statement.lineno) - 1
        head = lines[first][: statement.col_offset]
        tail = lines[last][statement.end_col_offset :]
        lines[first : last + 1] = [head + b"pass" + tail, *[b"\n"] * (last - first)]
    return b"".join(lines).decode()


def find_restated_inputs(tree: ast.Module, scope: Scope) -> Iterator[BindingStatement]:
    """The statements that bind an input to what it is, the last one first."""
    for statement in reversed(tree.body):
        match statement:
            case (
                ast.Assign(targets=[ast.Name(name)], value=said)
                | ast.AnnAssign(target=ast.Name(name), value=ast.expr() as said)
            ):
                if not scope.can_bind(mangle(scope.class_name, name)) and _is_current_value(
                    said, name, scope
                ):
                    yield statement
            case _:
                pass


def _is_current_value(said: ast.expr, name: str, scope: Scope) -> bool:
    """Whether an expression is, as a literal, the value of this variable."""
    found = scope.lookup(name)
    if not isinstance(found, Bound) or type(found.value) not in _PLAIN_TYPES:
        return False
    try:
        value = ast.literal_eval(said)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return type(value) is type(found.value) and repr(value) == repr(found.value)
