"""Which names a snippet binds and reads, scope by scope, as Python's compiler would decide it.

    y = [k * x for k in xs]         bound: y         read: xs, and nested: x
    def inc():
        global n                    declared: n reaches the block's own scope
        n += step                   bound: n         read, nested: n, step

The standard library's `symtable` cannot be asked: from 3.12 on it shows the variables of an inlined
comprehension as if they belonged to the scope around it. Names come mangled, as the compiler sees them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from njrt.scope.scope import mangle

SymbolTableKind = Literal["block", "function", "class", "comprehension"]
Declaration = ast.Global | ast.Nonlocal
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
ComprehensionNode = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(frozen=True, slots=True)
class SnippetNames:
    """The names of a snippet that its own scope, or the program around it, must provide."""

    bound: dict[str, ast.AST]
    """Bound in the block's own scope, also from nested functions by `global` and `nonlocal`; first place."""
    read: dict[str, ast.AST]
    """Read from the block's own scope or beyond; first place."""
    nested: dict[str, ast.AST]
    """Those read or bound from nested scopes; first place."""
    declared: dict[Declaration, tuple[str, ...]]
    """For each `global` and `nonlocal` in a nested scope: the names that reach the block's own scope."""
    hidden: dict[str, ast.AST]
    """Names of a nested `global` that a function in between has a variable of its own for."""
    awaits: list[ast.AST]
    """Where the block itself awaits."""
    yields: list[ast.AST]
    """Where the block itself yields."""


def format_line_prefix(node: ast.AST) -> str:
    """How a message about a place in a snippet begins: `line 3: `."""
    return f"line {getattr(node, 'lineno', 1)}: "


@dataclass(eq=False, slots=True)
class _SymbolTable:
    kind: SymbolTableKind
    around: _SymbolTable | None = None
    class_name: str | None = None
    bound: dict[str, ast.AST] = field(default_factory=dict)
    used: dict[str, ast.AST] = field(default_factory=dict)
    outside: dict[str, Declaration] = field(default_factory=dict)

    @property
    def enclosing(self) -> Iterator[_SymbolTable]:
        """The frames whose variables are visible from here, nearest first: class bodies are skipped."""
        frame = self.around
        while frame is not None:
            if frame.kind != "class":
                yield frame
            frame = frame.around


def find_names(
    tree: ast.Module, class_name: str | None, *, lazy_annotations: bool = False
) -> SnippetNames:
    """Find the names of a snippet that stands in the body of the class `class_name`, if any.

    With `lazy_annotations` (PEP 563) annotations are not evaluated, so they read no names.
    """
    binder = _NameCollector(_SymbolTable("block", class_name=class_name), lazy_annotations)
    for statement in tree.body:
        binder.visit(statement)
    return _resolve_names(binder)


def _resolve_names(binder: _NameCollector) -> SnippetNames:
    block = binder.frames[0]
    names = SnippetNames(
        bound=dict(block.bound), read=dict(block.used), nested={}, declared={}, hidden={},
        awaits=binder.awaits, yields=binder.yields,
    )  # fmt: skip
    reaching: dict[Declaration, list[str]] = {}
    for frame in binder.frames[1:]:
        for name, declaration in frame.outside.items():
            between = [each for each in frame.enclosing if each is not block and name in each.bound]
            if isinstance(declaration, ast.Nonlocal) and between:
                continue
            if between:
                names.hidden.setdefault(name, declaration)
            reaching.setdefault(declaration, []).append(name)
            names.nested.setdefault(name, declaration)
            if name in frame.bound:
                names.bound.setdefault(name, frame.bound[name])
        for name, node in frame.used.items():
            if _find_owner(frame, name) is block:
                names.read.setdefault(name, node)
                names.nested.setdefault(name, node)
    names.declared.update({each: tuple(found) for each, found in reaching.items()})
    return names


def _find_owner(frame: _SymbolTable, name: str) -> _SymbolTable | None:
    """The frame whose variable `name` means in `frame`; the block's stands for all that is beyond it."""
    if name in frame.bound and name not in frame.outside:
        return frame
    if isinstance(frame.outside.get(name), ast.Global):
        return [frame, *frame.enclosing][-1]
    outer = frame
    for outer in frame.enclosing:
        if name in outer.bound and name not in outer.outside:
            return outer
    return outer


