"""Check code before it runs, for `policy="guarded"`.

    import subprocess            `subprocess` cannot be imported in a block; ... can, or the program passes <subprocess>
    exit()                       `exit` is refused in a block; ...
    x.__class__.__subclasses__   `__subclasses__` is refused in a block

Everything that the prompt names may be used. This is a guard against accidents, not a sandbox: the code runs in the
program's own process. Not detected: names made at run time (`runtime.py`), members reached through values
(`module_proxies.py`), and effects of the program's own functions.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from types import ModuleType

from njrt.execution.guard.allowed import (
    REFUSED_ATTRIBUTES,
    REFUSED_BINDINGS,
    REFUSED_BUILTINS,
    SUBMODULES,
    is_checked_name,
)
from njrt.execution.guard.module_proxies import is_importable, open_module
from njrt.execution.guard.runtime import CHECKED_BUILTINS, ComputingModule, find_refused_attribute
from njrt.execution.symbols import SnippetNames, format_line_prefix
from njrt.outcome import UserValue
from njrt.scope.scope import Absent, Bound, Scope
from njrt.values.introspection import is_a

_ALTERNATIVES = {
    "globals": "locals() gives the variables of the block",
    "exit": "end the block with done, or use the jumps that it offers",
    "quit": "end the block with done, or use the jumps that it offers",
    "SystemExit": "raise another exception",
    "KeyboardInterrupt": "raise another exception",
}

_REFUSED_DEFINITIONS = REFUSED_BINDINGS.union(
    ("__dict__", "__reduce__", "__reduce_ex__", "__setstate__")
)
"""Methods that Python asks for internals, or passes them to."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def find_guard_problems(
    nodes: Sequence[ast.AST], names: SnippetNames, scope: Scope
) -> Iterator[str]:
    """Yield every reason why the guard refuses the code, with the line in the snippet."""
    for name, node in names.read.items():
        if name in REFUSED_BUILTINS and not scope.is_referenced(name) and name not in names.bound:
            yield format_refusal(name, node)
    modules = find_modules(nodes, scope)
    for node in nodes:
        match node:
            case ast.Import(names=aliases):
                for alias in aliases:
                    yield from _find_import_problems(alias.name, node, scope)
            case ast.ImportFrom(module=module, level=level):
                if level or module is None:
                    yield f"{format_line_prefix(node)}relative imports are refused in a block"
                else:
                    yield from _find_from_import_problems(module, node, scope)
            case ast.ClassDef():
                yield from _find_class_problems(node, scope)
            case ast.Name(id=name, ctx=ast.Store()):
                is_refused = name in REFUSED_BINDINGS or (
                    name.startswith("__") and name in REFUSED_ATTRIBUTES
                )
                if is_refused and node not in set(_find_positions(nodes)):
                    yield format_refusal(name, node)
            case ast.Attribute(attr=attribute, ctx=context):
                refused = REFUSED_ATTRIBUTES
                if not isinstance(context, ast.Load):
                    refused = refused | REFUSED_BINDINGS | {"__dict__"}
                if attribute in refused:
                    yield format_refusal(attribute, node)
                if modules and is_a(owner := resolve_member(node.value, modules), ModuleType):
                    yield from _find_member_problems(owner, attribute, node)
            case ast.Constant(value=str(text)):
                if read := find_refused_attribute(text):
                    yield format_refusal(read, node)
            case ast.MatchClass(kwd_attrs=attributes):
                for attribute in attributes:
                    if attribute in REFUSED_ATTRIBUTES or is_checked_name(attribute):
                        yield format_refusal(attribute, node)
            case ast.Match() if scope.namespace is not None:
                yield from _find_class_patterns(node)
            case (
                ast.AnnAssign(annotation=annotation) | ast.arg(annotation=ast.expr() as annotation)
            ):
                yield from _find_annotation_problems(annotation)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if name in _REFUSED_DEFINITIONS:
                    yield format_refusal(name, node)
                if node.returns is not None:
                    yield from _find_annotation_problems(node.returns)


def _find_positions(nodes: Sequence[ast.AST]) -> Iterator[ast.Name]:
    """Yield the bindings of `__match_args__` to names that may be read."""
    for node in nodes:
        match node:
            case ast.Assign([ast.Name("__match_args__") as target], ast.Tuple(elements)) if all(
                isinstance(name, ast.Constant)
                and type(name.value) is str
                and name.value.isidentifier()
                and not (name.value in REFUSED_ATTRIBUTES or is_checked_name(name.value))
                for name in elements
            ):
                yield target


def list_program_modules(scope: Scope) -> tuple[str, ...]:
    """Return the modules that the prompt names, which a block may import, with their members.

    In static code, names have no values and mean the modules of the same name.
    """
    named = scope.list_variables(scope.names)
    found = {
        value.__name__.partition(".")[0]
        for value in named.values()
        if is_a(value, ModuleType) and not is_a(value, ComputingModule)
    }
    if len(named) < len(scope.names):
        others = [name for name in scope.names if name not in scope.bindable]
        found |= {name for name in others if scope.lookup(name) is Absent.UNBOUND}
    return tuple(sorted(found))


def _find_import_problems(path: str, node: ast.AST, scope: Scope) -> Iterator[str]:
    top = path.partition(".")[0]
    if is_importable(path) or top in list_program_modules(scope):
        return
    usual = "re, json, math, datetime, collections, itertools and others that only compute"
    yield (
        f"{format_line_prefix(node)}`{path}` cannot be imported in a block; {usual} can, "
        f"and so can what the prompt names: <{top}>"
    )


