"""Find problems in the code of static blocks, which later runs without the guard's checks.

    getter = operator.attrgetter     `attrgetter` can only be called in a block, under its own name
    [json][0].codecs                 `json` is a module: in a block it can only be used as `json.NAME`
    vars(order)                      `vars` is refused in a static block; use the attributes by their names

Not detected: attribute names made at run time; internal attributes of library objects.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from types import ModuleType

from njrt.execution.guard.allowed import DIRECT_CALL_FUNCTIONS, FORMAT_METHODS, REFUSED_ATTRIBUTES
from njrt.execution.guard.check import (
    find_assignments,
    find_modules,
    format_refusal,
    resolve_member,
)
from njrt.execution.symbols import SnippetNames, format_line_prefix
from njrt.scope.scope import Scope
from njrt.values.introspection import is_a


def find_unchecked_problems(
    nodes: Sequence[ast.AST], names: SnippetNames, scope: Scope
) -> Iterator[str]:
    """Yield every reason why code must not run without the guard's checks."""
    if "vars" in names.read and not scope.is_referenced("vars") and "vars" not in names.bound:
        yield _format_namespace_refusal("vars", names.read["vars"])
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    names_error = any(isinstance(node, ast.ExceptHandler) and node.name for node in nodes)
    for node in nodes:
        match node:
            case ast.ClassDef(body=statements):
                for statement in statements:
                    if isinstance(statement, ast.Import | ast.ImportFrom):
                        yield f"{format_line_prefix(statement)}an import is refused in a class body; write it above the class"
            case ast.Call():
                yield from _find_getter_problems(node)
            case ast.Attribute(attr="__dict__"):
                yield _format_namespace_refusal("__dict__", node)
            case ast.Attribute(attr="obj") if names_error:
                yield f"{format_line_prefix(node)}`obj` of an exception is refused in a block"
        yield from _find_loose_getter(node, called, scope)
    yield from _find_module_values(nodes, find_modules(nodes, scope))


def _format_namespace_refusal(name: str, node: ast.AST) -> str:
    return f"{format_line_prefix(node)}`{name}` is refused in a static block; use the attributes by their names"


def _find_module_values(nodes: Sequence[ast.AST], modules: dict[str, ModuleType]) -> Iterator[str]:
    """Yield each use that passes a module on, since code could then read any member, unseen by this check."""
    if not modules:
        return
    owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    assigned = {id(value) for value, _ in find_assignments(nodes)}
    for node in nodes:
        if id(node) in owners | assigned or not isinstance(
            node, ast.Name | ast.Attribute | ast.NamedExpr
        ):
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            continue
        if is_a(resolve_member(node, modules), ModuleType):
            name = ast.unparse(node)
            yield f"{format_line_prefix(node)}`{name}` is a module: in a block it can only be used as `{name}.NAME`"


def _find_loose_getter(node: ast.AST, called: set[int], scope: Scope) -> Iterator[str]:
    """Yield functions that take attribute names and are not called directly, under their own names."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()):
            is_loose = id(node) not in called and not scope.is_referenced(name)
        case ast.alias(name=name, asname=other):
            is_loose = other not in (None, name)
        case _:
            return
    if is_loose and name in DIRECT_CALL_FUNCTIONS:
        yield f"{format_line_prefix(node)}`{name}` can only be called in a block, under its own name"


def _find_getter_problems(node: ast.Call) -> Iterator[str]:
    name = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
    if name == "wraps" and (len(node.args) != 1 or node.keywords):
        yield f"{format_line_prefix(node)}`wraps` takes only the function in a block"
    if name not in ("attrgetter", "methodcaller"):
        return
    for path in node.args if name == "attrgetter" else node.args[:1]:
        if not (isinstance(path, ast.Constant) and isinstance(path.value, str)):
            yield f"{format_line_prefix(node)}`{name}` takes only literal names in a block; use a lambda"
        elif path.value in FORMAT_METHODS or not REFUSED_ATTRIBUTES.isdisjoint(
            path.value.split(".")
        ):
            yield format_refusal(path.value, node)
