"""Check that code uses only the parts of a variable that its prompt names.

    <self.folders>            self.folders["bills"].append(mail)   fine: it is inside the part
                              self.mails, f(self), s = self        refused: no other part is named
                              self.folders = {}                    refused: change the object itself
    <self.opened>, an int     self.opened += 1                     fine: an immutable value

The check reads the text, before anything runs. Not detected: ways from a part back to its object.
"""

from __future__ import annotations

import ast
import datetime
import decimal
import enum
import fractions
import uuid
from collections.abc import Iterator

from njrt.data.outcome import UserValue
from njrt.execution.scope.advice import format_read_only_error
from njrt.execution.scope.bindings import Bound
from njrt.execution.scope.scope import Scope
from njrt.execution.symbols import format_line_prefix
from njrt.values.introspection import is_a

_IMMUTABLE = (
    *(str, bytes, int, float, complex, bool, type(None), tuple, frozenset, enum.Enum, uuid.UUID),
    *(datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, fractions.Fraction),
)


def find_part_problems(tree: ast.Module, scope: Scope) -> Iterator[str]:
    """Yield each use of a variable that is not one of its named parts, with its line."""
    for node, path in _walk_paths(tree, frozenset(scope.parts)):
        root = path.partition(".")[0]
        named = scope.parts[root]
        if path in named:
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                yield from _find_assignment_problem(node, path, scope)
        elif not any(path.startswith(f"{part}.") for part in named):
            parts = ", ".join(f"`{part}`" for part in named)
            line = format_line_prefix(node)
            yield (
                f"{line}the prompt names only {parts} of `{root}`, and no other part; use just that"
            )


def _find_assignment_problem(node: ast.Attribute, path: str, scope: Scope) -> Iterator[str]:
    if isinstance(node.ctx, ast.Del):
        yield f"{format_line_prefix(node)}`{path}` cannot be deleted: the prompt names it"
        return
    found = scope.read_part(path)
    value: UserValue = found.value if isinstance(found, Bound) else None
    is_immutable = isinstance(found, Bound) and any(is_a(value, kind) for kind in _IMMUTABLE)
    if not (is_immutable or path in scope.outputs):
        yield format_line_prefix(node) + format_read_only_error(path, value)


def _walk_paths(tree: ast.AST, roots: frozenset[str]) -> Iterator[tuple[ast.expr, str]]:
    """Yield the uses of variables, each with all attributes that follow; not of parameters."""
    waiting = [(tree, roots)]
    while waiting:
        node, visible = waiting.pop()
        own: set[str] = set()
        match node:
            case ast.Attribute() | ast.Name():
                owner: ast.expr = node
                names: list[str] = []
                while isinstance(owner, ast.Attribute):
                    names.append(owner.attr)
                    owner = owner.value
                if isinstance(owner, ast.Name) and owner.id in visible:
                    yield node, ".".join([owner.id, *reversed(names)])
                elif not isinstance(owner, ast.Name):
                    waiting.append((owner, visible))
                continue
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                own = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        body = getattr(node, "body", ()) if own else ()
        inside = body if isinstance(body, list) else [body]
        for child in ast.iter_child_nodes(node):
            waiting.append((child, visible - own if child in inside else visible))
