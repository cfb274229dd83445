"""Find problems in the code of static blocks, which later runs without the guard's checks.

    getattr(order, "to" + "tal")     `getattr` takes only literal names in a static block
    queue._loop                      `_loop` is refused in a static block: the program does not use it
    [json][0].codecs                 `json` is a module: in a block it can only be used as `json.NAME`
    vars(order)                      `vars` is refused in a static block; use the attributes by their names

The code of a live block may do more, because the guard sees the values. Not detected: attributes in
a template that the program has, and changes of Python's library, such as by `copy.copy` of an object
with its own `__getstate__`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType

from njrt.execution.guard.allowed import (
    FORMAT_METHODS,
    REFUSED_ATTRIBUTES,
    REFUSED_BINDINGS,
    SAFE_NAMES,
)
from njrt.execution.guard.check import (
    find_assignments,
    find_modules,
    format_refusal,
    resolve_member,
)
from njrt.execution.symbols import SnippetNames, format_line_prefix
from njrt.scope.scope import Scope
from njrt.values.introspection import is_a

_NAME_ARGUMENTS: Mapping[str, slice] = {
    **dict.fromkeys(("getattr", "setattr", "delattr"), slice(1, 2)),
    "attrgetter": slice(None),
    "methodcaller": slice(1),
    "__setattr__": slice(-2, -1),
    "__delattr__": slice(-1, None),
}
"""The arguments that name attributes; these functions can only be called, under their own names."""
_REFUSED_ARGUMENTS = REFUSED_ATTRIBUTES | REFUSED_BINDINGS | FORMAT_METHODS | {"__dict__", "obj"}


def find_unchecked_problems(
    nodes: Sequence[ast.AST], names: SnippetNames, scope: Scope, known: frozenset[str]
) -> Iterator[str]:
    """Yield every reason why code must not run without the guard's checks.

    `known` are the names with an underscore that the program uses, and the code may use.
    """
    if "vars" in names.read and not scope.is_referenced("vars") and "vars" not in names.bound:
        yield _format_namespace_refusal("vars", names.read["vars"])
    called = {id(node.func): node for node in nodes if isinstance(node, ast.Call)}
    plain_types = set(_find_plain_types(nodes))
    names_error = any(isinstance(node, ast.ExceptHandler) and node.name for node in nodes)
    known |= (
        SAFE_NAMES
        | REFUSED_ATTRIBUTES
        | {"__setattr__", "__delattr__"}
        | set(_list_private_names(nodes))
    )
    for node in nodes:
        line = format_line_prefix(node)
        match node:
            case ast.ClassDef(body=statements, keywords=keywords):
                for statement in statements:
                    if isinstance(statement, ast.Import | ast.ImportFrom):
                        yield f"{format_line_prefix(statement)}an import is refused in a class body; write it above the class"
                if any(keyword.arg != "total" for keyword in keywords):
                    yield f"{line}a class takes only its bases in a static block"
            case ast.Import(names=aliases):
                for alias in aliases:
                    if (alias.asname or alias.name.partition(".")[0]) in scope.bindable:
                        yield f"{line}a module cannot be bound to an output"
            case ast.Call():
                yield from _find_getter_problems(node)
            case ast.Attribute(attr="__dict__"):
                yield _format_namespace_refusal("__dict__", node)
            case ast.Attribute(attr="obj") if names_error:
                yield f"{line}`obj` of an exception is refused in a block"
            case ast.Attribute(value=text, attr=name) if name in FORMAT_METHODS:
                if not (isinstance(text, ast.Constant) or _is_of_program(text, names, scope)):
                    yield f"{line}`{name}` takes only a literal template here; use an f-string"
            case ast.Attribute(attr=name) if name[0] == "_" and name not in known:
                yield f"{line}`{name}` is refused in a static block: the program does not use it"
            case ast.Name(id="type") if id(node) not in plain_types and "type" not in names.bound:
                yield f"{line}`type` takes only an object in a static block: `type(x)`"
        yield from _find_loose_getter(node, called, scope)
    yield from _find_module_values(nodes, find_modules(nodes, scope))


def _is_of_program(value: ast.expr, names: SnippetNames, scope: Scope) -> bool:
    """Return whether a value is a variable of the program, or an attribute of one."""
    while isinstance(value, ast.Attribute):
        value = value.value
    if not isinstance(value, ast.Name) or value.id in names.bound:
        return False
    return scope.is_referenced(value.id)


def _find_plain_types(nodes: Sequence[ast.AST]) -> Iterator[int]:
    """Yield the ids of uses of a class that make no class: `type(x)`, annotations, comparisons."""
    for node in nodes:
        match node:
            case ast.Call(func=function, args=[argument], keywords=[]):
                yield from (id(function),) if not isinstance(argument, ast.Starred) else ()
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, classes]):
                yield from map(id, ast.walk(classes))
            case ast.Compare():
                yield from map(id, (node.left, *node.comparators))
            case (
                ast.AnnAssign(annotation=annotation) | ast.arg(annotation=ast.expr() as annotation)
            ):
                yield from map(id, ast.walk(annotation))
            case ast.FunctionDef(returns=ast.expr() as annotation):
                yield from map(id, ast.walk(annotation))


def _list_private_names(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the names with an underscore that the code itself gives to attributes, except dunders."""
    for node in nodes:
        name = getattr(node, "name", None) or getattr(node, "id", None)
        if isinstance(node, ast.Attribute) and _is_stored(node):
            name = node.attr
        if isinstance(name, str) and not name.endswith("__"):
            yield name


