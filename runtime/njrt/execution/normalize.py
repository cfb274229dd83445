"""Rewrite habits of models that Python or the block would refuse, so that the code can run.

    text = 'four'              pass                           the prompt reads <text>: it is 'four'
    text = 'five'              text = 'five'                  refused by the checks: it is only read
    from typing import *       from typing import Any, List   the names that the code reads
    if text == 'four': a = 1   if text == 'four': a = 1       the rest cannot run
    else: a = nine

Small models often restate the inputs first. A statement that binds an input to its own value is
replaced by `pass`, for plain values only (text, numbers, bytes, truth values, None). So is the
restated class of an input, if it has no member that the original lacks, and its methods do nothing
but fill attributes.

They also write a branch for each value that they can think of. The code runs once: if it begins
with an `if` that compares an input with its whole value, the other branches are removed.

Python allows `import *` in modules only. For a module that blocks may import, it is replaced by an
import of the public names that the code reads, names of builtins included, as in Python; a variable
that the prompt names keeps its value. In functions, and for other modules, `import *` stays, and is
refused. Not detected: names in strings, as in `List["Any"]`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from importlib import import_module

from njrt.data.private_names import mangle
from njrt.execution.guard.check import is_allowed_member, is_importable
from njrt.execution.scope.bindings import Bound
from njrt.execution.scope.scope import Scope
from njrt.execution.symbols import SnippetNames
from njrt.values.introspection import get_class_namespace, get_mro, is_a
from njrt.values.rendering.signatures import read_annotations

_PLAIN_TYPES = (str, bytes, int, float, bool, type(None))


_Replacement = tuple[ast.stmt, str]
"""A statement, and the code on one line that replaces it."""


def normalize(source: str, tree: ast.Module, names: SnippetNames, scope: Scope) -> str:
    """Remove dead branches, or replace restated inputs and star imports; lines keep their place.

    The result may be normalized again.
    """
    if "if" in source and (branches := _find_only_branch(tree, scope)) is not None:
        return _remove_other_branches(source, *branches)
    replacements = [
        *_replace_restated_inputs(tree, names, scope),
        *_replace_star_imports(names, scope),
    ]
    if not replacements:
        return source
    lines = source.encode().splitlines(keepends=True)
    replacements.sort(key=lambda found: (found[0].lineno, found[0].col_offset), reverse=True)
    for statement, code in replacements:
        decorators = statement.decorator_list if isinstance(statement, ast.ClassDef) else []
        start = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
        first, last = start - 1, (statement.end_lineno or statement.lineno) - 1
        head = lines[first][: statement.col_offset]
        tail = lines[last][statement.end_col_offset :]
        lines[first : last + 1] = [head + code.encode() + tail, *[b"\n"] * (last - first)]
    return b"".join(lines).decode()


# --- star imports


def _replace_star_imports(names: SnippetNames, scope: Scope) -> Iterator[_Replacement]:
    for statement in names.star_imports:
        module = statement.module or ""
        if statement.level == 0 and is_importable(module):
            members = vars(import_module(module))
            exported = names.read.keys() & members.keys() & set(members.get("__all__", members))
            read = sorted(
                name
                for name in exported
                if is_allowed_member(module, name)
                and not (name.startswith("_") or scope.is_referenced(name) or scope.is_lent(name))
            )
            yield statement, f"from {module} import {', '.join(read)}" if read else "pass"


# --- restated inputs


def _replace_restated_inputs(
    tree: ast.Module, names: SnippetNames, scope: Scope
) -> Iterator[_Replacement]:
    """Replace the statements that bind an input to its own value."""
    for statement in () if all(map(scope.can_bind, names.bound)) else tree.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(name)], value=literal)
                | ast.AnnAssign(target=ast.Name(name), value=ast.expr() as literal)
            ):
                is_input = not scope.can_bind(mangle(name, scope.class_name))
                if is_input and _is_current_value(literal, name, scope):
                    yield statement, "pass"
            case ast.ClassDef(name=name):
                is_input = not scope.can_bind(mangle(name, scope.class_name))
                if is_input and _is_current_class(statement, scope):
                    yield statement, "pass"


def _is_current_class(definition: ast.ClassDef, scope: Scope) -> bool:
    """Return whether a class statement only restates members of the existing class of this name."""
    found = scope.lookup(definition.name)
    if not isinstance(found, Bound) or not is_a(found.value, type):
        return False
    known: set[str] = set()
    for base in get_mro(found.value):
        known |= get_class_namespace(base).keys() | read_annotations(base).keys()
    return all(_is_known_member(statement, known) for statement in definition.body)


def _is_known_member(statement: ast.stmt, known: Collection[str]) -> bool:
    """Return whether a class body's statement declares a `known` member and adds no behaviour."""
    match statement:
        case (
            ast.AnnAssign(target=ast.Name(name), value=value)
            | ast.Assign(targets=[ast.Name(name)], value=value)
        ):
            return name in known and isinstance(value, ast.Constant | None)
        case ast.FunctionDef(name=name, body=body):
            return name in known and all(map(_is_trivial, body))
    return _is_trivial(statement)


def _is_trivial(statement: ast.stmt) -> bool:
    """Return whether a statement does nothing, or fills an attribute from a name."""
    match statement:
        case ast.Pass() | ast.Expr(ast.Constant()) | ast.Raise(ast.Name("NotImplementedError")):
            return True
        case ast.Assign([ast.Attribute(ast.Name("self"))], ast.Name()):
            return True
    return False


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
