"""The names in code, for a person who decides about it.

find_code_names("import json\nbox.total = json.loads(text)['a']")
    CodeNames(imports=("json",), reads=("json", "text", "box"), changes=("box.total",), calls=("json.loads",), ...)
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from njrt.execution.lowering import find_exits
from njrt.execution.syntax import parse_python
from njrt.records import record

DYNAMIC_NAMES = frozenset([
    "getattr", "setattr", "delattr", "vars", "eval", "exec", "compile", "__import__", "attrgetter",
    "methodcaller",
])  # fmt: skip
"""Functions that let code reach attributes that its text does not show."""


@record
class CodeNames:
    """Names in code, in textual order."""

    imports: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    jumps: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    """Targets such as `box.items` or `prices[0]` that the code assigns to or deletes."""
    calls: tuple[str, ...] = ()


def find_code_names(code: str) -> CodeNames:
    """Return the names in code; raises SyntaxError, ValueError or RecursionError if it cannot be parsed."""
    try:
        tree = parse_python(code)
    except SyntaxError:
        tree = parse_python(code.strip())
    nodes = list(ast.walk(tree))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    stored = (ast.Store, ast.Del)
    bound = {name.id: None for name in names if isinstance(name.ctx, stored)}
    bound |= dict.fromkeys(
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )
    read = [name.id for name in names if isinstance(name.ctx, ast.Load)]
    changed = (
        ast.unparse(node)
        for node in nodes
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, stored)
    )
    called = (ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call))
    return CodeNames(
        _unique(_list_imports(nodes)),
        _unique(_list_attributes(nodes)),
        _unique(type(found).__name__.lower() for found in find_exits(tree.body)),
        _unique(name for name in read if name not in bound),
        tuple(bound),
        _unique(changed),
        _unique(called),
    )


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _list_imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _list_attributes(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Attribute(attr=name):
                yield name
            case ast.MatchClass(kwd_attrs=attributes):
                yield from attributes
            case ast.Name(id=name) if name in DYNAMIC_NAMES:
                yield name
            case ast.alias(name=name) if name in DYNAMIC_NAMES:
                yield name