def _is_stored(node: ast.Name | ast.Attribute) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _format_namespace_refusal(name: str, node: ast.AST) -> str:
    return f"{format_line_prefix(node)}`{name}` is refused in a static block; use the attributes by their names"


def _find_module_values(nodes: Sequence[ast.AST], modules: dict[str, ModuleType]) -> Iterator[str]:
    """Yield each use that passes a module on, since code could then read any member, unseen by this check."""
    if not modules:
        return
    owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and _is_stored(node)}
    assigned = {
        id(value)
        for value, target in find_assignments(nodes)
        if target.id in modules or getattr(value, "id", "") in stored
    }
    for node in nodes:
        if id(node) in owners | assigned or not isinstance(
            node, ast.Name | ast.Attribute | ast.NamedExpr
        ):
            continue
        if isinstance(node, ast.Name) and _is_stored(node):
            continue
        if is_a(resolve_member(node, modules), ModuleType):
            name = ast.unparse(node)
            yield f"{format_line_prefix(node)}`{name}` is a module: in a block it can only be used as `{name}.NAME`"


def _find_loose_getter(
    node: ast.AST, called: Mapping[int, ast.Call], scope: Scope
) -> Iterator[str]:
    """Yield functions that take attribute names and are not called directly, under their own names."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()):
            is_loose = id(node) not in called and not scope.is_referenced(name)
        case ast.alias(name=name, asname=other):
            is_loose = other not in (None, name)
        case _:
            return
    if is_loose and (name in _NAME_ARGUMENTS or name == "wraps"):
        yield f"{format_line_prefix(node)}`{name}` can only be called in a block, under its own name"


def _find_getter_problems(node: ast.Call) -> Iterator[str]:
    name = str(getattr(node.func, "attr", "") or getattr(node.func, "id", ""))
    if name == "wraps" and (len(node.args) != 1 or node.keywords):
        yield f"{format_line_prefix(node)}`wraps` takes only the function in a block"
    if name not in _NAME_ARGUMENTS:
        return
    given = node.args[_NAME_ARGUMENTS[name]]
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        given = node.args
    for path in given:
        if not (isinstance(path, ast.Constant) and isinstance(path.value, str)):
            yield f"{format_line_prefix(node)}`{name}` takes only literal names in a static block"
        elif not _REFUSED_ARGUMENTS.isdisjoint(path.value.split(".")):
            yield format_refusal(path.value, node)
