"""Check code before it runs, guarded or contained; `policy="open"` has no check.

    import subprocess            `subprocess` cannot be imported in a block; ... <subprocess>
    exit()                       `exit` is refused in a block; ...
    x.__class__.__subclasses__   `__subclasses__` is refused in a block
    "{0.__globals__}"            `__globals__` is refused in a block

Everything that the prompt names may be used. This is a check of the text against accidents: values
are not looked at (SECURITY.md says what passes).
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import ModuleType

from njrt.execution.guard.allowed import (
    ALLOWED_BUILTINS,
    ALLOWED_MEMBERS,
    IMPORTABLE_MODULES,
    REFUSED_MEMBERS,
    SAFE_NAMES,
    SUBMODULES,
)
from njrt.execution.guard.builtins import CHECKED_BUILTINS, is_refused_everywhere
from njrt.execution.scope.bindings import Absent
from njrt.execution.scope.scope import Scope
from njrt.execution.symbols import SnippetNames, format_line_prefix
from njrt.values.introspection import is_a, is_standard_module, is_standard_origin

_ALTERNATIVES = {
    "globals": "locals() gives the variables of the block",
    "exit": "end the block with done, or use the jumps that it offers",
    "SystemExit": "raise another exception",
}
_FORMAT_FIELD = re.compile(r"\{[^{}]*")


def find_guard_problems(
    nodes: Sequence[ast.AST], names: SnippetNames, scope: Scope, private: Collection[str] = ()
) -> Iterator[str]:
    """Yield every reason why the guard refuses the code, with the line in the snippet.

    `private` are the attributes with an underscore that may be used besides the code's own.
    """
    for name, node in names.read.items():
        is_own = name in names.bound or scope.is_referenced(name) or scope.is_lent(name)
        if not is_own and name not in ALLOWED_BUILTINS and name in vars(builtins):
            yield _format_refusal(name, node)
    private = {*private, *_list_own_names(nodes)}
    programs = list_program_modules(scope)
    modules = {
        name: importlib.import_module(path).__name__
        for name, path in _find_modules(nodes, scope)
        if is_importable(path) and _get_top(path) not in programs and not scope.is_referenced(name)
    }
    for node in nodes:
        match node:
            case ast.Import(names=aliases):
                for alias in aliases:
                    yield from _find_import_problems(alias.name, node, programs)
            case ast.ImportFrom(level=0, module=str(path), names=aliases):
                yield from _find_import_problems(path, node, programs)
                if is_importable(path) and _get_top(path) not in programs:
                    for alias in aliases:
                        yield from _find_member_problems(path, alias.name, node)
            case ast.ImportFrom():
                yield f"{format_line_prefix(node)}relative imports are refused in a block"
            case ast.Attribute():
                yield from _find_attribute_problems(node, scope, modules, private)
            case ast.Constant(value=str(text)) if "{" in text:
                fields = " ".join(_FORMAT_FIELD.findall(text))
                yield from _find_private(re.findall(r"\.(\w+)", fields), node, private)
            case ast.MatchClass(kwd_attrs=attributes):
                yield from _find_private(attributes, node, private)


def find_static_problems(
    nodes: Sequence[ast.AST], names: SnippetNames, scope: Scope
) -> Iterator[str]:
    """Yield the uses of builtins that are checked in a live block's code, not in static code."""
    calls = {id(node.func): node for node in nodes if isinstance(node, ast.Call)}
    own = {name for name in CHECKED_BUILTINS if name in names.bound or scope.is_referenced(name)}
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in CHECKED_BUILTINS.keys() - own:
            match calls.get(id(node)):
                case ast.Call(args=[_, ast.Constant(value=str(name)), *_]):
                    if is_refused_everywhere(name):
                        yield _format_refusal(name, node)
                case _:
                    line = format_line_prefix(node)
                    yield f"{line}`{node.id}` takes only literal names in a static block"


