"""What a snippet may not do in its block, found before it runs, each with a way out.

yield x                  a block cannot yield
break                    `break` is not possible here; possible are: raise, return
answer = respones        `respones` is not visible in this block; did you mean `response`? Visible are ...
item = 1                 `item` is read-only in this block: the prompt says `<item>`, not `<:item>` ...
"""

from __future__ import annotations

import ast
import builtins
import difflib
import sys
from collections.abc import Collection, Iterator, Sequence

from njrt.effects import Refusal
from njrt.execution.lowering import HostJump, host_jumps, is_bare_super
from njrt.execution.symbols import Names, at_line
from njrt.scope.scope import Bound, Scope, defined_already, read_only

MODULE_NAMES = frozenset({"__name__", "__file__", "__doc__", "__debug__"})
"""Names that every module has; a block may read them unasked."""


def refused(
    tree: ast.Module,
    nodes: Sequence[ast.AST],
    names: Names,
    scope: Scope,
    labels: Collection[str],
    is_async: bool,
) -> Refusal | None:
    """The first reason why this snippet cannot run as part of the block, or None.

    `nodes` are all nodes of `tree`.
    """
    for problem in problems_in(tree, nodes, names, scope, labels, is_async):
        return Refusal(problem)
    return None


def problems_in(
    tree: ast.Module,
    nodes: Sequence[ast.AST],
    names: Names,
    scope: Scope,
    labels: Collection[str],
    is_async: bool,
) -> Iterator[str]:
    """Say why this snippet cannot run as part of the block: each reason, with its line."""
    yield from (f"{at_line(node)}a block cannot yield" for node in names.yields)
    if not is_async or scope.namespace is not None:
        for node in names.awaits:
            yield f"{at_line(node)}this block does not run in an async function: it cannot await"
    yield from (problem for jump in host_jumps(tree.body) if (problem := _illegal(jump, labels)))
    yield from _wrong_imports(nodes)
    yield from _bare_supers(nodes, names, scope)
    yield from _invisible(names, scope)
    yield from _hidden(names, scope)
    if not scope.shadowing:
        yield from _read_only(names, scope)


def _illegal(jump: HostJump, labels: Collection[str]) -> str | None:
    match jump:
        case ast.Break():
            label = "break"
        case ast.Continue():
            label = "continue"
        case ast.Return(value=value):
            if value is not None and "bare_return" in labels:
                return f"{at_line(jump)}only a bare `return`, without a value, is possible here"
            label = "bare_return" if "bare_return" in labels else "return"
    if label in labels:
        return None
    possible = ", ".join(["raise", *(each.removeprefix("bare_") for each in labels)])
    return f"{at_line(jump)}`{label}` is not possible here; possible are: {possible}"


def _wrong_imports(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and any(each.name == "*" for each in node.names):
            yield f"{at_line(node)}`import *` is not possible in a block; import the names you need"


def _bare_supers(nodes: Sequence[ast.AST], names: Names, scope: Scope) -> Iterator[str]:
    if "super" not in names.read or "super" in names.nested or scope.first_parameter:
        return
    for node in nodes:
        if is_bare_super(node):
            yield (
                f"{at_line(node)}`super()` works in a block only if its prompt names <super>; "
                "name the class instead"
            )


def _invisible(names: Names, scope: Scope) -> Iterator[str]:
    for name, node in names.read.items():
        if name in scope.own and name in names.nested and name not in scope.scratch:
            yield (
                f"{at_line(names.nested[name])}`{name}` belongs to a class body: as always in Python, "
                "functions and comprehensions in it cannot see it; use a loop"
            )
        if not is_visible(name, names, scope):
            yield f"{at_line(node)}`{_plain(name, scope)}` is not visible in this block{_hint(name, names, scope)}"


def is_visible(name: str, names: Names, scope: Scope) -> bool:
    """Whether a snippet with these names may read `name` (mangled)."""
    return (
        name in names.bound
        or name in scope.scratch
        or scope.is_referenced(name)
        or hasattr(builtins, name)
        or name in MODULE_NAMES
    )


def _hidden(names: Names, scope: Scope) -> Iterator[str]:
    for name, node in names.hidden.items():
        yield (
            f"{at_line(node)}`global {_plain(name, scope)}` means the block's variable, but a function "
            "around it has one of the same name; rename one of them"
        )


def _read_only(names: Names, scope: Scope) -> Iterator[str]:
    for name, node in names.bound.items():
        if not scope.may_bind(name) and not _same_import(name, node, scope):
            plain = _plain(name, scope)
            again = isinstance(node, _DEFINITIONS) and scope.is_bound(plain)
            yield at_line(node) + (defined_already(plain) if again else read_only(plain))


_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom)


def _same_import(name: str, node: ast.AST, scope: Scope) -> bool:
    """Whether this imports, under its own name, what the program's variable already is."""
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
        case _:
            pass
    return False


_BUILTINS = [
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type(len) | type) and not name.startswith("_")
]
"""Those that may be meant; not `license` and the like, which Python has for its prompt."""

_CLOSE = 0.8
"""What a builtin's name and the one that was written must have in common: of `words` and `ord` it is 0.75, and a
model follows every hint."""


def _hint(name: str, names: Names, scope: Scope) -> str:
    shown = (*scope.names, *scope.type_names)
    visible = [*shown, *(each for each in scope.scratch if each not in shown)]
    plain = [_plain(each, scope) for each in visible]
    meant = _plain(name, scope)
    close = difflib.get_close_matches(meant, [*plain, *names.bound], n=1)
    close = close or difflib.get_close_matches(meant, _BUILTINS, n=1, cutoff=_CLOSE)
    hint = f"; did you mean `{close[0]}`?" if close else "."
    return f"{hint} Visible are {', '.join(plain) or 'no variables'}, and the builtins"


def _plain(name: str, scope: Scope) -> str:
    """The name as the source spells it."""
    prefix = f"_{(scope.class_name or '').lstrip('_')}"
    return (
        name.removeprefix(prefix) if scope.class_name and name.startswith(f"{prefix}__") else name
    )
