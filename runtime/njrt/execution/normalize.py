"""Rewrite habits of models that Python or the block would refuse, so that the code can run.

    text = 'four'              pass                           the prompt reads <text>: it is 'four'
    text = 'five'              text = 'five'                  refused by the checks: it is only read

Small models often restate the inputs first. A statement that binds an input to its own value is
replaced by `pass`, for plain values only (text, numbers, bytes, truth values, None).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from njrt.data.private_names import mangle
from njrt.execution.scope.bindings import Bound
from njrt.execution.scope.scope import Scope
from njrt.execution.symbols import SnippetNames

_PLAIN_TYPES = (str, bytes, int, float, bool, type(None))


def normalize(source: str, tree: ast.Module, names: SnippetNames, scope: Scope) -> str:
    """Replace restated inputs by `pass`; lines keep their place."""
    if not (restated := [*_find_restated_inputs(tree, names, scope)]):
        return source
    lines = source.encode().splitlines(keepends=True)
    for statement in reversed(restated):
        first, last = statement.lineno - 1, (statement.end_lineno or statement.lineno) - 1
        head = lines[first][: statement.col_offset]
        tail = lines[last][statement.end_col_offset :]
        lines[first : last + 1] = [head + b"pass" + tail, *[b"\n"] * (last - first)]
    return b"".join(lines).decode()


def _find_restated_inputs(
    tree: ast.Module, names: SnippetNames, scope: Scope
) -> Iterator[ast.stmt]:
    """Yield the statements that bind an input to its own value."""
    for statement in () if all(map(scope.can_bind, names.bound)) else tree.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(name)], value=literal)
                | ast.AnnAssign(target=ast.Name(name), value=ast.expr() as literal)
            ):
                is_input = not scope.can_bind(mangle(name, scope.class_name))
                if is_input and _is_current_value(literal, name, scope):
                    yield statement


def _is_current_value(literal: ast.expr, name: str, scope: Scope) -> bool:
    """Return whether an expression is a literal equal to this variable's value, or the variable."""
    if isinstance(literal, ast.Name) and literal.id == name:
        return True
    found = scope.lookup(name)
    if not isinstance(found, Bound) or type(found.value) not in _PLAIN_TYPES:
        return False
    try:
        value = ast.literal_eval(literal)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return type(value) is type(found.value) and repr(value) == repr(found.value)
