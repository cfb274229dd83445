"""What `policy="guarded"` refuses: code that is rarely meant, found before it runs.

    import subprocess            `subprocess` cannot be imported in a block; ... can, or the program passes <subprocess>
    exit()                       `exit` is refused in a block; ...
    x.__class__.__subclasses__   `__class__` is refused in a block; use type(x)

This is a guard against accidents and not a sandbox: the code runs in the program's own process, and whoever
means harm finds a way around any check of this kind. What the prompt itself names may always be used.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator, Sequence
from types import ModuleType

from njrt.effects import Refusal
from njrt.execution.guard.allowed import (
    ALLOWED_MEMBERS,
    DIRECT_CALL_FUNCTIONS,
    IMPORTABLE_MODULES,
    REFUSED_ATTRIBUTES,
    REFUSED_BINDINGS,
    REFUSED_BUILTINS,
    REFUSED_MEMBERS,
)
from njrt.execution.guard.runtime import find_refused_attribute
from njrt.execution.lowering import FORMAT_METHODS
from njrt.execution.symbols import SnippetNames, format_line_prefix
from njrt.outcome import UserValue
from njrt.scope.scope import Bound, Scope
from njrt.values.introspection import is_a

_ALTERNATIVES = {
    "__class__": "use type(x)",
    "__dict__": "use the attributes by their names",
    "exit": "end the block with done, or use the jumps that it offers",
    "quit": "end the block with done, or use the jumps that it offers",
    "SystemExit": "raise another exception",
    "KeyboardInterrupt": "raise another exception",
}


def find_guard_refusal(
    nodes: Sequence[ast.AST], names: SnippetNames, scope: Scope
) -> Refusal | None:
    """The first thing among the nodes of a snippet that the guard refuses, or None."""
    for problem in find_guard_problems(nodes, names, scope):
        return Refusal(problem)
    return None


def find_guard_problems(
    nodes: Sequence[ast.AST], names: SnippetNames, scope: Scope
) -> Iterator[str]:
    """Say what of this code the guard refuses; lines are those of the snippet."""
    for name, node in names.read.items():
        if name in REFUSED_BUILTINS and not scope.is_referenced(name) and name not in names.bound:
            yield _format_refusal(name, node)
    modules = _find_modules(nodes, scope)
    for node in nodes:
        match node:
            case ast.Import(names=aliases):
                for alias in aliases:
                    yield from _find_import_problems(alias.name, node, scope)
            case ast.ImportFrom(module=module, level=level):
                if level or module is None:
                    yield f"{format_line_prefix(node)}relative imports are refused in a block"
                else:
                    yield from _find_import_problems(module, node, scope)
                    yield from _find_from_import_problems(module, node)
            case ast.ClassDef(body=statements):
                yield from _find_class_problems(statements)
            case ast.Name(id=name, ctx=ast.Store()):
                if _is_refused_binding(name):
                    yield _format_refusal(name, node)
            case ast.Attribute(attr=attribute, ctx=context):
                is_bound = isinstance(context, ast.Store) and attribute in REFUSED_BINDINGS
                if is_bound or attribute in REFUSED_ATTRIBUTES:
                    yield _format_refusal(attribute, node)
                yield from _find_attribute_problems(node, modules)
            case ast.Constant(value=str(text)):
                if read := find_refused_attribute(text):
                    yield _format_refusal(read, node)
            case ast.MatchClass(kwd_attrs=attributes):
                yield from (
                    _format_refusal(attribute, node)
                    for attribute in attributes
                    if _has_refused_attribute(attribute)
                )
            case ast.Call():
                yield from _find_getter_problems(node)
            case _:
                continue
    yield from _find_module_values(nodes, modules)
    yield from _find_indirect_getters(nodes, scope)
    yield from _find_exception_objects(nodes)


def _has_refused_attribute(path: str) -> bool:
    return not REFUSED_ATTRIBUTES.isdisjoint(path.split("."))


def _is_refused_binding(name: str) -> bool:
    return name in REFUSED_BINDINGS or (name.startswith("__") and name in REFUSED_ATTRIBUTES)


def _find_class_problems(statements: Sequence[ast.stmt]) -> Iterator[str]:
    for node in statements:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield f"{format_line_prefix(node)}an import is refused in a class body; write it above the class"


def _find_exception_objects(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """An AttributeError carries the object that lacked the attribute: `error.obj`."""
    if any(isinstance(node, ast.ExceptHandler) and node.name for node in nodes):
        for node in nodes:
            if isinstance(node, ast.Attribute) and node.attr == "obj":
                yield f"{format_line_prefix(node)}`obj` of an exception is refused in a block"


def _find_import_problems(module: str, node: ast.AST, scope: Scope) -> Iterator[str]:
    top = module.partition(".")[0]
    if top in IMPORTABLE_MODULES or scope.is_referenced(top):
        return
    usual = "re, json, math, datetime, collections, itertools and others that only compute"
    yield (
        f"{format_line_prefix(node)}`{module}` cannot be imported in a block; {usual} can, "
        f"and so can what the prompt names: <{top}>"
    )


def _find_from_import_problems(module: str, node: ast.ImportFrom) -> Iterator[str]:
    top = module.partition(".")[0]
    if top not in IMPORTABLE_MODULES:
        return
    for alias in node.names:
        try:
            member = vars(importlib.import_module(module)).get(alias.name)
        except ImportError:
            continue
        yield from _find_member_problems(top, alias.name, member, node)


def _find_member_problems(top: str, name: str, member: UserValue, node: ast.AST) -> Iterator[str]:
    """Refuse a member of an importable module that is private, listed, or of a module of another kind."""
    private = (name.startswith("_") and not name.endswith("__")) or name == "main"
    listed = name in REFUSED_MEMBERS.get(top, ()) or name not in ALLOWED_MEMBERS.get(top, (name,))
    if private or listed or _is_from_other_module(member):
        yield f"{format_line_prefix(node)}`{top}.{name}` is refused in a block: it is no part of what `{top}` is for here"


def _is_from_other_module(member: UserValue) -> bool:
    """Whether a member comes from a module that may not be imported, as `pathlib.Path` in `json.tool`."""
    if is_a(member, ModuleType):
        return member.__name__.partition(".")[0] not in IMPORTABLE_MODULES
    home = getattr(member, "__module__", None)
    if not isinstance(home, str) or home == "builtins" or home.startswith("_"):
        return False
    return home.partition(".")[0] not in IMPORTABLE_MODULES


def _find_modules(nodes: Sequence[ast.AST], scope: Scope) -> dict[str, ModuleType]:
    """The names that stand for an importable module in this snippet, by import or plain assignment.

    What the prompt names is the program's, and may be used as it likes.
    """
    modules: dict[str, ModuleType] = {}
    for name in scope.scratch:
        if isinstance(found := scope.lookup(name), Bound) and is_a(found.value, ModuleType):
            modules[name] = found.value
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                path = alias.name if alias.asname else name
                if path.partition(".")[0] in IMPORTABLE_MODULES:
                    try:
                        modules[name] = importlib.import_module(path)
                    except ImportError:
                        continue
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                member = getattr(_import_if_allowed(node.module), alias.name, None)
                if isinstance(member, ModuleType):
                    modules[alias.asname or alias.name] = member
    _follow_assignments(nodes, modules)
    return {name: module for name, module in modules.items() if not scope.is_referenced(name)}


def _import_if_allowed(module: str) -> ModuleType | None:
    if module.partition(".")[0] not in IMPORTABLE_MODULES:
        return None
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


def _follow_assignments(nodes: Sequence[ast.AST], modules: dict[str, ModuleType]) -> None:
    for value, target in _find_assignments(nodes):
        module = _resolve_member(value, modules)
        if isinstance(module, ModuleType):
            modules[target.id] = module


def _find_assignments(nodes: Sequence[ast.AST]) -> Iterator[tuple[ast.expr, ast.Name]]:
    """What is plainly given a name: the expression and the name."""
    for node in nodes:
        match node:
            case ast.Assign(value=value, targets=targets):
                yield from ((value, target) for target in targets if isinstance(target, ast.Name))
            case ast.NamedExpr(value=value, target=target):
                yield value, target
            case _:
                continue


def _find_module_values(nodes: Sequence[ast.AST], modules: dict[str, ModuleType]) -> Iterator[str]:
    """A module is no value here: handed on, it could be asked for anything where nobody sees it."""
    if not modules:
        return
    owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    tied = owners | {id(value) for value, _ in _find_assignments(nodes)}
    for node in nodes:
        if id(node) in tied or not isinstance(node, ast.Name | ast.Attribute | ast.NamedExpr):
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            continue
        if is_a(_resolve_member(node, modules), ModuleType):
            name = ast.unparse(node)
            yield f"{format_line_prefix(node)}`{name}` is a module: in a block it can only be used as `{name}.NAME`"


def _find_indirect_getters(nodes: Sequence[ast.AST], scope: Scope) -> Iterator[str]:
    """Functions that take names of attributes are called where they stand, under their own names."""
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()):
                loose = id(node) not in called and not scope.is_referenced(name)
            case ast.alias(name=name, asname=other):
                loose = other not in (None, name)
            case _:
                continue
        if loose and name in DIRECT_CALL_FUNCTIONS:
            yield f"{format_line_prefix(node)}`{name}` can only be called in a block, under its own name"


def _resolve_member(node: ast.expr, modules: dict[str, ModuleType]) -> UserValue:
    """The module member that a plain path such as `asyncio.subprocess` means, or None."""
    match node:
        case ast.Name(id=name):
            return modules.get(name)
        case ast.Attribute(value=value, attr=attribute):
            inner = _resolve_member(value, modules)
            return vars(inner).get(attribute) if is_a(inner, ModuleType) else None
        case ast.NamedExpr(value=value):
            return _resolve_member(value, modules)
        case _:
            return None


def _find_attribute_problems(node: ast.Attribute, modules: dict[str, ModuleType]) -> Iterator[str]:
    module = _resolve_member(node.value, modules)
    if is_a(module, ModuleType):
        top = module.__name__.partition(".")[0]
        if top in IMPORTABLE_MODULES:
            yield from _find_member_problems(top, node.attr, vars(module).get(node.attr), node)


def _find_getter_problems(node: ast.Call) -> Iterator[str]:
    """`operator.attrgetter` and the like are fine with plain names that can be read here."""
    name = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
    if name == "wraps" and (len(node.args) != 1 or node.keywords):
        yield f"{format_line_prefix(node)}`wraps` takes only the function in a block"
    if name not in ("attrgetter", "methodcaller"):
        return
    for path in node.args if name == "attrgetter" else node.args[:1]:
        if not (isinstance(path, ast.Constant) and isinstance(path.value, str)):
            yield f"{format_line_prefix(node)}`{name}` takes only literal names in a block; use a lambda"
        elif _has_refused_attribute(path.value) or path.value in FORMAT_METHODS:
            yield _format_refusal(path.value, node)


def _format_refusal(name: str, node: ast.AST) -> str:
    way_out = f"; {_ALTERNATIVES[name]}" if name in _ALTERNATIVES else ""
    return f"{format_line_prefix(node)}`{name}` is refused in a block{way_out}"