class _NameCollector(ast.NodeVisitor):
    def __init__(self, block: _SymbolTable, lazy_annotations: bool) -> None:
        self.frames = [block]
        self.frame = block
        self.lazy_annotations = lazy_annotations
        self.awaits: list[ast.AST] = []
        self.yields: list[ast.AST] = []

    def bind(self, name: str, node: ast.AST, frame: _SymbolTable | None = None) -> None:
        frame = frame or self.frame
        frame.bound.setdefault(mangle(frame.class_name, name), node)

    def use(self, name: str, node: ast.AST) -> None:
        self.frame.used.setdefault(mangle(self.frame.class_name, name), node)

    def visit_all(self, *nodes: ast.AST | None) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def inside(self, kind: SymbolTableKind, class_name: str | None = None) -> _SymbolTable:
        """Open a frame; the caller puts `self.frame` back."""
        frame = _SymbolTable(kind, self.frame, class_name or self.frame.class_name)
        self.frames.append(frame)
        self.frame = frame
        return frame

    def annotation(self, node: ast.expr | None) -> None:
        if node is not None and not self.lazy_annotations:
            self.visit(node)

    @property
    def is_top_level(self) -> bool:
        """Whether the code here runs as part of the block itself, comprehensions included."""
        frame: _SymbolTable | None = self.frame
        while frame is not None and frame.kind == "comprehension":
            frame = frame.around
        return frame is self.frames[0]

    # --- names

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.use(node.id, node)
        else:
            self.bind(node.id, node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Spares the many constants the walk through their fields."""

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.use(node.target.id, node.target)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit_all(node.target, node.value)
        plain_local = isinstance(node.target, ast.Name) and self.frame.kind != "class"
        if not plain_local and self.frame.kind != "block":
            self.annotation(node.annotation)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        frame = self.frame
        while frame.kind == "comprehension" and frame.around is not None:
            frame = frame.around
        self.bind(node.target.id, node, frame)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name != "*":
                self.bind(alias.asname or alias.name.partition(".")[0], node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module != "__future__":
            self.visit_Import(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.bind(node.name, node)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        if node.name:
            self.bind(node.name, node)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self.bind(node.rest, node)
        self.generic_visit(node)

    def visit_Global(self, node: Declaration) -> None:
        if self.frame.kind != "block":
            for name in node.names:
                self.frame.outside[mangle(self.frame.class_name, name)] = node

    visit_Nonlocal = visit_Global

    # --- scopes

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.bind(node.name, node)
        self.visit_all(*node.decorator_list, *node.args.defaults, *node.args.kw_defaults)
        around = self.frame
        self.type_parameters(node)
        for argument in _list_arguments(node.args):
            self.annotation(argument.annotation)
        self.annotation(node.returns)
        self.function(node, node.body)
        self.frame = around

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit_all(*node.args.defaults, *node.args.kw_defaults)
        self.function(node, [node.body])

    def function(self, node: FunctionNode, body: list[ast.stmt] | list[ast.expr]) -> None:
        around = self.frame
        self.inside("function")
        for argument in _list_arguments(node.args):
            self.bind(argument.arg, argument)
        self.visit_all(*body)
        self.frame = around

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.bind(node.name, node)
        self.visit_all(*node.decorator_list)
        around = self.frame
        self.type_parameters(node)
        self.visit_all(*node.bases, *node.keywords)
        body = self.inside("class", node.name)
        for name in ("__module__", "__qualname__"):
            body.bound[name] = node
        self.visit_all(*node.body)
        self.frame = around

    def type_parameters(self, node: ast.AST) -> None:
        """Open the scope of PEP 695's parameters, where there are any."""
        parameters = getattr(node, "type_params", ())
        if parameters:
            self.inside("function")
            for each in parameters:
                self.bind(each.name, each)
            self.visit_all(*parameters)

    def visit_TypeAlias(self, node: ast.AST) -> None:
        """`type X[T] = value` (3.12): the value is evaluated later, in a scope of its own."""
        name: ast.Name = getattr(node, "name")  # noqa: B009  (ast.TypeAlias is unknown to 3.11)
        self.visit(name)
        around = self.frame
        self.type_parameters(node)
        self.inside("function")
        self.visit(getattr(node, "value"))  # noqa: B009
        self.frame = around

    def collect_comprehension(self, node: ComprehensionNode) -> None:
        first, *others = node.generators
        self.visit(first.iter)
        around, here = self.frame, self.is_top_level
        if here and any(each.is_async for each in node.generators):
            self.awaits.append(node)
        self.inside("comprehension")
        self.visit_all(first.target, *first.ifs, *others)
        if isinstance(node, ast.DictComp):
            self.visit_all(node.key, node.value)
        else:
            self.visit(node.elt)
        self.frame = around

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = collect_comprehension

    # --- what only some functions may do

    def collect_await(self, node: ast.Await | ast.AsyncFor | ast.AsyncWith) -> None:
        if self.is_top_level:
            self.awaits.append(node)
        self.generic_visit(node)

    visit_Await = visit_AsyncFor = visit_AsyncWith = collect_await

    def collect_yield(self, node: ast.Yield | ast.YieldFrom) -> None:
        if self.is_top_level:
            self.yields.append(node)
        self.generic_visit(node)

    visit_Yield = visit_YieldFrom = collect_yield


def _list_arguments(arguments: ast.arguments) -> list[ast.arg]:
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return found + [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
