"""Rewrite habits of models that Python or the block would refuse, so that the code can run.

    text = 'four'              pass                           the prompt reads <text>: it is 'four'
    text = 'five'              text = 'five'                  refused by the checks: it is only read
    if text == 'four': a = 1   if text == 'four': a = 1       the rest cannot run
    else: a = nine

Small models often restate the inputs first. A statement that binds an input to its own value is
replaced by `pass`, for plain values only (text, numbers, bytes, truth values, None).

They also write a branch for each value that they can think of. The code runs once: if it begins
with an `if` that compares an input with its whole value, the other branches are removed.
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
    """Remove dead branches, or replace restated inputs; lines keep their place.

    The result may be normalized again.
    """
    if "if" in source and (branches := _find_only_branch(tree, scope)) is not None:
        return _remove_other_branches(source, *branches)
    if not (restated := [*_find_restated_inputs(tree, names, scope)]):
        return source
    lines = source.encode().splitlines(keepends=True)
    for statement in reversed(restated):
        first, last = statement.lineno - 1, (statement.end_lineno or statement.lineno) - 1
        head = lines[first][: statement.col_offset]
        tail = lines[last][statement.end_col_offset :]
        lines[first : last + 1] = [head + b"pass" + tail, *[b"\n"] * (last - first)]
    return b"".join(lines).decode()


# --- restated inputs


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


# --- dead branches


def _find_only_branch(tree: ast.Module, scope: Scope) -> tuple[ast.stmt, ast.If] | None:
    """Return the `if` that the code begins with, and its branch for the whole value of an input.

    Before it, only imports, assigned constants and such tests run, which cannot change the input.
    """
    for statement in tree.body:
        branch: ast.stmt | None = statement
        while isinstance(branch, ast.If) and branch.col_offset == statement.col_offset:
            is_equal = _compare_input(branch.test, scope)
            if is_equal and (branch is not statement or branch.orelse):
                return statement, branch
            branch = branch.orelse[0] if is_equal is False and branch.orelse else None
        match statement:
            case ast.Import() | ast.ImportFrom() | ast.Assign(value=ast.Constant()) | ast.Pass():
                continue
        return None
    return None


def _compare_input(test: ast.expr, scope: Scope) -> bool | None:
    """Return whether `NAME == TEXT` is true for an input; None for any other test."""
    match test:
        case ast.Compare(ast.Name(name), [ast.Eq()], [ast.Constant(str(text))]):
            found = scope.lookup(name)
            is_input = not scope.can_bind(mangle(name, scope.class_name))
            if is_input and isinstance(found, Bound) and type(found.value) is str:
                return found.value == text
    return None


def _remove_other_branches(source: str, whole: ast.stmt, branch: ast.If) -> str:
    """Blank the lines of the other branches of an `if`; an `elif` that stays becomes an `if`."""
    lines = source.encode().splitlines(keepends=True)
    first, last = branch.lineno - 1, branch.body[-1].end_lineno or branch.lineno
    if branch is not whole:
        lines[first] = lines[first].replace(b"elif", b"if", 1)
    for number in (*range(whole.lineno - 1, first), *range(last, whole.end_lineno or last)):
        lines[number] = b"\n"
    return b"".join(lines).decode()
