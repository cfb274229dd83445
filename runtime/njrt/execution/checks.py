"""Checks of a snippet against its block before it runs, with a hint for each problem.

yield x            a block cannot yield
break              `break` is not possible here; possible are: raise, return
answer = respones  `respones` is not visible in this block; did you mean `response`? Visible are ...
item = 1           `item` is read-only in this block: the prompt says `<item>`, not `<:item>` ...
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Collection, Iterator, Sequence

from njrt.data.private_names import unmangle
from njrt.data.similar import find_similar
from njrt.execution.lowering import HostJump
from njrt.execution.scope.advice import format_read_only_error, format_redefinition_error
from njrt.execution.scope.bindings import Bound
from njrt.execution.scope.scope import Scope
from njrt.execution.snippet_analysis import SnippetAnalysis
from njrt.execution.symbols import SnippetNames, format_line_prefix

MODULE_NAMES = frozenset({"__name__", "__file__", "__doc__", "__debug__"})
"""Names that every module has; a block may read them although its prompt does not name them."""


def find_snippet_problems(
    analysis: SnippetAnalysis, scope: Scope, labels: Collection[str], is_async: bool
) -> Iterator[str]:
    """Yield every reason why this snippet cannot run in its block, with its line."""
    names, nodes = analysis.names, analysis.checked_nodes
    for node in names.yields:
        yield f"{format_line_prefix(node)}a block cannot yield"
    if not is_async or scope.namespace is not None:
        for node in names.awaits:
            yield (
                f"{format_line_prefix(node)}this block does not run in an async function: it cannot"
                " await"
            )
    for jump in analysis.jumps:
        if problem := _explain_illegal_jump(jump, labels):
            yield problem
    if is_async and scope.is_lent("ask") and "ask" not in names.bound:
        yield from _find_unawaited_questions(nodes)
    yield from _find_nested_finally(nodes)
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            yield (
                f"{format_line_prefix(node)}`import *` is not possible in a block; import the names"
                " you need"
            )
    yield from _find_invisible_names(names, scope)
    yield from _find_hidden_names(names, scope)
    yield from _find_read_only_names(names, scope)


def _explain_illegal_jump(jump: HostJump, labels: Collection[str]) -> str | None:
    match jump:
        case ast.Break():
            label = "break"
        case ast.Continue():
            label = "continue"
        case ast.Return(value=value):
            if value is not None and "bare_return" in labels:
                return (
                    f"{format_line_prefix(jump)}only a bare `return`, without a value, is possible"
                    " here"
                )
            label = "bare_return" if "bare_return" in labels else "return"
    if label in labels:
        return None
    possible = ", ".join(["raise", *(name.removeprefix("bare_") for name in labels)])
    # `raise` alone is not offered: models then raise because they need a jump.
    advice = f"possible are: {possible}" if labels else "leave it out"
    return f"{format_line_prefix(jump)}`{label}` is not possible here; {advice}"


def _find_unawaited_questions(nodes: Sequence[ast.AST]) -> Iterator[str]:
    awaited = {id(node.value) for node in nodes if isinstance(node, ast.Await)}
    for node in nodes:
        if isinstance(node, ast.Call) and id(node) not in awaited:
            match node.func:
                case ast.Name("ask"):
                    yield (
                        f"{format_line_prefix(node)}write `await ask(...)`: this block is"
                        " asynchronous"
                    )


_MAX_COPIES = 1_000
"""The most times that one statement may be compiled."""


def _find_nested_finally(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Refuse deep `finally` nesting: Python compiles each per way into it, so they multiply."""
    copies: dict[ast.AST, int] = {}
    for node in reversed(nodes):  # inner nodes come after outer ones
        if isinstance(node, ast.Try | ast.TryStar) and node.finalbody:
            ways = 2 + sum(
                isinstance(inner, HostJump)
                for statement in (*node.body, *node.handlers, *node.orelse)
                for inner in ast.walk(statement)
            )
            nested = (copies.get(inner, 1) for part in node.finalbody for inner in ast.walk(part))
            copies[node] = ways * max(nested)
            if copies[node] > _MAX_COPIES:
                yield (
                    f"{format_line_prefix(node)}too many `finally` blocks are nested in each other"
                )
                return