def _find_from_import_problems(path: str, node: ast.ImportFrom, scope: Scope) -> Iterator[str]:
    yield from _find_import_problems(path, node, scope)
    is_program_module = path.partition(".")[0] in list_program_modules(scope)
    if is_importable(path) and path != "__future__" and not is_program_module:
        module = open_module(path)
        for alias in node.names:
            yield from _find_member_problems(module, alias.name, node)


def _find_member_problems(module: ModuleType, name: str, node: ast.AST) -> Iterator[str]:
    path = module.__name__
    if name not in vars(module) and not name.startswith("__"):
        real = sys.modules.get(path)
        is_submodule = hasattr(real, "__path__") and find_spec(f"{path}.{name}") is not None
        if name.startswith("_") or hasattr(real, name) or is_submodule:
            yield f"{format_line_prefix(node)}`{path}.{name}` is refused in a block: it does more than compute"


def find_modules(nodes: Sequence[ast.AST], scope: Scope) -> dict[str, ModuleType]:
    """Return the names that this snippet gives importable modules, by import or plain assignment."""
    modules: dict[str, ModuleType] = {}
    for name in scope.scratch:
        if isinstance(found := scope.lookup(name), Bound) and is_a(found.value, ComputingModule):
            modules[name] = found.value
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                path = alias.name if alias.asname else name
                if is_importable(path):
                    modules[name] = open_module(path)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                path = f"{node.module}.{alias.name}"
                if path in SUBMODULES and is_importable(path):
                    modules[alias.asname or alias.name] = open_module(path)
    for value, target in find_assignments(nodes) if modules else ():
        if is_a(module := resolve_member(value, modules), ModuleType):
            modules[target.id] = module
    return {name: module for name, module in modules.items() if not scope.is_referenced(name)}


def find_assignments(nodes: Sequence[ast.AST]) -> Iterator[tuple[ast.expr, ast.Name]]:
    """Yield the plain assignments to names: the expression and the name."""
    for node in nodes:
        match node:
            case ast.Assign(value=value, targets=targets):
                yield from ((value, target) for target in targets if isinstance(target, ast.Name))
            case ast.NamedExpr(value=value, target=target):
                yield value, target


def resolve_member(node: ast.expr, modules: dict[str, ModuleType]) -> UserValue:
    """Return the member of a module for a plain path such as `collections.abc`, or None."""
    match node:
        case ast.Name(id=name):
            return modules.get(name)
        case ast.Attribute(value=value, attr=attribute):
            inner = resolve_member(value, modules)
            return vars(inner).get(attribute) if is_a(inner, ModuleType) else None
        case ast.NamedExpr(value=value):
            return resolve_member(value, modules)
        case _:
            return None


def _find_class_problems(node: ast.ClassDef, scope: Scope) -> Iterator[str]:
    """Yield positional patterns in a class body, and reads of refused builtins that may precede its own binding."""
    for inner in _walk_class_body(node):
        if isinstance(inner, ast.Match):
            yield from _find_class_patterns(inner)
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
            is_bound = any(_binds(other, inner.id) for other in _walk_class_body(node))
            is_refused = inner.id in REFUSED_BUILTINS or inner.id in CHECKED_BUILTINS
            if is_bound and is_refused and not scope.is_referenced(inner.id):
                yield format_refusal(inner.id, inner)


def _binds(node: ast.AST, name: str) -> bool:
    """Return whether a node of a class body binds a name, deletes it, or declares its scope."""
    match node:
        case ast.Name(id=bound, ctx=ast.Store() | ast.Del()):
            return bound == name
        case ast.alias(name=path, asname=other):
            return (other or path.partition(".")[0]) == name
        case ast.MatchMapping(rest=rest):
            return rest == name
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return name in names
    return getattr(node, "name", None) == name


def _walk_class_body(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that a class body itself runs, excluding those in functions."""
    for child in ast.iter_child_nodes(node):
        yield child
        if isinstance(child, _Function):
            parts = [*getattr(child, "decorator_list", ()), child.args]
            for part in parts:
                yield from ast.walk(part)
        else:
            yield from _walk_class_body(child)


def _find_class_patterns(node: ast.Match) -> Iterator[str]:
    for case in node.cases:
        for pattern in ast.walk(case.pattern):
            if isinstance(pattern, ast.MatchClass) and pattern.patterns:
                yield (
                    f"{format_line_prefix(pattern)}a pattern with positions is refused in a class body; "
                    "name the attributes: `case Point(x=a)`"
                )


def _find_annotation_problems(annotation: ast.expr) -> Iterator[str]:
    """Yield the problems in string annotations, which libraries evaluate."""
    literals = {
        id(inner)
        for node in ast.walk(annotation)
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("Literal")
        for inner in ast.walk(node)
    }
    for node in ast.walk(annotation):
        if (
            not isinstance(node, ast.Constant)
            or type(node.value) is not str
            or id(node) in literals
        ):
            continue
        try:
            inner = ast.walk(ast.parse(node.value.strip(), mode="eval"))
        except (SyntaxError, ValueError):
            continue
        for part in inner:
            if isinstance(part, ast.Call | ast.Lambda | ast.NamedExpr):
                yield f"{format_line_prefix(node)}a call in the text of an annotation is refused in a block"
                return


def format_refusal(name: str, node: ast.AST) -> str:
    """Return the message for a refused name."""
    way_out = f"; {_ALTERNATIVES[name]}" if name in _ALTERNATIVES else ""
    return f"{format_line_prefix(node)}`{name}` is refused in a block{way_out}"