def _list_own_names(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the names that the code itself gives to attributes and members."""
    for node in nodes:
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name


def _find_private(read: Iterable[str], node: ast.AST, private: Collection[str]) -> Iterator[str]:
    for name in read:
        if is_refused_everywhere(name):
            yield _format_refusal(name, node)
        elif name.startswith("_") and not (name in SAFE_NAMES or name in private):
            yield f"{_format_refusal(name, node)}; it is internal to its object"


def _find_attribute_problems(
    node: ast.Attribute, scope: Scope, modules: Mapping[str, str], private: Collection[str]
) -> Iterator[str]:
    name, root, is_changed = node.attr, _get_root_name(node), not isinstance(node.ctx, ast.Load)
    is_given = root not in modules and (scope.is_referenced(root) or root in scope.scratch)
    path = modules[root] + ast.unparse(node.value)[len(root) :] if root in modules else ""
    if is_changed and name == "__class__":
        yield _format_refusal(name, node)
    elif root in modules and is_changed:
        yield f"{format_line_prefix(node)}a block cannot change the module `{root}`"
    elif path in sys.modules:
        yield from _find_member_problems(path, name, node)
    elif is_refused_everywhere(name) or not is_given:
        yield from _find_private([name], node, private)


def _get_root_name(node: ast.expr) -> str:
    """Return the variable that a path such as `a.b.c` begins with, or an empty string."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _format_refusal(name: str, node: ast.AST) -> str:
    way_out = f"; {_ALTERNATIVES[name]}" if name in _ALTERNATIVES else ""
    return f"{format_line_prefix(node)}`{name}` is refused in a block{way_out}"


def is_importable(path: str) -> bool:
    """Return whether a block may import this Python module, not one of the program of its name."""
    if path not in IMPORTABLE_MODULES | SUBMODULES:
        return False
    top = _get_top(path)
    if top == "typing_extensions":
        return True
    if top in sys.modules:
        return is_standard_module(top)
    spec = importlib.util.find_spec(top)
    return spec is not None and is_standard_origin(spec.origin)


def list_program_modules(scope: Scope) -> tuple[str, ...]:
    """Return the modules that the prompt names; static code's names mean modules of their name."""
    named = scope.list_variables(scope.names)
    found = {_get_top(it.__name__) for it in named.values() if is_a(it, ModuleType)}
    if len(named) < len(scope.names):
        others = [name for name in scope.names if name not in scope.bindable]
        found |= {name for name in others if scope.lookup(name) is Absent.UNBOUND}
    return tuple(sorted(found))


def _find_modules(nodes: Sequence[ast.AST], scope: Scope) -> Iterator[tuple[str, str]]:
    """Yield the names that the block's code gives modules, now or earlier, with their paths."""
    for name, value in scope.list_variables(scope.scratch).items():
        if is_a(value, ModuleType):
            yield name, value.__name__
    for node in nodes:
        match node:
            case ast.Import(names=aliases):
                for it in aliases:
                    yield (
                        it.asname or _get_top(it.name),
                        it.name if it.asname else _get_top(it.name),
                    )
            case ast.ImportFrom(module=str(parent), names=aliases):
                yield from ((it.asname or it.name, f"{parent}.{it.name}") for it in aliases)


def _get_top(path: str) -> str:
    return path.partition(".")[0]


def _find_import_problems(path: str, node: ast.AST, programs: Collection[str]) -> Iterator[str]:
    if is_importable(path) or _get_top(path) in programs:
        return
    yield (
        f"{format_line_prefix(node)}`{path}` cannot be imported in a block; re, json, math,"
        " datetime, collections, itertools and others that only compute can, and so can what the"
        f" prompt names: <{_get_top(path)}>"
    )


def _find_member_problems(path: str, name: str, node: ast.AST) -> Iterator[str]:
    if name != "*" and not is_allowed_member(path, name):
        line = format_line_prefix(node)
        yield f"{line}`{path}.{name}` is refused in a block: it does more than compute"


def is_allowed_member(path: str, name: str) -> bool:
    """Return whether blocks may use this member of an importable module."""
    module = importlib.import_module(path)
    if is_a(getattr(module, name, None), ModuleType):
        return f"{path}.{name}" in SUBMODULES
    if not hasattr(module, name) and hasattr(module, "__path__"):  # perhaps a submodule
        return importlib.util.find_spec(f"{path}.{name}") is None
    if name.startswith("_"):
        return name in SAFE_NAMES
    return name in ALLOWED_MEMBERS.get(path, (name,)) and name not in REFUSED_MEMBERS.get(path, ())