def _find_invisible_names(names: SnippetNames, scope: Scope) -> Iterator[str]:
    for name, node in names.read.items():
        if name in scope.own and name in names.nested and name not in scope.scratch:
            yield (
                f"{format_line_prefix(names.nested[name])}`{name}` belongs to a class body: as"
                " always in Python, functions and comprehensions in it cannot see it; use a loop"
            )
        if not is_visible(name, names, scope):
            yield (
                f"{format_line_prefix(node)}`{unmangle(name, scope.class_name)}` is not visible in"
                f" this block{_format_name_hint(name, names, scope)}"
            )


def is_visible(name: str, names: SnippetNames, scope: Scope) -> bool:
    """Return whether a snippet with these names may read `name` (mangled)."""
    return (
        name in names.bound
        or name in scope.scratch
        or scope.is_referenced(name)
        or scope.is_lent(name)
        or hasattr(builtins, name)
        or name in MODULE_NAMES
    )


def _find_hidden_names(names: SnippetNames, scope: Scope) -> Iterator[str]:
    for name, node in names.hidden.items():
        yield (
            f"{format_line_prefix(node)}`global {unmangle(name, scope.class_name)}` means the"
            " block's variable, but a function around it has one of the same name; rename one of"
            " them"
        )


def _find_read_only_names(names: SnippetNames, scope: Scope) -> Iterator[str]:
    refused = {
        unmangle(name, scope.class_name): node
        for name, node in names.bound.items()
        if not scope.can_bind(name) and not _is_same_import(name, node, scope)
    }
    again = [
        name
        for name, node in refused.items()
        if isinstance(node, _DEFINITION_NODES) and scope.is_bound(name)
    ]
    for name, node in refused.items():
        found = scope.lookup(name)
        value = found.value if isinstance(found, Bound) else None
        yield format_line_prefix(node) + (
            format_redefinition_error(name, value, again[1:] if name == again[0] else ())
            if name in again
            else format_read_only_error(name, value)
        )


_DEFINITION_NODES = (
    ast.ClassDef,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Import,
    ast.ImportFrom,
)


def _is_same_import(name: str, node: ast.AST, scope: Scope) -> bool:
    """Return whether an import binds what the program's variable of that name already has."""
    found = scope.lookup(name)
    if not isinstance(found, Bound):
        return False
    match node:
        case ast.Import(names=aliases):
            for alias in aliases:
                if (alias.asname or alias.name) == name:
                    return sys.modules.get(alias.name) is found.value
        case ast.ImportFrom(module=str(module), names=aliases, level=0):
            for alias in aliases:
                if (alias.asname or alias.name) == name:
                    return getattr(sys.modules.get(module), alias.name, None) is found.value
    return False


def _format_name_hint(name: str, names: SnippetNames, scope: Scope) -> str:
    """Return a hint with a similar name of its kind (a class for a class) and the visible names."""
    shown = (*scope.names, *scope.type_names)
    visible = dict.fromkeys((*shown, *scope.lent, *scope.scratch))
    plain = [unmangle(visible_name, scope.class_name) for visible_name in visible]
    plain = [path for name in plain for path in scope.parts.get(name, [name])]
    meant = unmangle(name, scope.class_name)
    known = [it for it in (*plain, *names.bound) if _is_class_name(it) == _is_class_name(meant)]
    close = find_similar(meant, known)
    hint = "."
    if close:
        hint = f"; did you mean `{close}`?"
    elif _is_class_name(meant):
        hint = "; no such class is there."
    return f"{hint} Visible are {', '.join(plain) or 'no variables'}, and the builtins"


def _is_class_name(name: str) -> bool:
    """Return whether a name is written like a class name."""
    return name.lstrip("_")[:1].isupper()
