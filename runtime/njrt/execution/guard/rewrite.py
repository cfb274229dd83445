"""Rewrite guarded code before compilation: operations that depend on run-time values become calls to checks.

    import json                json = .import("json", False)
    from json import loads     loads = .member("json", "loads")
    queue._loop                .read(queue, "_loop")             and so `text.format`, `x.__dict__`
    order.total = 3            .store(order).total = 3
    match x:                   .class1 = .match(Point)
        case Point(a, b): ...  match x:
                                   case .class1(a, b): ...

Other attributes are read as they are, because their names have already been checked (`check.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Any

from njrt.execution.guard.allowed import is_checked_name
from njrt.execution.guard.module_proxies import import_member, import_module
from njrt.execution.guard.runtime import check_match_class, check_store, read_attribute
from njrt.private_names import mangle

# Names that no source can spell.
CHECKS: dict[str, Any] = {
    ".read": read_attribute,
    ".store": check_store,
    ".match": check_match_class,
    ".import": import_module,
    ".member": import_member,
}
"""The functions that rewritten code calls, by their names in it."""


def add_checks(
    tree: ast.Module, class_name: str | None, program_modules: Collection[str]
) -> ast.Module:
    """Rewrite a snippet in the body of class `class_name`, leaving imports of `program_modules` unchanged.

    The parts of a new node have no location.
    """
    rewritten: ast.Module = _Rewriter(class_name, program_modules).visit(tree)
    return rewritten


class _Rewriter(ast.NodeTransformer):
    def __init__(self, class_name: str | None, program_modules: Collection[str]) -> None:
        self.class_name = class_name
        self.program_modules = program_modules
        self.match_classes = 0
        self.in_class_body = False

    def visit_Name(self, node: ast.expr) -> ast.AST:
        return node

    visit_Constant = visit_Name

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        name = mangle(node.attr, self.class_name)
        is_checked = is_checked_name(name)
        if isinstance(node.ctx, ast.Load):
            if not is_checked:
                return node
            return self.call(".read", [node.value, ast.Constant(name)], node)
        arguments = [node.value, ast.Constant(name)] if is_checked else [node.value]
        node.value = self.call(".store", arguments, node)
        return node

    def visit_FunctionDef(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    ) -> ast.AST:
        body, node.body = node.body, []
        self.generic_visit(node)
        around = self.class_name, self.in_class_body
        self.in_class_body = isinstance(node, ast.ClassDef)
        if self.in_class_body:
            self.class_name = node.name
        node.body = [statement for old in body for statement in _as_list(self.visit(old))]
        self.class_name, self.in_class_body = around
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef

    def call(self, function: str, arguments: list[ast.expr], node: ast.AST) -> ast.expr:
        """Return a call to a check; a lambda bypasses a class body's namespace, which may be the code's own."""
        called: ast.expr = ast.Name(function, ast.Load())
        if self.in_class_body:
            rest = ast.Name("values", ast.Load())
            parameters = ast.arguments([], [], ast.arg("values"), [], [], None, [])
            called = ast.Lambda(parameters, ast.Call(called, [ast.Starred(rest, ast.Load())], []))
        return ast.copy_location(ast.Call(called, arguments, []), node)

    def visit_Import(self, node: ast.Import) -> ast.AST | list[ast.stmt]:
        if any(self.is_program_module(alias.name) for alias in node.names):
            return node
        return [
            _assign(
                alias.asname or alias.name.partition(".")[0],
                self.call(
                    ".import", [ast.Constant(alias.name), ast.Constant(bool(alias.asname))], node
                ),
                node,
            )
            for alias in node.names
        ]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | list[ast.stmt]:
        if (
            node.module is None
            or node.module == "__future__"
            or self.is_program_module(node.module)
        ):
            return node
        return [
            _assign(
                alias.asname or alias.name,
                self.call(".member", [ast.Constant(node.module), ast.Constant(alias.name)], node),
                node,
            )
            for alias in node.names
        ]

    def visit_Match(self, node: ast.Match) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        checks: list[ast.stmt] = []
        for case in node.cases:
            for pattern in ast.walk(case.pattern):
                if isinstance(pattern, ast.MatchClass) and pattern.patterns:
                    self.match_classes += 1
                    name = f".class{self.match_classes}"
                    checks.append(_assign(name, self.call(".match", [pattern.cls], node), node))
                    pattern.cls = ast.copy_location(ast.Name(name, ast.Load()), node)
        return [*checks, node]

    def is_program_module(self, path: str) -> bool:
        return path.partition(".")[0] in self.program_modules


def _as_list(visited: Any) -> list[ast.stmt]:
    return visited if isinstance(visited, list) else [visited]


def _assign(name: str, value: ast.expr, node: ast.stmt) -> ast.stmt:
    return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), node)
